// SPDX-License-Identifier: Apache-2.0
//! [`Face`]: what a process shows to all its callers: its loopers, and which of them sleep. It
//! alone writes there.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};

use rt::policy::Tid;
use rt::shared::{Memfd, Region, SharedError, View};

use crate::lent::layout::{FACE_BYTES, looper_is_away, looper_is_kept, looper_sleeps, looper_tid};
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

    /// Whether a looper waits in a call of its own: what it is given meanwhile waits as well.
    pub(crate) fn set_away(&self, index: usize, is_away: bool) {
        let word = self.region.word::<AtomicU32>(looper_is_away(index));
        word.store(u32::from(is_away), SeqCst);
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
/// one by turns of those that are not in a call of their own. Real-time callers have those that are
/// kept, the others the others; where all that are kept are in calls, real-time callers have the
/// others as well: a call that comes home may be what the kept ones wait for.
pub(crate) fn choose(
    face: &View,
    count: usize,
    is_real_time: bool,
    turn: usize,
) -> Option<(usize, Tid)> {
    let is_fit = |&index: &usize| (face.load(looper_is_kept(index), Relaxed) != 0) == is_real_time;
    let is_here = |&index: &usize| face.load(looper_is_away(index), SeqCst) == 0;
    let is_asleep = |&index: &usize| face.load(looper_sleeps(index), SeqCst) != 0;
    let fit = || (0..count).filter(is_fit);
    let others = || (0..count).filter(|it| is_real_time && !is_fit(it));
    let index = fit()
        .find(is_asleep)
        .or_else(|| by_turns(fit().filter(is_here), turn))
        .or_else(|| others().find(is_asleep))
        .or_else(|| by_turns(others().filter(is_here), turn))
        .or_else(|| by_turns(fit(), turn))?;
    let tid = face.load(looper_tid(index), SeqCst);
    Some((index, Tid::new(i32::try_from(tid).ok()?)?))
}

fn by_turns(mut all: impl Iterator<Item = usize> + Clone, turn: usize) -> Option<usize> {
    let count = all.clone().count();
    all.nth(turn % count.max(1))
}
