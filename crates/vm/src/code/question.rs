// SPDX-License-Identifier: Apache-2.0
//! [`Question`]: what the compiler asks about a method's constants, and [`Answer`].
//!
//! Code is made of its method's class file and of the answers: a class file that
//! is the same byte for byte and answers that are equal give the same code, with
//! other addresses in it. Hence code is kept with its questions (`code/file`),
//! and is used again where asking them again has the same answers.

use std::hash::{BuildHasher, Hash, Hasher};

use compiler::{Address, ClassLink, ConstantLink, FieldLink, MethodLink, NewLink};
use foldhash::quality::FixedState;
use ir::{InvokeKind, LoadedConstant, MemoryKind};

use crate::classes::site::SiteKind;
use crate::classes::write::Write;
use crate::memory::sum::Sum;

/// One question; numbers are indices of constants.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Question {
    Field(u32),
    StaticField(u32),
    /// A field to write.
    Written(Write, u32),
    Class(u32),
    New(u32),
    ArrayOf(u32),
    PrimitiveArray(MemoryKind),
    Constant(LoadedConstant, u32),
    OwnClass,
    Method(InvokeKind, u32),
    CallSite(u32),
    /// The body of a direct call's callee; later questions may be asked in its class.
    Inline(InvokeKind, u32),
    /// The same of a body that may throw and call.
    Whole(InvokeKind, u32),
    /// The likely callee of a virtual call, and its body.
    Guess(u32),
    /// The same of a body that may throw and call.
    WholeGuess(u32),
    /// The class that a field is likely to hold objects of.
    FieldClass(u32),
    StaticFieldClass(u32),
    /// The callee of a virtual or interface call whose receiver is of a class that has a number.
    Received(Call, u16, u16, Form),
    /// The class of most receivers of a call, whose name is the code's own, by number.
    Profiled(u32),
    /// Where the code counts receivers.
    Cells,
}

/// A call that chooses its callee by the receiver.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Call {
    Virtual,
    Interface,
}

/// What stands in place of a call.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Form {
    /// A call of one method.
    Direct,
    Straight,
    Whole,
}

/// An answer. Addresses in it are numbers in the order of asking.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Answer {
    Field(FieldLink),
    Class(ClassLink),
    New(NewLink),
    Constant(ConstantLink),
    Method(MethodLink),
    Address(Address),
    /// The callee's class file and the method's place in it.
    Body(Sum, u32),
    /// The same, and the callee's record.
    Likely(Sum, u32, Address),
    /// There is no answer now.
    Nothing,
}

/// A question with its answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Exchange {
    /// Whose constants the question is about: 0 for the method's own, then the inlined callees' in
    /// order.
    pub(crate) scope: u16,
    pub(crate) question: Question,
    pub(crate) answer: Answer,
}

impl Exchange {
    pub(crate) fn validity(&self) -> Validity {
        self.answer.validity(self.question)
    }
}

/// Whether an answer holds at any time or only from some time on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Validity {
    /// It names a site, which resolves itself: at any time.
    Site(SiteKind),
    /// It names what was there: where asking again gives the same.
    WhenEqual,
    /// It names memory that the code has for itself: at any time.
    Own,
}

const MEMORY_KINDS: [MemoryKind; 9] = [
    MemoryKind::Boolean,
    MemoryKind::Byte,
    MemoryKind::Char,
    MemoryKind::Short,
    MemoryKind::Int,
    MemoryKind::Long,
    MemoryKind::Float,
    MemoryKind::Double,
    MemoryKind::Ref,
];

const WRITES: [Write; 4] = [
    Write::new(false, false),
    Write::new(true, false),
    Write::new(false, true),
    Write::new(true, true),
];

const CONSTANTS: [LoadedConstant; 3] = [
    LoadedConstant::String,
    LoadedConstant::Class,
    LoadedConstant::Computed,
];

pub(crate) const INVOKE_KINDS: [InvokeKind; 4] = [
    InvokeKind::Static,
    InvokeKind::Special,
    InvokeKind::Virtual,
    InvokeKind::Interface,
];

const CALLS: [Call; 2] = [Call::Virtual, Call::Interface];

const FORMS: [Form; 3] = [Form::Direct, Form::Straight, Form::Whole];

/// Where `wanted` stands in `all`.
fn place<T: PartialEq>(all: &[T], wanted: &T) -> u32 {
    let found = all.iter().position(|one| one == wanted);
    found.expect("the table is complete") as u32
}

impl Question {
    /// Two numbers that [`Self::of_code`] understands.
    pub(crate) fn code(self) -> (u32, u32) {
        match self {
            Question::Field(index) => (0, index),
            Question::StaticField(index) => (1, index),
            Question::Class(index) => (2, index),
            Question::New(index) => (3, index),
            Question::ArrayOf(index) => (4, index),
            Question::PrimitiveArray(kind) => (5, place(&MEMORY_KINDS, &kind)),
            Question::OwnClass => (6, 0),
            Question::CallSite(index) => (7, index),
            Question::Written(write, index) => (12 + place(&WRITES, &write), index),
            Question::Constant(constant, index) => (8 + place(&CONSTANTS, &constant), index),
            Question::Method(kind, index) => (16 + place(&INVOKE_KINDS, &kind), index),
            Question::Inline(kind, index) => (24 + place(&INVOKE_KINDS, &kind), index),
            Question::Whole(kind, index) => (28 + place(&INVOKE_KINDS, &kind), index),
            Question::Guess(index) => (32, index),
            Question::WholeGuess(index) => (33, index),
            Question::FieldClass(index) => (34, index),
            Question::StaticFieldClass(index) => (35, index),
            Question::Received(call, index, class, form) => {
                let code = 36 + place(&CALLS, &call) * FORMS.len() as u32 + place(&FORMS, &form);
                (code, u32::from(class) << 16 | u32::from(index))
            }
            Question::Profiled(number) => (42, number),
            Question::Cells => (43, 0),
        }
    }

    pub(crate) fn of_code(code: u32, index: u32) -> Option<Self> {
        Some(match code {
            0 => Question::Field(index),
            1 => Question::StaticField(index),
            2 => Question::Class(index),
            3 => Question::New(index),
            4 => Question::ArrayOf(index),
            5 => Question::PrimitiveArray(*MEMORY_KINDS.get(index as usize)?),
            6 => Question::OwnClass,
            7 => Question::CallSite(index),
            12..16 => Question::Written(WRITES[code as usize - 12], index),
            8..12 => Question::Constant(*CONSTANTS.get(code as usize - 8)?, index),
            16..24 => Question::Method(*INVOKE_KINDS.get(code as usize - 16)?, index),
            24..28 => Question::Inline(INVOKE_KINDS[code as usize - 24], index),
            28..32 => Question::Whole(INVOKE_KINDS[code as usize - 28], index),
            32 => Question::Guess(index),
            33 => Question::WholeGuess(index),
            34 => Question::FieldClass(index),
            35 => Question::StaticFieldClass(index),
            36..42 => {
                let (call, form) = ((code as usize - 36) / FORMS.len(), (code - 36) as usize);
                let form = FORMS[form % FORMS.len()];
                Question::Received(CALLS[call], index as u16, (index >> 16) as u16, form)
            }
            42 => Question::Profiled(index),
            43 => Question::Cells,
            _ => return None,
        })
    }

    /// Whether it is about a callee's body: a scope of its own from there on.
    pub(crate) fn is_of_body(self) -> bool {
        matches!(
            self,
            Question::Inline(..)
                | Question::Whole(..)
                | Question::Guess(_)
                | Question::WholeGuess(_)
                | Question::Received(_, _, _, Form::Straight | Form::Whole)
        )
    }

    /// The index of the constant asked about.
    pub(crate) fn index(self) -> u32 {
        match self {
            Question::Received(_, index, ..) => index.into(),
            it => it.code().1,
        }
    }

    /// The site for when there is no better answer.
    pub(crate) fn site_kind(self) -> Option<SiteKind> {
        Some(match self {
            Question::Field(_) => SiteKind::Field,
            Question::StaticField(_) => SiteKind::Static,
            Question::Written(write, _) => SiteKind::Written(write),
            Question::Class(_) => SiteKind::Class,
            Question::New(_) => SiteKind::New,
            Question::ArrayOf(_) => SiteKind::ArrayOf,
            Question::Constant(LoadedConstant::String, _) => SiteKind::String,
            Question::Constant(LoadedConstant::Class, _) => SiteKind::Mirror,
            Question::Constant(LoadedConstant::Computed, _) => SiteKind::Computed,
            Question::Method(kind, _) => SiteKind::Method(kind),
            Question::CallSite(_) => SiteKind::CallSite,
            Question::PrimitiveArray(_)
            | Question::OwnClass
            | Question::Inline(..)
            | Question::Whole(..)
            | Question::Guess(_)
            | Question::WholeGuess(_)
            | Question::FieldClass(_)
            | Question::StaticFieldClass(_)
            | Question::Received(..)
            | Question::Profiled(_)
            | Question::Cells => return None,
        })
    }
}

impl Answer {
    /// When this answer to `question` holds.
    pub(crate) fn validity(self, question: Question) -> Validity {
        if question == Question::Cells {
            return Validity::Own;
        }
        let site = match self {
            Answer::Field(FieldLink::Site(_))
            | Answer::Class(ClassLink::Site(_))
            | Answer::New(NewLink::Site(_))
            | Answer::Constant(ConstantLink::Site(_))
            | Answer::Method(MethodLink::Site(_)) => question.site_kind(),
            Answer::Method(MethodLink::Appending(_)) => Some(SiteKind::Handle),
            Answer::Address(_) if matches!(question, Question::CallSite(_)) => question.site_kind(),
            _ => None,
        };
        site.map_or(Validity::WhenEqual, Validity::Site)
    }
}

/// The sum over the answers that hold only when equal. Code is kept with it: the same in each
/// process of this build.
pub(crate) fn sum(asked: &[Exchange]) -> u64 {
    let mut hasher = FixedState::default().build_hasher();
    for exchange in asked {
        if exchange.validity() == Validity::WhenEqual {
            exchange.answer.hash(&mut hasher);
        }
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_what_its_code_says() {
        let of_kinds = MEMORY_KINDS.map(Question::PrimitiveArray);
        let of_constants = CONSTANTS.map(|constant| Question::Constant(constant, 7));
        let of_methods = INVOKE_KINDS.map(|kind| Question::Method(kind, 65535));
        let of_bodies = INVOKE_KINDS.map(|kind| Question::Inline(kind, 65535));
        let of_whole = INVOKE_KINDS.map(|kind| Question::Whole(kind, 1));
        let of_writes = WRITES.map(|write| Question::Written(write, 8));
        let plain = [
            Question::Field(1),
            Question::StaticField(2),
            Question::Class(3),
            Question::New(4),
            Question::ArrayOf(5),
            Question::OwnClass,
            Question::CallSite(6),
            Question::Guess(7),
            Question::WholeGuess(8),
            Question::FieldClass(9),
            Question::StaticFieldClass(10),
            Question::Profiled(11),
            Question::Cells,
        ];
        let mut received = Vec::new();
        for call in CALLS {
            received.extend(FORMS.map(|form| Question::Received(call, 65535, 65534, form)));
        }
        let all = of_kinds.iter().chain(&of_constants).chain(&of_writes);
        for &question in all
            .chain(&of_methods)
            .chain(&of_bodies)
            .chain(&of_whole)
            .chain(&plain)
            .chain(&received)
        {
            let (code, index) = question.code();
            assert_eq!(Question::of_code(code, index), Some(question));
        }
        assert_eq!(Question::of_code(20, 0), None);
        assert_eq!(Question::of_code(44, 0), None);
        assert_eq!(Question::of_code(11, 0), None);
    }

    #[test]
    fn sites_hold_at_any_time() {
        let site = Answer::Method(MethodLink::Site(Address(0)));
        let question = Question::Method(InvokeKind::Static, 9);
        let kind = SiteKind::Method(InvokeKind::Static);
        assert_eq!(site.validity(question), Validity::Site(kind));
        let fixed = Answer::Method(MethodLink::Virtual(136));
        assert_eq!(fixed.validity(question), Validity::WhenEqual);
        let exchange = |answer| Exchange {
            scope: 0,
            question,
            answer,
        };
        assert_eq!(sum(&[exchange(site)]), sum(&[]));
        assert_ne!(sum(&[exchange(fixed)]), sum(&[]));
    }
}
