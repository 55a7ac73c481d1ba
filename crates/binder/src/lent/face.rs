// SPDX-License-Identifier: Apache-2.0
//! [`Face`]: what a process shows to all its callers: its loopers, and which of them sleep. It
//! alone writes there.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};

use rt::policy::Tid;
use rt::shared::{Memfd, Region, SharedError, View};

use crate::lent::layout::{FACE_BYTES, looper_is_away, looper_is_kept, looper_sleeps, looper_tid};
use crate::lent::words::{self, Shown};
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

/// Another's.
struct Other<'a>(&'a View);

impl Shown for Other<'_> {
    fn is_kept(&self, looper: usize) -> bool {
        self.0.load(looper_is_kept(looper), Relaxed) != 0
    }

    fn is_asleep(&self, looper: usize) -> bool {
        self.0.load(looper_sleeps(looper), SeqCst) != 0
    }

    fn is_away(&self, looper: usize) -> bool {
        self.0.load(looper_is_away(looper), SeqCst) != 0
    }
}

/// The looper of another process that a call is lent to, out of `count` ([`words::choose`]).
pub(crate) fn choose(
    face: &View,
    count: usize,
    is_real_time: bool,
    turn: usize,
) -> Option<(usize, Tid)> {
    let index = words::choose(&Other(face), count, is_real_time, turn)?;
    let tid = face.load(looper_tid(index), SeqCst);
    Some((index, Tid::new(i32::try_from(tid).ok()?)?))
}
