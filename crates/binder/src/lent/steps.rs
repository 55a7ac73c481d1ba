// SPDX-License-Identifier: Apache-2.0
//! The steps of a call by name. A test has another program stop at one of them, and kills it there
//! (`killed`), or has something come just then (`news`); in every other build a step is nothing.

/// Where a thread is in a call, in the order of a call that is called back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The caller: descriptors are in flight, the request is not written.
    RequestBeside,
    /// The request is written, and nobody is lent to.
    RequestWritten,
    /// Caller: the looper is lent to, and the request is not posted.
    Lent,
    /// Caller: it is posted, and the looper may sleep.
    Posted,
    /// Looper: it has taken the slot's bit.
    Taken,
    /// The server: it has copied the request.
    Copied,
    /// Looper: it lends to the caller that it calls back, and has not given back.
    LentBack,
    /// Looper: it has given back, and waits for its caller's answer.
    CalledBack,
    /// Caller: it lends for its next message, and has not given back.
    HandedOver,
    /// The server: the node is done.
    Served,
    /// Descriptors of the answer are in flight.
    AnswerBeside,
    /// The answer is written, and not given.
    AnswerWritten,
    /// Looper: it has given the answer.
    GivenBack,
    /// Caller: what it waited for is there.
    Heard,
    /// Caller: it has read the answer.
    Read,
}

/// The calling thread has come so far.
#[cfg(test)]
pub(super) fn reach(step: Step) {
    super::news::reach(step);
    super::killed::reach(step);
}

/// The calling thread has come so far.
#[cfg(not(test))]
#[inline(always)]
pub(super) const fn reach(_: Step) {}
