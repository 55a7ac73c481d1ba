// SPDX-License-Identifier: Apache-2.0
//! Objects are made when their constructor is called.
//!
//! `new` comes before the arguments of the constructor are evaluated, and nothing may touch the
//! object in between. Where these call, it would live across the calls for nothing, and the
//! constructor's stores would come long after it was made. So `new` goes down to the call, with the
//! copies of its result. What was moved over cannot see that: the class is initialised before. If
//! memory runs out, the error comes behind the arguments.

use ir::{Function, Inst, InvokeKind, Op, Reg, for_each_read};

use super::Asked;

/// Instructions between a `new` and its constructor, at most.
const BETWEEN_MAX: usize = 200;

/// The function with such objects made late, unless there are none.
pub(super) fn make(function: &Function, asked: &mut dyn Asked) -> Option<Function> {
    // As on ART, a variable would have to hold the object.
    if function.keeps_references {
        return None;
    }
    let mut made: Option<Function> = None;
    for (index, block) in function.blocks.iter().enumerate() {
        // A handler may know of the object.
        if block.handler.is_some() {
            continue;
        }
        for start in (0..block.insts.len()).rev() {
            let Op::New { index: class, .. } = block.insts[start].op else {
                continue;
            };
            // What lies behind has its place already.
            let made_insts = made.as_ref().map(|it| &it.blocks[index].insts);
            let insts = made_insts.unwrap_or(&block.insts);
            let Some(moved) = moved(function, insts, start) else {
                continue;
            };
            if asked.is_ready(class) {
                let made = made.get_or_insert_with(|| function.clone());
                moved.apply(&mut made.blocks[index].insts);
            }
        }
    }
    made
}

/// A `new` and the copies of its result, and the call that they go to.
struct Moved {
    places: Vec<usize>,
    call: usize,
}

impl Moved {
    fn apply(&self, insts: &mut [Inst]) {
        let start = self.places[0];
        let span = &mut insts[start..self.call];
        let all = span.iter().cloned().enumerate();
        let (down, up): (Vec<_>, Vec<_>) =
            all.partition(|(place, _)| self.places.contains(&(start + place)));
        for (slot, (_, inst)) in span.iter_mut().zip(up.into_iter().chain(down)) {
            *slot = inst;
        }
    }
}

/// What other code may run in.
fn is_call(op: &Op) -> bool {
    matches!(
        op,
        Op::Invoke { .. }
            | Op::InvokeDynamic { .. }
            | Op::New { .. }
            | Op::NewArray { .. }
            | Op::NewPrimitiveArray { .. }
            | Op::NewMultiArray { .. }
    )
}

/// What moves, if `new` at `start` is followed by other calls before that of its constructor.
fn moved(function: &Function, insts: &[Inst], start: usize) -> Option<Moved> {
    let mut copies: Vec<Reg> = insts[start].op.written().into_iter().collect();
    let mut places = vec![start];
    let mut has_calls = false;
    let ahead = insts.iter().enumerate().skip(start + 1);
    for (call, inst) in ahead.take(BETWEEN_MAX + 1) {
        match &inst.op {
            Op::Move { dst, src } if copies.contains(src) => {
                copies.push(*dst);
                places.push(call);
            }
            Op::Invoke {
                kind: InvokeKind::Special,
                args,
                ..
            } if copies.contains(&args[0]) => {
                return has_calls.then_some(Moved { places, call });
            }
            op => {
                let mut touches = op.written().is_some_and(|it| copies.contains(&it));
                for_each_read(function, op, |reg, _| touches |= copies.contains(&reg));
                if touches || op.is_terminator() {
                    return None;
                }
                has_calls |= is_call(op);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use ir::{Type, verify};

    use super::*;
    use crate::passes::FieldUse;

    /// The class of this number is not initialised.
    const COLD: u32 = 9;

    struct Classes;

    impl Asked for Classes {
        fn is_plain(&mut self, _: FieldUse) -> bool {
            false
        }

        fn is_ready(&mut self, class: u32) -> bool {
            class != COLD
        }
    }

    fn call(kind: InvokeKind, dst: Option<Reg>, args: Vec<Reg>) -> Op {
        let index = 1;
        Op::Invoke {
            kind,
            dst,
            index,
            args,
        }
    }

    /// Objects 0 and 1, a copy of object 0 in 2, and two more.
    fn function(ops: Vec<Op>) -> Function {
        let mut function = Function::default();
        for _ in 0..5 {
            function.register(Type::Ref);
        }
        function.block();
        let insts = (0..).zip(ops).map(|(at, op)| Inst { at, op });
        function.blocks[0].insts = insts.collect();
        assert_eq!(verify(&function), Ok(()));
        function
    }

    fn order(function: &Function) -> Option<Vec<u32>> {
        let made = make(function, &mut Classes)?;
        assert_eq!(verify(&made), Ok(()));
        Some(made.blocks[0].insts.iter().map(|inst| inst.at).collect())
    }

    fn new(reg: u32, index: u32) -> Op {
        Op::New {
            dst: Reg(reg),
            index,
        }
    }

    fn copy(dst: u32, src: u32) -> Op {
        let (dst, src) = (Reg(dst), Reg(src));
        Op::Move { dst, src }
    }

    /// `new A(f(), new B(f()))`
    fn nested(class: u32) -> Vec<Op> {
        let other = |dst| call(InvokeKind::Static, Some(Reg(dst)), vec![]);
        vec![
            new(0, class),
            copy(2, 0),
            other(3),
            new(1, 2),
            other(4),
            call(InvokeKind::Special, None, vec![Reg(1), Reg(4)]),
            call(InvokeKind::Special, None, vec![Reg(2), Reg(3), Reg(1)]),
            Op::Return { src: None },
        ]
    }

    #[test]
    fn objects_are_made_behind_the_arguments() {
        let made = order(&function(nested(1)));
        assert_eq!(made, Some(vec![2, 4, 3, 5, 0, 1, 6, 7]));
    }

    #[test]
    fn an_initialiser_runs_before_the_arguments() {
        let made = order(&function(nested(COLD)));
        assert_eq!(made, Some(vec![0, 1, 2, 4, 3, 5, 6, 7]));
    }

    #[test]
    fn what_is_used_or_needs_no_call_stays() {
        let done = Op::Return { src: None };
        let init = call(InvokeKind::Special, None, vec![Reg(0)]);
        let other = call(InvokeKind::Static, Some(Reg(3)), vec![]);
        let moved = |ops| order(&function(ops));
        let null = Op::Null { dst: Reg(3) };
        assert_eq!(
            moved(vec![new(0, 1), null, init.clone(), done.clone()]),
            None
        );
        // The register is written again.
        let again = Op::Null { dst: Reg(0) };
        let all = vec![new(0, 1), other.clone(), again, init.clone(), done.clone()];
        assert_eq!(moved(all), None);
        let mut kept = function(vec![new(0, 1), other, init, done]);
        assert_eq!(order(&kept), Some(vec![1, 0, 2, 3]));
        kept.keeps_references = true;
        assert_eq!(order(&kept), None);
    }
}
