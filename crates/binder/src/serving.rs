// SPDX-License-Identifier: Apache-2.0
//! What the calling thread is doing for others: who called it ([`Caller`]), and which threads of
//! other processes wait for it, so that a call back to one of them arrives on it.

use std::cell::RefCell;
use std::marker::PhantomData;

use rt::peer::Urgency;
use rt::policy::Tid;

use crate::lent::{Chain, Conversation};

thread_local! {
    static STACK: RefCell<Vec<Serving>> = const { RefCell::new(Vec::new()) };
}

/// Who calls, by the kernel's word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The process.
    pub pid: i32,
    /// Its user.
    pub uid: u32,
}

impl Caller {
    /// This process itself.
    pub fn own() -> Self {
        Self {
            pid: std::process::id().cast_signed(),
            uid: rt::process::uid(),
        }
    }

    /// Whom the calling thread serves; this process where it serves nobody.
    pub fn current() -> Self {
        let of_top = STACK.with_borrow(|stack| stack.last().map(|it| it.caller));
        of_top.unwrap_or_else(Self::own)
    }

    /// How urgent the calling thread is that this thread serves, by the kernel's word for that one,
    /// and no more than it claims. It was asked before the call began, whether or not the caller
    /// has lent anything yet. Ordinary where the thread serves nobody, over a driver, and of a call
    /// back.
    pub fn urgency() -> Urgency {
        let of_top = STACK.with_borrow(|stack| stack.last().map(|it| it.granted));
        of_top.unwrap_or_default()
    }

    /// How urgent the caller that the thread serves says that it is: a claim, which the kernel's
    /// word may be below. Ordinary where it serves nobody.
    pub fn claim() -> Urgency {
        let of_top = STACK.with_borrow(|stack| stack.last().map(|it| it.claim));
        of_top.unwrap_or_default()
    }
}

/// One call that the thread serves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Serving {
    pub(crate) caller: Caller,
    /// At most this urgent, as the caller says.
    pub(crate) claim: Urgency,
    /// No more than that, by the kernel's word.
    pub(crate) granted: Urgency,
    pub(crate) waits: Waits,
    /// Who waits, as the caller says; none where the transport does not.
    pub(crate) chain: Option<Chain>,
}

/// Who waits for one call.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Waits {
    /// A thread that can be called back.
    For(Waiting),
    /// None that can.
    Unknown,
    /// None that can, and the thread waits in a call of its own besides: whom it serves otherwise
    /// waits for others meanwhile, and may be found by the chain alone.
    Brought,
}

/// A thread of another process that waits for this one, and how to reach it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting {
    pub(crate) link: u64,
    pub(crate) tid: Tid,
    pub(crate) conversation: Conversation,
}

/// Ends with the call.
pub(crate) struct Scope(PhantomData<*const ()>);

/// Calls inside calls that a looper has room for from the beginning.
const DEPTH: usize = 16;

/// Makes room, before the first call comes.
pub(crate) fn prepare() {
    STACK.with_borrow_mut(|stack| stack.reserve(DEPTH));
}

/// The calling thread serves somebody until the scope ends.
pub(crate) fn enter(serving: Serving) -> Scope {
    STACK.with_borrow_mut(|stack| stack.push(serving));
    Scope(PhantomData)
}

impl Drop for Scope {
    fn drop(&mut self) {
        STACK.with_borrow_mut(|stack| stack.pop());
    }
}

/// Who waits at the other end of this link for the calling thread, the last first.
pub(crate) fn waiting(link: u64) -> Option<Waiting> {
    STACK.with_borrow(|stack| {
        let waits = stack.iter().rev().map(|it| it.waits);
        let mut waits = waits.take_while(|it| !matches!(it, Waits::Brought));
        waits.find_map(|it| match it {
            Waits::For(waiting) if waiting.link == link => Some(waiting),
            _ => None,
        })
    })
}

/// Who waits for the calling thread, in a row.
pub(crate) fn chain() -> Chain {
    STACK.with_borrow(|stack| {
        let mut chains = stack.iter().rev().filter_map(|it| it.chain);
        chains.next().unwrap_or_default()
    })
}

/// How urgent a call of this thread is: by its own policy, or by whom it serves.
pub(crate) fn claim() -> Urgency {
    let served = STACK.with_borrow(|stack| stack.last().map(|it| it.claim));
    served.unwrap_or_default().max(Urgency::of_current())
}

/// The calling thread acts for itself until this is dropped.
#[must_use = "the caller is back when this is dropped"]
#[derive(Debug)]
pub struct Cleared(PhantomData<*const ()>);

/// Until the returned value is dropped, [`Caller::current`] is this process itself.
pub fn clear_caller() -> Cleared {
    let top = STACK.with_borrow(|stack| stack.last().map(|it| it.claim));
    STACK.with_borrow_mut(|stack| {
        stack.push(Serving {
            caller: Caller::own(),
            claim: top.unwrap_or_default(),
            granted: Urgency::ORDINARY,
            waits: Waits::Unknown,
            chain: None,
        });
    });
    Cleared(PhantomData)
}

impl Drop for Cleared {
    fn drop(&mut self) {
        STACK.with_borrow_mut(|stack| stack.pop());
    }
}
