// SPDX-License-Identifier: Apache-2.0
//! Random programs do the same before and after the passes, and what is marked is true.

use ir::{BinaryOp, Block, BlockId, Condition, Function, Inst, MemoryKind, Op, Reg, Type};
use rustc_hash::FxHashMap;

use super::{Asked, FieldUse, Marks, Passes, improve};

const PROGRAMS: u64 = 8_000;
/// Instructions of a run, at most.
const FUEL: u32 = 20_000;

struct Random(u64);

impl Random {
    fn below(&mut self, count: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) as u32 % count
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u32) as usize]
    }

    fn may(&mut self, percent: u32) -> bool {
        self.below(100) < percent
    }
}

const ARRAYS: [Reg; 3] = [Reg(0), Reg(1), Reg(2)];
const ROWS: Reg = Reg(3);
const PARAMS: u32 = 6;
const INTS: [Reg; 6] = [Reg(4), Reg(5), Reg(6), Reg(7), Reg(8), Reg(9)];
const NUMBERS: [i32; 18] = [
    0,
    0,
    1,
    1,
    2,
    2,
    3,
    4,
    5,
    6,
    7,
    8,
    -1,
    -2,
    i32::MAX,
    i32::MAX - 2,
    i32::MIN,
    i32::MIN + 1,
];
const CONDITIONS: [Condition; 6] = [
    Condition::Equal,
    Condition::NotEqual,
    Condition::Less,
    Condition::GreaterEqual,
    Condition::Greater,
    Condition::LessEqual,
];

/// One static is volatile.
struct Answers;

impl Asked for Answers {
    fn is_plain(&mut self, field: FieldUse) -> bool {
        field.index < 2
    }

    fn is_ready(&mut self, _: u32) -> bool {
        true
    }
}

/// A program in the making. Every instruction has a place of its own.
struct Maker {
    random: Random,
    function: Function,
    current: BlockId,
    at: u32,
    /// Heads and ends of the loops around.
    around: Vec<(BlockId, BlockId)>,
    /// Most loops do not throw.
    is_plain: bool,
}

impl Maker {
    fn new(seed: u64) -> Self {
        let mut function = Function::default();
        for _ in 0..4 {
            function.register(Type::Ref);
        }
        for _ in INTS {
            function.register(Type::Int);
        }
        function.params = (0..PARAMS).map(Reg).collect();
        function.result = Some(Type::Int);
        let current = function.block();
        Self {
            random: Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1),
            function,
            current,
            at: 0,
            around: Vec::new(),
            is_plain: seed.is_multiple_of(2),
        }
    }

    fn make(mut self) -> Function {
        for &reg in &INTS[2..] {
            self.number(reg);
        }
        self.statements(3);
        let src = Some(self.int());
        self.op(Op::Return { src });
        // Blocks that nothing leads to end as well.
        for block in &mut self.function.blocks {
            if block.insts.is_empty() {
                let src = Some(INTS[0]);
                let op = Op::Return { src };
                block.insts.push(Inst { at: u32::MAX, op });
            }
        }
        self.function
    }

    fn op(&mut self, op: Op) {
        self.at += 1;
        let inst = Inst { at: self.at, op };
        self.function.blocks[self.current.0 as usize]
            .insts
            .push(inst);
    }

    fn int(&mut self) -> Reg {
        self.random.one_of(&INTS)
    }

    fn number(&mut self, dst: Reg) {
        let value = self.random.one_of(&NUMBERS);
        self.op(Op::Int { dst, value });
    }

    fn temp(&mut self, ty: Type) -> Reg {
        self.function.register(ty)
    }

    /// As javac has it: operands are copied first.
    fn copied(&mut self, src: Reg) -> Reg {
        if self.random.may(30) {
            return src;
        }
        let dst = self.temp(self.function.type_of(src));
        self.op(Op::Move { dst, src });
        dst
    }

    fn index(&mut self, counter: Option<Reg>) -> Reg {
        let is_plain = self.is_plain && self.random.may(90);
        if self.random.may(if is_plain { 50 } else { 15 }) {
            let (dst, value) = (self.temp(Type::Int), self.random.one_of(&[0, 1, 2]));
            self.op(Op::Int { dst, value });
            return dst;
        }
        if let Some(counter) = counter.filter(|_| is_plain) {
            return self.copied(counter);
        }
        let own = self.int();
        let base = counter.filter(|_| self.random.may(80)).unwrap_or(own);
        if self.random.may(60) {
            return self.copied(base);
        }
        let (dst, rhs) = (self.temp(Type::Int), self.temp(Type::Int));
        let value = self.random.one_of(&[1, 2, -1, 3]);
        self.op(Op::Int { dst: rhs, value });
        let op = self.random.one_of(&[BinaryOp::Add, BinaryOp::Sub]);
        self.op(Op::Binary {
            op,
            dst,
            lhs: base,
            rhs,
        });
        dst
    }

    fn array(&mut self, counter: Option<Reg>) -> Reg {
        if self.is_plain || self.random.may(80) {
            let array = self.random.one_of(&ARRAYS);
            return self.copied(array);
        }
        let dst = self.temp(Type::Ref);
        let element = self.index(counter);
        self.op(Op::ArrayLoad {
            dst,
            array: ROWS,
            element,
            kind: MemoryKind::Ref,
        });
        dst
    }

    fn statements(&mut self, depth: u32) {
        for _ in 0..1 + self.random.below(4) {
            self.statement(depth, None);
        }
    }

    fn statement(&mut self, depth: u32, counter: Option<Reg>) {
        match self.random.below(16) {
            0..=2 => {
                let array = self.array(counter);
                let (element, dst) = (self.index(counter), self.int());
                let kind = MemoryKind::Int;
                let dst = if Some(dst) == counter {
                    self.temp(Type::Int)
                } else {
                    dst
                };
                self.op(Op::ArrayLoad {
                    dst,
                    array,
                    element,
                    kind,
                });
            }
            3..=5 => {
                let array = self.array(counter);
                let (element, src) = (self.index(counter), self.int());
                let kind = MemoryKind::Int;
                self.op(Op::ArrayStore {
                    array,
                    element,
                    src,
                    kind,
                });
            }
            6..=9 | 14 | 15 => self.other(counter),
            10 if depth > 0 => self.choice(depth - 1, counter),
            11 if depth > 0 => self.guarded(depth - 1, counter),
            12 if self.random.may(20) => self.leave(),
            _ if depth > 0 => self.counted(depth - 1),
            _ => {}
        }
    }

    /// What is neither an access to an element nor a choice.
    fn other(&mut self, counter: Option<Reg>) {
        match self.random.below(6) {
            0 => {
                let (array, dst) = (self.array(counter), self.temp(Type::Int));
                self.op(Op::ArrayLength { dst, array });
            }
            1 => {
                let (dst, lhs, rhs) = (self.int(), self.int(), self.int());
                let op = self
                    .random
                    .one_of(&[BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul]);
                if Some(dst) != counter || self.random.may(5) {
                    self.op(Op::Binary { op, dst, lhs, rhs });
                }
            }
            2..=4 => {
                let (kind, index) = (MemoryKind::Int, self.random.below(3));
                let (reg, is_write) = (self.int(), self.random.may(40));
                if is_write {
                    self.op(Op::PutStatic {
                        src: reg,
                        index,
                        kind,
                    });
                } else if Some(reg) != counter {
                    self.op(Op::GetStatic {
                        dst: reg,
                        index,
                        kind,
                    });
                }
            }
            _ if self.random.may(50) => {
                let (dst, src) = (self.random.one_of(&ARRAYS), self.random.one_of(&ARRAYS));
                // What was proven of the one is not proven of what is written to it.
                let kept = self.copied(dst);
                if self.random.may(70) {
                    self.op(Op::Move { dst, src });
                } else {
                    self.op(Op::Null { dst });
                }
                if self.random.may(50) {
                    let (dst, array) = (self.temp(Type::Int), kept);
                    self.op(Op::ArrayLength { dst, array });
                }
            }
            _ => {}
        }
    }

    fn jump(&mut self, target: BlockId) {
        self.op(Op::Jump { target });
    }

    /// Goes on in a new block, with the handler of the last one.
    fn go_on(&mut self, block: BlockId) {
        let handler = self.function.blocks[self.current.0 as usize].handler;
        self.current = block;
        self.function.blocks[block.0 as usize].handler = handler;
    }

    fn choice(&mut self, depth: u32, counter: Option<Reg>) {
        let (then, otherwise) = (self.function.block(), self.function.block());
        let (lhs, rhs) = (self.int(), self.int());
        let condition = self.random.one_of(&CONDITIONS);
        self.op(Op::Branch {
            condition,
            lhs,
            rhs,
            then,
            otherwise,
        });
        self.go_on(then);
        self.statement(depth, counter);
        self.jump(otherwise);
        self.go_on(otherwise);
    }

    /// A block whose exceptions are handled.
    fn guarded(&mut self, depth: u32, counter: Option<Reg>) {
        let outer = self.function.blocks[self.current.0 as usize].handler;
        let [inside, handler, next] = [(); 3].map(|()| self.function.block());
        self.jump(inside);
        self.current = inside;
        self.function.blocks[inside.0 as usize].handler = Some(handler);
        self.statement(depth, counter);
        if self.random.may(30) {
            let dst = self.random.one_of(&ARRAYS);
            self.op(Op::Null { dst });
        }
        self.statement(0, counter);
        self.jump(next);
        self.current = handler;
        self.function.blocks[handler.0 as usize].handler = outer;
        let dst = self.temp(Type::Ref);
        self.op(Op::Caught { dst });
        self.statement(0, counter);
        self.jump(next);
        self.current = next;
        self.function.blocks[next.0 as usize].handler = outer;
    }

    /// Ends a loop, or its iteration, where a comparison says so.
    fn leave(&mut self) {
        let Some(&(head, end)) = self.around.last() else {
            return;
        };
        let (then, next) = (self.random.one_of(&[head, end]), self.function.block());
        let (src, condition) = (self.int(), self.random.one_of(&CONDITIONS));
        self.op(Op::BranchZero {
            condition,
            src,
            then,
            otherwise: next,
        });
        self.go_on(next);
    }

    /// A loop's head.
    fn test(&mut self, counter: Reg, (limit, step): (Reg, i32), blocks: [BlockId; 3]) {
        let [head, body, end] = blocks;
        self.jump(head);
        self.go_on(head);
        let limit = if self.random.may(if self.is_plain { 80 } else { 30 }) {
            let dst = self.temp(Type::Int);
            let array = self.random.one_of(&ARRAYS);
            self.op(Op::ArrayLength { dst, array });
            dst
        } else {
            self.copied(limit)
        };
        let lhs = self.copied(counter);
        let (mut then, mut otherwise) = (body, end);
        let mut condition = match step {
            0.. => {
                self.random
                    .one_of(&[Condition::Less, Condition::LessEqual, Condition::NotEqual])
            }
            _ => self
                .random
                .one_of(&[Condition::Greater, Condition::GreaterEqual]),
        };
        if self.random.may(10) {
            condition = self.random.one_of(&CONDITIONS);
        }
        if self.random.may(20) {
            core::mem::swap(&mut then, &mut otherwise);
            condition = super::counter::negated(condition);
        }
        let rhs = limit;
        self.op(Op::Branch {
            condition,
            lhs,
            rhs,
            then,
            otherwise,
        });
    }

    fn counted(&mut self, depth: u32) {
        let counter = self.random.one_of(&INTS[2..]);
        let step = self
            .random
            .one_of(&[1, 1, 1, 2, 3, -1, -1, -2, i32::MAX, 0]);
        if self.random.may(80) {
            let small: &[i32] = if step > 0 {
                &[0, 1, 2, -1]
            } else {
                &[4, 6, 7, 3]
            };
            let value = self.random.one_of(small);
            self.op(Op::Int {
                dst: counter,
                value,
            });
        }
        let limit = self.temp(Type::Int);
        if self.random.may(40) {
            let (dst, src) = (limit, self.int());
            self.op(Op::Move { dst, src });
        } else {
            self.number(limit);
        }
        let by = self.int();
        let [head, body, end] = [(); 3].map(|()| self.function.block());
        self.test(counter, (limit, step), [head, body, end]);
        self.go_on(body);
        self.around.push((head, end));
        for _ in 0..1 + self.random.below(4) {
            let depth = if self.random.may(30) { depth } else { 0 };
            self.statement(depth, Some(counter));
        }
        self.around.pop();
        let rhs = if step == 0 {
            by
        } else {
            let dst = self.temp(Type::Int);
            self.op(Op::Int { dst, value: step });
            dst
        };
        self.op(Op::Binary {
            op: BinaryOp::Add,
            dst: counter,
            lhs: counter,
            rhs,
        });
        if self.random.may(10) {
            self.statement(0, None);
        }
        self.jump(head);
        self.go_on(end);
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Value {
    None,
    Int(i32),
    /// Null, or an array by number.
    Ref(Option<usize>),
}

/// How a run ended.
#[derive(Debug, PartialEq)]
enum End {
    Returned(i32),
    Thrown(u32, &'static str),
    OutOfFuel,
}

fn holds(condition: Condition, lhs: i32, rhs: i32) -> bool {
    match condition {
        Condition::Equal => lhs == rhs,
        Condition::NotEqual => lhs != rhs,
        Condition::Less => lhs < rhs,
        Condition::GreaterEqual => lhs >= rhs,
        Condition::Greater => lhs > rhs,
        Condition::LessEqual => lhs <= rhs,
    }
}

struct Run<'a> {
    function: &'a Function,
    marks: &'a Marks,
    regs: Vec<Value>,
    arrays: Vec<Vec<Value>>,
    statics: [i32; 3],
    fuel: u32,
    /// How often rare blocks, and accesses that were proven, were met.
    rare: u32,
    proven: u32,
}

impl<'a> Run<'a> {
    fn new(function: &'a Function, marks: &'a Marks, seed: u64, fuel: u32) -> Self {
        let mut random = Random(seed | 1);
        let mut arrays: Vec<Vec<Value>> = Vec::new();
        for _ in 0..3 {
            let length = 3 + random.below(9) as i32;
            arrays.push((0..length).map(|it| Value::Int(it * 3 - 4)).collect());
        }
        let rows = (0..3 + random.below(9)).map(|_| {
            let is_some = random.may(90);
            Value::Ref(is_some.then(|| random.below(3) as usize))
        });
        let rows = rows.collect();
        arrays.push(rows);
        let mut regs = vec![Value::None; function.registers.len()];
        for reg in ARRAYS {
            let is_some = random.may(90);
            let array = random.below(3) as usize;
            regs[reg.0 as usize] = Value::Ref(is_some.then_some(array));
        }
        regs[ROWS.0 as usize] = Value::Ref(random.may(95).then_some(3));
        for reg in &INTS[..2] {
            regs[reg.0 as usize] = Value::Int(random.one_of(&NUMBERS));
        }
        Self {
            function,
            marks,
            regs,
            arrays,
            statics: [1, 4, -2],
            fuel,
            rare: 0,
            proven: 0,
        }
    }

    fn int(&self, reg: Reg) -> i32 {
        match self.regs[reg.0 as usize] {
            Value::Int(int) => int,
            other => panic!("{reg:?} is {other:?}"),
        }
    }

    fn reference(&self, reg: Reg) -> Option<usize> {
        match self.regs[reg.0 as usize] {
            Value::Ref(reference) => reference,
            other => panic!("{reg:?} is {other:?}"),
        }
    }

    fn run(&mut self) -> End {
        let mut id = BlockId(0);
        loop {
            for reg in self.marks.non_null(id) {
                let is_some = matches!(self.regs[reg.0 as usize], Value::Ref(Some(_)));
                assert!(is_some, "{reg:?} is null in {id:?}");
            }
            self.rare += u32::from(self.marks.is_rare(id));
            match self.block(id) {
                Ok(next) => id = next,
                Err(End::Thrown(at, what)) => match self.function.blocks[id.0 as usize].handler {
                    Some(handler) => id = handler,
                    None => return End::Thrown(at, what),
                },
                Err(end) => return end,
            }
        }
    }

    fn next(&self, op: &Op) -> BlockId {
        match *op {
            Op::Jump { target } => target,
            Op::Branch {
                condition,
                lhs,
                rhs,
                then,
                otherwise,
            } => {
                let holds = holds(condition, self.int(lhs), self.int(rhs));
                if holds { then } else { otherwise }
            }
            Op::BranchZero {
                condition,
                src,
                then,
                otherwise,
            } => {
                let src = match self.regs[src.0 as usize] {
                    Value::Ref(reference) => i32::from(reference.is_some()),
                    _ => self.int(src),
                };
                let holds = holds(condition, src, 0);
                if holds { then } else { otherwise }
            }
            ref other => panic!("{other:?}"),
        }
    }

    fn block(&mut self, id: BlockId) -> Result<BlockId, End> {
        let block: &'a Block = &self.function.blocks[id.0 as usize];
        for (place, inst) in block.insts.iter().enumerate() {
            self.fuel = self.fuel.checked_sub(1).ok_or(End::OutOfFuel)?;
            let throw = |what| End::Thrown(inst.at, what);
            let access = self.marks.access(id, place);
            self.proven += u32::from(access.is_some_and(|it| it.is_in_bounds));
            let written = match inst.op {
                Op::Int { value, .. } => Value::Int(value),
                Op::Move { src, .. } => self.regs[src.0 as usize],
                Op::Caught { .. } => Value::Ref(Some(0)),
                Op::Null { .. } => Value::Ref(None),
                Op::Binary { op, lhs, rhs, .. } => {
                    let (lhs, rhs) = (self.int(lhs), self.int(rhs));
                    Value::Int(match op {
                        BinaryOp::Add => lhs.wrapping_add(rhs),
                        BinaryOp::Sub => lhs.wrapping_sub(rhs),
                        _ => lhs.wrapping_mul(rhs),
                    })
                }
                Op::GetStatic { index, .. } => Value::Int(self.statics[index as usize]),
                Op::PutStatic { index, src, .. } => {
                    self.statics[index as usize] = self.int(src);
                    continue;
                }
                Op::ArrayLength { array, .. } => {
                    let array = self.reference(array).ok_or_else(|| throw("null"))?;
                    Value::Int(self.arrays[array].len() as i32)
                }
                Op::ArrayLoad { array, element, .. } | Op::ArrayStore { array, element, .. } => {
                    let array = self.reference(array);
                    let element = self.int(element) as usize;
                    if let Some(access) = access {
                        let length = self.arrays[array.expect("proven")].len();
                        assert_eq!(self.int(access.length), length as i32);
                        assert!(!access.is_in_bounds || element < length);
                    }
                    let array = array.ok_or_else(|| throw("null"))?;
                    let source = match inst.op {
                        Op::ArrayStore { src, .. } => Some(self.regs[src.0 as usize]),
                        _ => None,
                    };
                    let place = self.arrays[array].get_mut(element);
                    let place = place.ok_or_else(|| throw("bounds"))?;
                    if let Some(source) = source {
                        *place = source;
                        continue;
                    }
                    *place
                }
                Op::Jump { .. } | Op::Branch { .. } | Op::BranchZero { .. } => {
                    return Ok(self.next(&inst.op));
                }
                Op::Return { src } => return Err(End::Returned(self.int(src.expect("an int")))),
                ref other => panic!("{other:?}"),
            };
            let dst = inst.op.written().expect("all others write");
            self.regs[dst.0 as usize] = written;
        }
        unreachable!("a terminator ends each block")
    }
}

#[test]
fn random_programs_do_the_same_behind_the_passes() {
    let (mut rare, mut proven, mut ended) = (0, 0, 0);
    for seed in 1..=PROGRAMS {
        let function = Maker::new(seed).make();
        assert_eq!(ir::verify(&function), Ok(()), "seed {seed}");
        let (improved, marks) = improve(&function, Passes::ALL, &[], &mut Answers);
        let improved = improved.as_ref().unwrap_or(&function);
        assert_eq!(ir::verify(improved), Ok(()), "seed {seed}");
        let nothing = Marks::default();
        for input in 0..4 {
            let input = seed.wrapping_mul(4) + input;
            let mut before = Run::new(&function, &nothing, input, FUEL);
            let mut after = Run::new(improved, &marks, input, 3 * FUEL);
            let ends = (before.run(), after.run());
            rare += after.rare;
            proven += after.proven;
            if ends.0 == End::OutOfFuel {
                continue;
            }
            ended += 1;
            assert_eq!(ends.0, ends.1, "seed {seed}");
            assert_eq!(before.arrays, after.arrays, "seed {seed}");
            assert_eq!(before.statics, after.statics, "seed {seed}");
        }
    }
    // Both versions of loops ran, and most programs end.
    let counts = FxHashMap::from_iter([("rare", rare), ("proven", proven), ("ended", ended)]);
    assert!(
        rare > 1_000 && proven > 1_000 && ended > 4_000,
        "{counts:?}"
    );
}

/// A loop over an array that is entered at its head, and in its middle if `is_twice`.
fn entered(is_twice: bool) -> Function {
    let mut function = Function::default();
    let [array, limit] = [Type::Ref, Type::Int].map(|ty| function.register(ty));
    let [counter, element] = [Type::Int, Type::Int].map(|ty| function.register(ty));
    function.params = vec![array, limit];
    let [entry, head, body, end] = [(); 4].map(|()| function.block());
    let branch = |condition, lhs, then, otherwise| Op::Branch {
        condition,
        lhs,
        rhs: limit,
        then,
        otherwise,
    };
    let start = Op::Int {
        dst: counter,
        value: 0,
    };
    let second = if is_twice { body } else { head };
    let load = Op::ArrayLoad {
        dst: element,
        array,
        element: counter,
        kind: MemoryKind::Int,
    };
    let one = Op::Int {
        dst: element,
        value: 1,
    };
    let step = Op::Binary {
        op: BinaryOp::Add,
        dst: counter,
        lhs: counter,
        rhs: element,
    };
    let ops = [
        (
            entry,
            vec![start, branch(Condition::Equal, limit, head, second)],
        ),
        (head, vec![branch(Condition::Less, counter, body, end)]),
        (body, vec![load, one, step, Op::Jump { target: head }]),
        (end, vec![Op::Return { src: None }]),
    ];
    for (block, ops) in ops {
        let insts = ops.into_iter().map(|op| Inst { at: 0, op });
        function.blocks[block.0 as usize].insts = insts.collect();
    }
    function
}

#[test]
fn a_loop_with_two_entries_stays_as_it_is() {
    let passes = Passes::ALL;
    let blocks = |is_twice| {
        let function = entered(is_twice);
        assert_eq!(ir::verify(&function), Ok(()));
        let (improved, marks) = improve(&function, passes, &[], &mut Answers);
        let blocks = improved.map_or(function.blocks.len(), |it| it.blocks.len());
        (blocks, marks.accesses.len())
    };
    // The guard, four iterations at once, and the rest.
    let (count, proven) = blocks(false);
    assert!(
        count > 8 && proven == 5,
        "{count} blocks, {proven} accesses"
    );
    assert_eq!(blocks(true), (4, 0));
}
