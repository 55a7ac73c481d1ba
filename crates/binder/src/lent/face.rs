// SPDX-License-Identifier: Apache-2.0
//! [`Face`]: what a process shows to all its callers: its loopers, and which of them sleep. It
//! alone writes there.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};

use rt::policy::Tid;
use rt::shared::{Memfd, Region, SharedError, View};

use crate::lent::layout::{FACE_BYTES, looper_is_kept, looper_sleeps, looper_tid};
use crate::process::Looper;

/// Our own.
pub(crate) struct Face {
    file: Memfd,
    region: Region,
}

impl Face {
    pub(crate) fn new(loopers: &[Looper]) -> Result<Self, SharedError> {
        let file = Memfd::new(c"binder face", FACE_BYTES)?;
        let region = file.map()?;
        file.seal_writes()?;
        region
            .word::<AtomicU32>(0)
            .store(loopers.len() as u32, Relaxed);
        for (index, looper) in loopers.iter().enumerate() {
            let is_kept = region.word::<AtomicU32>(looper_is_kept(index));
            is_kept.store(u32::from(looper.is_kept), Relaxed);
        }
        Ok(Self { file, region })
    }

    pub(crate) fn set_tid(&self, index: usize, tid: Tid) {
        let word = self.region.word::<AtomicU32>(looper_tid(index));
        word.store(tid.raw().unsigned_abs(), SeqCst);
    }

    pub(crate) fn sleeping(&self, index: usize) -> &AtomicU32 {
        self.region.word(looper_sleeps(index))
    }

    pub(crate) fn is_sleeping(&self, index: usize) -> bool {
        self.sleeping(index).load(SeqCst) != 0
    }
}

impl AsFd for Face {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// The looper of another process that a call is lent to, out of `count`: one that sleeps, or else
/// one by turns. Real-time callers have those that are kept, the others the others.
pub(crate) fn choose(
    face: &View,
    count: usize,
    is_real_time: bool,
    turn: usize,
) -> Option<(usize, Tid)> {
    let is_fit = |&index: &usize| (face.load(looper_is_kept(index), Relaxed) != 0) == is_real_time;
    let fit = || (0..count).filter(is_fit);
    let asleep = fit().find(|&index| face.load(looper_sleeps(index), SeqCst) != 0);
    let by_turns = || fit().nth(turn % fit().count().max(1));
    let index = asleep.or_else(by_turns)?;
    let tid = face.load(looper_tid(index), SeqCst);
    Some((index, Tid::new(i32::try_from(tid).ok()?)?))
}
