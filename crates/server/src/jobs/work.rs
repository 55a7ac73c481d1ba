// SPDX-License-Identifier: Apache-2.0
//! What is handed to one job bit by bit: `JobWorkItem`.

use std::collections::VecDeque;

use crate::Payload;

/// Items of one job that are not done.
pub const WORK_MAX: usize = 128;

/// One item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    /// Its number in its job.
    pub id: i32,
    /// What it is.
    pub payload: Payload,
    /// How large that is.
    pub bytes: usize,
    /// How often it was handed out.
    pub deliveries: i32,
}

/// What waits, and what was handed out and is not done.
#[derive(Clone, Debug, Default)]
pub(super) struct WorkQueue {
    waiting: VecDeque<Work>,
    handed: Vec<Work>,
    last: i32,
}

impl WorkQueue {
    pub(super) fn is_full(&self) -> bool {
        self.waiting.len() + self.handed.len() >= WORK_MAX
    }

    pub(super) fn push(&mut self, (payload, bytes): (Payload, usize)) {
        self.last = self.last.wrapping_add(1).max(1);
        self.waiting.push_back(Work {
            id: self.last,
            payload,
            bytes,
            deliveries: 0,
        });
    }

    /// Hands the next one out.
    pub(super) fn next(&mut self) -> Option<Work> {
        let mut work = self.waiting.pop_front()?;
        work.deliveries = work.deliveries.saturating_add(1);
        self.handed.push(work);
        Some(work)
    }

    /// One is done. False if it was not handed out.
    pub(super) fn complete(&mut self, id: i32) -> bool {
        let before = self.handed.len();
        self.handed.retain(|it| it.id != id);
        self.handed.len() < before
    }

    /// Does nothing wait, and is all done that was handed out?
    pub(super) fn is_done(&self) -> bool {
        self.waiting.is_empty() && self.handed.is_empty()
    }

    /// What was handed out is not done: it comes first again.
    pub(super) fn take_back(&mut self) {
        for work in std::mem::take(&mut self.handed).into_iter().rev() {
            self.waiting.push_front(work);
        }
    }

    /// Of all that is not done.
    pub(super) fn bytes(&self) -> usize {
        let all = self.waiting.iter().chain(&self.handed);
        all.map(|it| it.bytes).sum()
    }

    pub(super) fn payloads(&self) -> impl Iterator<Item = Payload> + '_ {
        let all = self.waiting.iter().chain(&self.handed);
        all.map(|it| it.payload)
    }

    pub(super) fn assert_consistent(&self) {
        assert!(self.waiting.len() + self.handed.len() <= WORK_MAX);
    }
}
