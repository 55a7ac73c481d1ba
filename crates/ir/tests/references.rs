// SPDX-License-Identifier: Apache-2.0
//! What the proof of references refuses, and what it must not refuse.

use std::borrow::Cow;

use ir::{
    Block, BlockId, Condition, Function, Hierarchy, Inst, InvokeKind, LoadedConstant, MemberRef,
    MemoryKind, Names, Op, ReferenceError, Reg, Subject, Type, check_references,
};

/// Indices into the tables of the tests' imaginary file.
const CLASSES: [&str; 6] = ["Animal", "Dog", "Cat", "Walks", "[I", "[LAnimal;"];
const MEMBERS: [(&str, &str, &str); 7] = [
    ("Dog", "<init>", "()V"),
    ("Animal", "name", "Ljava/lang/String;"),
    ("Dog", "bark", "()V"),
    ("Walks", "walk", "()V"),
    ("Base", "<init>", "()V"),
    ("Own", "own", "LDog;"),
    ("Base", "guarded", "()V"),
];
const ANIMAL: u32 = 0;
const DOG: u32 = 1;
const CAT: u32 = 2;
const WALKS: u32 = 3;
const INTS: u32 = 4;
const ANIMALS: u32 = 5;
const DOG_INIT: u32 = 0;
const NAME: u32 = 1;
const BARK: u32 = 2;
const WALK: u32 = 3;
const BASE_INIT: u32 = 4;
const OWN: u32 = 5;
const GUARDED: u32 = 6;

struct File;

fn text(text: &str) -> Cow<'_, [u8]> {
    Cow::Borrowed(text.as_bytes())
}

impl Names for File {
    fn class(&self, index: u32) -> Option<Cow<'_, [u8]>> {
        CLASSES.get(index as usize).map(|name| text(name))
    }

    fn field(&self, index: u32) -> Option<MemberRef<'_>> {
        let (class, name, descriptor) = *MEMBERS.get(index as usize)?;
        Some(MemberRef {
            class: text(class),
            name: text(name),
            descriptor: text(descriptor),
        })
    }

    fn method(&self, index: u32) -> Option<MemberRef<'_>> {
        self.field(index)
    }

    fn call_site(&self, _index: u32) -> Option<Cow<'_, [u8]>> {
        None
    }

    fn computed(&self, _index: u32) -> Option<Cow<'_, [u8]>> {
        None
    }
}

struct Zoo;

impl Hierarchy for Zoo {
    type Error = String;

    fn is_assignable(&mut self, from: &[u8], to: &[u8]) -> Result<bool, String> {
        Ok(match (from, to) {
            (b"Dog" | b"Cat", b"Animal") | (b"Own", b"Base") | (_, b"Walks") => true,
            (_, b"Gone") => return Err("Gone is gone".into()),
            _ => false,
        })
    }

    fn is_protected_elsewhere(
        &mut self,
        member: &MemberRef<'_>,
        _is_method: bool,
    ) -> Result<bool, String> {
        Ok(*member.name == *b"guarded")
    }
}

/// Checks a static method of `Own` with these parameters.
fn check(descriptor: &str, blocks: Vec<Vec<Op>>) -> Result<(), ReferenceError<String>> {
    check_in("run", descriptor, true, blocks)
}

/// Registers 0 to 7 are references, 8 and 9 ints; parameters come first.
fn check_in(
    name: &str,
    descriptor: &str,
    is_static: bool,
    blocks: Vec<Vec<Op>>,
) -> Result<(), ReferenceError<String>> {
    let mut registers = vec![Type::Ref; 8];
    registers.extend([Type::Int; 2]);
    let parsed = classfile::MethodDescriptor::parse(descriptor.as_bytes()).expect("a descriptor");
    let count = parsed.parameters.len() as u32 + u32::from(!is_static);
    let inst = |op| Inst { at: 0, op };
    let block = |ops: Vec<Op>| Block {
        insts: ops.into_iter().map(inst).collect(),
        handler: None,
    };
    let function = Function {
        params: (0..count).map(Reg).collect(),
        result: (parsed.result.is_reference()).then_some(Type::Ref),
        registers,
        blocks: blocks.into_iter().map(block).collect(),
        has_receiver: !is_static,
        ..Function::default()
    };
    ir::verify(&function).expect("the tests' functions have the right kinds");
    let subject = Subject {
        class: b"Own",
        super_class: Some(b"Base"),
        name: name.as_bytes(),
        descriptor: descriptor.as_bytes(),
        is_static,
    };
    check_references(&function, &subject, &File, &mut Zoo)
}

fn refused(result: Result<(), ReferenceError<String>>, why: &str) {
    match result {
        Err(ReferenceError::Wrong(_, what)) if what.contains(why) => {}
        other => panic!("'{why}' expected, {other:?} found"),
    }
}

const END: Op = Op::Return { src: None };

fn call(kind: InvokeKind, index: u32, receiver: u32) -> Op {
    Op::Invoke {
        kind,
        dst: None,
        index,
        args: vec![Reg(receiver)],
    }
}

fn name_of(object: u32) -> Op {
    Op::GetField {
        dst: Reg(7),
        object: Reg(object),
        index: NAME,
        kind: MemoryKind::Ref,
    }
}

fn new_dog(dst: u32) -> Op {
    Op::New {
        dst: Reg(dst),
        index: DOG,
    }
}

#[test]
fn objects_are_used_as_what_they_are() {
    let bark = |receiver| vec![vec![call(InvokeKind::Virtual, BARK, receiver), END]];
    assert_eq!(check("(LDog;)V", bark(0)), Ok(()));
    refused(
        check("(LAnimal;)V", bark(0)),
        "'Animal' where 'Dog' is expected",
    );
    assert_eq!(check("(LCat;)V", vec![vec![name_of(0), END]]), Ok(()));
    refused(
        check("([LDog;)V", vec![vec![name_of(0), END]]),
        "'[LDog;' where 'Animal'",
    );
    let walk = vec![vec![call(InvokeKind::Interface, WALK, 0), END]];
    assert_eq!(
        check("(LCat;)V", walk),
        Ok(()),
        "interfaces are checked when called"
    );
    let result = |src| {
        vec![vec![Op::Return {
            src: Some(Reg(src)),
        }]]
    };
    refused(check("(LCat;)LDog;", result(0)), "'Cat' where 'Dog'");
    let string = Op::Load {
        dst: Reg(1),
        constant: LoadedConstant::String,
        index: 0,
    };
    let ops = vec![vec![string, Op::Return { src: Some(Reg(1)) }]];
    refused(check("(LCat;)LDog;", ops), "'java/lang/String' where 'Dog'");
    refused(
        check("(LCat;)V", vec![vec![Op::Throw { src: Reg(0) }]]),
        "java/lang/Throwable",
    );
}

#[test]
fn a_cast_makes_it_so() {
    let cast = Op::CheckCast {
        object: Reg(0),
        index: DOG,
    };
    let ops = vec![cast, call(InvokeKind::Virtual, BARK, 0), END];
    assert_eq!(check("(LAnimal;)V", vec![ops]), Ok(()));
}

/// Block 0 branches on an int to 1 and 2, which both go on to 3.
fn diamond(one: Vec<Op>, two: Vec<Op>, after: Vec<Op>) -> Vec<Vec<Op>> {
    let branch = Op::BranchZero {
        condition: Condition::Equal,
        src: Reg(8),
        then: BlockId(1),
        otherwise: BlockId(2),
    };
    let entry = vec![
        Op::Int {
            dst: Reg(8),
            value: 0,
        },
        branch,
    ];
    let jump = || Op::Jump { target: BlockId(3) };
    let with = |mut ops: Vec<Op>| {
        ops.push(jump());
        ops
    };
    vec![entry, with(one), with(two), after]
}

fn copy(dst: u32, src: u32) -> Op {
    Op::Move {
        dst: Reg(dst),
        src: Reg(src),
    }
}

#[test]
fn paths_that_meet_keep_both_classes() {
    let both = |after| diamond(vec![copy(2, 0)], vec![copy(2, 1)], after);
    let as_animal = both(vec![name_of(2), END]);
    assert_eq!(check("(LDog;LCat;)V", as_animal), Ok(()));
    let as_dog = both(vec![call(InvokeKind::Virtual, BARK, 2), END]);
    refused(check("(LDog;LCat;)V", as_dog), "'Cat' where 'Dog'");
    let null = Op::Null { dst: Reg(2) };
    let or_null = diamond(
        vec![copy(2, 0)],
        vec![null],
        vec![call(InvokeKind::Virtual, BARK, 2), END],
    );
    assert_eq!(check("(LDog;)V", or_null), Ok(()));
}

#[test]
fn a_new_object_is_constructed_before_it_is_used() {
    let init = |reg| call(InvokeKind::Special, DOG_INIT, reg);
    let bark = |reg| call(InvokeKind::Virtual, BARK, reg);
    let fine = vec![new_dog(0), copy(1, 0), init(0), bark(1), END];
    assert_eq!(
        check("()V", vec![fine]),
        Ok(()),
        "a copy is constructed with it"
    );
    let early = vec![new_dog(0), bark(0), END];
    refused(check("()V", vec![early]), "before its constructor");
    let twice = vec![new_dog(0), init(0), init(0), END];
    refused(check("()V", vec![twice]), "no new object");
    let cat = Op::New {
        dst: Reg(0),
        index: CAT,
    };
    refused(check("()V", vec![vec![cat, init(0), END]]), "another class");
    let one_of_two = diamond(vec![new_dog(2)], vec![new_dog(2)], vec![init(2), END]);
    refused(check("()V", one_of_two), "no new object");
}

#[test]
fn an_object_of_an_earlier_turn_is_not_the_new_one() {
    // 1: keep the last object, make another, construct that one, use the kept one.
    let entry = vec![Op::Null { dst: Reg(0) }, Op::Jump { target: BlockId(1) }];
    let turn = vec![
        copy(1, 0),
        new_dog(0),
        copy(2, 0),
        call(InvokeKind::Special, DOG_INIT, 2),
        Op::Jump { target: BlockId(1) },
    ];
    assert_eq!(check("()V", vec![entry.clone(), turn]), Ok(()));
    let unconstructed = vec![
        copy(1, 0),
        new_dog(0),
        copy(2, 0),
        Op::Jump { target: BlockId(1) },
    ];
    refused(
        check("()V", vec![entry, unconstructed]),
        "not the same on every path",
    );
}

#[test]
fn a_constructor_calls_another_first() {
    let constructor = |ops| check_in("<init>", "()V", false, vec![ops]);
    let base = || call(InvokeKind::Special, BASE_INIT, 0);
    assert_eq!(constructor(vec![base(), END]), Ok(()));
    refused(constructor(vec![END]), "returns before");
    refused(constructor(vec![base(), base(), END]), "no new object");
    let set_own = || Op::PutField {
        object: Reg(0),
        src: Reg(1),
        index: OWN,
        kind: MemoryKind::Ref,
    };
    let null = || Op::Null { dst: Reg(1) };
    assert_eq!(constructor(vec![null(), set_own(), base(), END]), Ok(()));
    refused(
        constructor(vec![name_of(0), base(), END]),
        "before its constructor",
    );
}

#[test]
fn arrays_hold_what_they_hold() {
    let load = |kind, dst| Op::ArrayLoad {
        dst: Reg(dst),
        array: Reg(0),
        element: Reg(8),
        kind,
    };
    let zero = || Op::Int {
        dst: Reg(8),
        value: 0,
    };
    let bark_first = || {
        let ops = vec![zero(), load(MemoryKind::Ref, 1)];
        let mut ops = ops;
        ops.extend([call(InvokeKind::Virtual, BARK, 1), END]);
        vec![ops]
    };
    assert_eq!(check("([LDog;)V", bark_first()), Ok(()));
    refused(check("([LCat;)V", bark_first()), "'Cat' where 'Dog'");
    refused(check("([[LDog;)V", bark_first()), "'[LDog;' where 'Dog'");
    refused(check("(LDog;)V", bark_first()), "another array");
    let ints = |descriptor| {
        check(
            descriptor,
            vec![vec![zero(), load(MemoryKind::Int, 9), END]],
        )
    };
    assert_eq!(ints("([I)V"), Ok(()));
    refused(ints("([F)V"), "another array");
    refused(ints("([LDog;)V"), "another array");
    let bytes = |descriptor| {
        check(
            descriptor,
            vec![vec![zero(), load(MemoryKind::Byte, 9), END]],
        )
    };
    assert_eq!(
        bytes("([Z)V"),
        Ok(()),
        "one instruction serves both in class files"
    );
}

#[test]
fn a_protected_member_is_for_the_own_kind() {
    let guarded = || vec![vec![call(InvokeKind::Virtual, GUARDED, 0), END]];
    assert_eq!(check("(LOwn;)V", guarded()), Ok(()));
    refused(check("(LBase;)V", guarded()), "'Base' where 'Own'");
}

#[test]
fn a_class_that_cannot_be_had_is_no_verdict() {
    let ops = vec![vec![Op::Return { src: Some(Reg(0)) }]];
    let outcome = check("(LDog;)LGone;", ops);
    assert_eq!(
        outcome,
        Err(ReferenceError::Hierarchy("Gone is gone".into()))
    );
}

#[test]
fn a_test_of_the_class_refines_it() {
    let test = Op::InstanceOf {
        dst: Reg(8),
        object: Reg(0),
        index: DOG,
    };
    let branch = Op::BranchZero {
        condition: Condition::NotEqual,
        src: Reg(8),
        then: BlockId(1),
        otherwise: BlockId(2),
    };
    let bark = || vec![call(InvokeKind::Virtual, BARK, 0), END];
    let entry = || vec![test.clone(), branch.clone()];
    let fine = vec![entry(), bark(), vec![END]];
    assert_eq!(check("(LAnimal;)V", fine), Ok(()));
    let wrong = vec![entry(), vec![END], bark()];
    refused(check("(LAnimal;)V", wrong), "'Animal' where 'Dog'");
}

/// A test of register 0 for `index`, and a branch to block 1 where it holds.
fn tested(index: u32, condition: Condition) -> Vec<Op> {
    let (holds, fails) = (BlockId(1), BlockId(2));
    let (then, otherwise) = match condition {
        Condition::Equal => (fails, holds),
        _ => (holds, fails),
    };
    let (dst, object) = (Reg(8), Reg(0));
    let branch = Op::BranchZero {
        condition,
        src: dst,
        then,
        otherwise,
    };
    vec![Op::InstanceOf { dst, object, index }, branch]
}

#[test]
fn a_test_takes_nothing_away() {
    let bark = || vec![call(InvokeKind::Virtual, BARK, 0), END];
    for condition in [Condition::Equal, Condition::NotEqual] {
        // As D8 writes `if (!(dog instanceof Walks)) return; dog.bark();`.
        for class in [WALKS, ANIMAL, CAT, INTS] {
            let blocks = vec![tested(class, condition), bark(), bark()];
            assert_eq!(check("(LDog;)V", blocks), Ok(()), "{class} {condition:?}");
        }
        let blocks = vec![tested(DOG, condition), bark(), vec![END]];
        assert_eq!(check("(LWalks;)V", blocks), Ok(()), "{condition:?}");
        let blocks = vec![tested(DOG, condition), vec![END], bark()];
        refused(check("(LAnimal;)V", blocks), "'Animal' where 'Dog'");
        let blocks = vec![tested(CAT, condition), bark(), vec![END]];
        refused(check("(LAnimal;)V", blocks), "'Cat and Animal' where 'Dog'");
    }
}

#[test]
fn a_test_takes_nothing_away_of_an_array() {
    let load = Op::ArrayLoad {
        kind: MemoryKind::Ref,
        dst: Reg(1),
        array: Reg(0),
        element: Reg(9),
    };
    let entry = tested(ANIMALS, Condition::NotEqual);
    let index = Op::Int {
        dst: Reg(9),
        value: 0,
    };
    let bark = || {
        vec![
            index.clone(),
            load.clone(),
            call(InvokeKind::Virtual, BARK, 1),
            END,
        ]
    };
    let blocks = vec![entry.clone(), bark(), bark()];
    assert_eq!(check("([LDog;LDog;)V", blocks), Ok(()));
    let blocks = vec![entry, bark(), vec![END]];
    refused(
        check("([LCat;LDog;)V", blocks),
        "'Cat and Animal' where 'Dog'",
    );
}

#[test]
fn a_test_of_a_copy_is_one_of_the_object() {
    let bark = vec![call(InvokeKind::Virtual, BARK, 1), END];
    let copy = Op::Move {
        dst: Reg(0),
        src: Reg(1),
    };
    let entry = [&[copy][..], &tested(DOG, Condition::Equal)].concat();
    let blocks = vec![entry, bark, vec![END]];
    assert_eq!(check("(LAnimal;LAnimal;)V", blocks), Ok(()));
}
