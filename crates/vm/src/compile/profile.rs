// SPDX-License-Identifier: Apache-2.0
//! Which classes the receivers of calls have: what code has counted, for code that is made later.
//!
//! The first code of a method counts receivers where nothing else says which callee is likely, and
//! is the same for the same class files. Code that is linked again (`again`) is told what was
//! counted: in the method itself, with the bodies around the call if those stood there, or else in
//! the callee's own code. It rests on the class that it was told, and keeps its name. So it is
//! found again where that class is there, without any counting.
//!
//! What is counted is a hint. Code compares the receiver's class.

use core::sync::atomic::{AtomicU32, Ordering};
use std::collections::HashMap;

use compiler::{Address, Linker, Profile, profile_cell, scope_and_offset};
use ir::{Function, InvokeKind, Op};

use crate::classes::class::{Class, Method};
use crate::classes::loader;
use crate::code::file::Piece;
use crate::code::question::{Answer, Question};
use crate::compile::answers::Cx;
use crate::link::resolve::{self, OnlyLoaded};
use crate::memory::symbol::Symbol;
use crate::options::{self, Inlining};
use crate::sync::lock::Lock;
use crate::threads::held;

/// Receivers of a call that say which class is likely.
const COUNT_MIN: u32 = 500;
/// Receivers of a call that is worth code which counts no more, if they are of several classes.
const SEVERAL_MIN: u32 = 50_000;
/// Calls that are counted in one method, at most.
const CELLS_MAX: usize = 256;

/// What compiled code writes, by plain stores.
#[repr(C)]
#[derive(Default)]
struct Cell {
    class: AtomicU32,
    same: AtomicU32,
    count: AtomicU32,
}

const _: () = {
    assert!(core::mem::offset_of!(Cell, class) == profile_cell::CLASS as usize);
    assert!(core::mem::offset_of!(Cell, same) == profile_cell::SAME as usize);
    assert!(core::mem::offset_of!(Cell, count) == profile_cell::COUNT as usize);
    assert!(size_of::<Cell>() == profile_cell::BYTES as usize);
};

/// What the calls of one piece of code have found out.
struct Counted {
    cells: &'static [Cell],
    /// By cell: the place of its call.
    counted: Box<[u32]>,
    /// Places whose class was known when the code was made, and its name.
    profiled: Box<[(u32, Symbol)]>,
    /// As `CompiledCode::inlined`.
    inlined: Box<[u32]>,
}

/// By a method's address: its pieces of code, the oldest first. There are four at most.
static COUNTED: Lock<Option<HashMap<u64, Vec<Counted>>>> = Lock::new(None);

/// A template's methods keep their code, so nobody reads what that counts: one place for all, whose
/// page each copy of the process has for itself.
static NOBODYS: [Cell; CELLS_MAX] = [const {
    Cell {
        class: AtomicU32::new(0),
        same: AtomicU32::new(0),
        count: AtomicU32::new(0),
    }
}; CELLS_MAX];

/// What is found out about a call's receivers.
enum Found {
    /// Most are of this class.
    Most(Symbol),
    /// They are of several.
    Several,
}

impl Cell {
    /// Where three of four receivers follow one of their class, seven of eight have it, or they
    /// come in long rows.
    fn found(&self) -> Option<Found> {
        let count = self.count.load(Ordering::Relaxed);
        if count < COUNT_MIN {
            return None;
        }
        let is_most = self.same.load(Ordering::Relaxed) >= count / 4 * 3;
        let class = Class::at(self.class.load(Ordering::Relaxed));
        Some(match is_most && !class.info.is_hidden {
            true => Found::Most(class.info.name),
            false => Found::Several,
        })
    }
}

impl Counted {
    /// What is found out of the call at these offsets: its own, then those of the bodies around it.
    fn at(&self, offsets: &[u32]) -> Option<Found> {
        let mut told = self.profiled.iter();
        if let Some((_, class)) = told.find(|(place, _)| self.is_at(*place, offsets)) {
            return Some(Found::Most(*class));
        }
        let mut places = self.counted.iter();
        let cell = places.position(|&place| self.is_at(place, offsets))?;
        self.cells[cell].found()
    }

    fn is_at(&self, place: u32, offsets: &[u32]) -> bool {
        let mut next = Some(place);
        let is_same = offsets.iter().all(|&offset| {
            let Some((scope, at)) = next.map(scope_and_offset) else {
                return false;
            };
            let outer = usize::from(scope).checked_sub(1);
            next = outer.map(|number| self.inlined[number]);
            at == offset
        });
        is_same && next.is_none()
    }
}

/// Remembers what a piece of `method`'s code counts from now on, and what it was told. Where its
/// cells lie.
pub(super) fn remember(method: &'static Method, piece: &Piece) -> u64 {
    let code = &piece.code;
    if held::are_held() || code.counted.is_empty() && code.profiled.is_empty() {
        return NOBODYS.as_ptr().addr() as u64;
    }
    let cells: Vec<Cell> = code.counted.iter().map(|_| Cell::default()).collect();
    let cells = Box::leak(cells.into_boxed_slice());
    let at = cells.as_ptr().addr() as u64;
    let told = code.profiled.iter().zip(&piece.classes);
    let counted = Counted {
        cells,
        counted: code.counted.clone().into(),
        profiled: told.map(|(&place, &class)| (place, class)).collect(),
        inlined: code.inlined.clone().into(),
    };
    let mut all = COUNTED.lock();
    let all = all.get_or_insert_default();
    all.entry(method.address()).or_default().push(counted);
    at
}

/// How many calls of a method's newest code have found out enough for better code.
pub(super) fn answered(method: &'static Method) -> usize {
    let all = COUNTED.lock();
    let newest = all
        .as_ref()
        .and_then(|all| all.get(&method.address())?.last());
    let cells = newest.map_or(&[][..], |it| it.cells);
    let is_answered = |cell: &&Cell| match cell.found() {
        Some(Found::Most(_)) => true,
        Some(Found::Several) => cell.count.load(Ordering::Relaxed) >= SEVERAL_MIN,
        None => false,
    };
    cells.iter().filter(is_answered).count()
}

impl Cx<'_> {
    /// Which receivers the call at the first place has, with the bodies around it at the others.
    pub(super) fn profile_at(&mut self, call: (InvokeKind, u32), places: &[u32]) -> Profile {
        if options::get().inlining < Inlining::Profiled {
            return Profile::Unknown;
        }
        let found = self.is_profiled.then(|| self.found(places)).flatten();
        match found {
            Some(Found::Most(class)) => self.tell(class),
            None if self.is_counted(call) => {
                self.cell_count += 1;
                Profile::Count(self.cells())
            }
            _ => Profile::Unknown,
        }
    }

    /// Nothing is counted in a method with a computed call, which is never linked again.
    pub(super) fn count_in(&mut self, function: &Function) {
        let insts = function.blocks.iter().flat_map(|block| &block.insts);
        let mut ops = insts.map(|inst| &inst.op);
        self.counts &= !ops.any(|op| matches!(op, Op::InvokeDynamic { .. }));
    }

    /// Whether the receivers of a call are to be counted. Of a real-time thread's code it is
    /// remembered that they would have been.
    fn is_counted(&mut self, call: (InvokeKind, u32)) -> bool {
        let may_be = self.counts
            && self.cell_count < CELLS_MAX
            && !self.runs_once()
            && self.is_worth_counting(self.class, call);
        self.is_hushed |= may_be && self.is_quiet;
        may_be && !self.is_quiet
    }

    /// Whether another callee may come of knowing the receivers of a call that a class names.
    pub(super) fn is_worth_counting(
        &self,
        class: &'static Class,
        (kind, index): (InvokeKind, u32),
    ) -> bool {
        let named = || resolve::method_at(OnlyLoaded, class, index as u16, kind).ok();
        match kind {
            InvokeKind::Interface => named().is_some(),
            InvokeKind::Virtual => named().is_some_and(|it| it.is_abstract() || it.is_overridden()),
            _ => false,
        }
    }

    /// In the code of the outermost method first: it knows best who calls.
    fn found(&self, places: &[u32]) -> Option<Found> {
        let frames = places.iter().map(|&place| scope_and_offset(place));
        let (scopes, offsets): (Vec<u16>, Vec<u32>) = frames.unzip();
        let all = COUNTED.lock();
        let all = all.as_ref()?;
        (1..=places.len()).rev().find_map(|count| {
            let method = self.scopes[usize::from(scopes[count - 1])];
            let mut pieces = all.get(&method.address())?.iter().rev();
            pieces.find_map(|it| it.at(&offsets[..count]))
        })
    }

    fn tell(&mut self, class: Symbol) -> Profile {
        if self.visible(class).is_none() {
            return Profile::Unknown;
        }
        let number = self.profiled.len() as u32;
        self.profiled.push(class);
        match self.ask(Question::Profiled(number)) {
            Answer::Address(class) => Profile::Likely(class),
            _ => unreachable!("it was there just now, and classes stay"),
        }
    }

    /// By the method's own loader, whose class may be likely in a body of another one's.
    fn visible(&self, name: Symbol) -> Option<&'static Class> {
        let loader = self.scopes[0].class().info.loader;
        let found = loader.visible(name).or_else(|| loader::boot().loaded(name));
        found.filter(|class| self.is_ready(class))
    }

    /// The answer to a question about a class that the code was told.
    pub(super) fn profiled_class(&mut self, number: u32) -> Answer {
        let name = self.profiled.get(number as usize).copied();
        match name.and_then(|name| self.visible(name)) {
            Some(class) => Answer::Address(self.class_number(class)),
            None => Answer::Nothing,
        }
    }

    /// The number of the code's own cells, whose place comes when it runs.
    pub(super) fn cells(&mut self) -> Address {
        if let Some(cells) = self.cells {
            return cells;
        }
        let cells = self.number(0u64);
        self.note(Question::Cells, Answer::Address(cells));
        self.cells = Some(cells);
        cells
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(class: u32, same: u32, count: u32) -> Cell {
        Cell {
            class: class.into(),
            same: same.into(),
            count: count.into(),
        }
    }

    #[test]
    fn few_receivers_say_nothing() {
        assert!(cell(0, COUNT_MIN - 1, COUNT_MIN - 1).found().is_none());
    }

    #[test]
    fn a_call_is_found_by_the_bodies_around_it() {
        const BODY: u32 = 1 << 31;
        let cells: Vec<Cell> = (0..3).map(|_| Cell::default()).collect();
        let counted = Counted {
            cells: Box::leak(cells.into_boxed_slice()),
            // In the method at 7; at 7 in the body that stands at 9; in one that stands at 4 there.
            counted: [7, BODY | 1 << 16 | 7, BODY | 2 << 16 | 7].into(),
            profiled: [].into(),
            inlined: [9, BODY | 1 << 16 | 4].into(),
        };
        let place = |offsets: &[u32]| {
            let mut places = counted.counted.iter();
            places.position(|&place| counted.is_at(place, offsets))
        };
        assert_eq!(place(&[7]), Some(0));
        assert_eq!(place(&[7, 9]), Some(1));
        assert_eq!(place(&[7, 4, 9]), Some(2));
        assert_eq!(place(&[7, 4]), None);
        assert_eq!(place(&[7, 9, 9]), None);
        assert_eq!(place(&[4, 9]), None);
    }
}
