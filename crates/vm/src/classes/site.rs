// SPDX-License-Identifier: Apache-2.0
//! [`Site`]: what code remembers of a constant once it has been resolved.

use core::sync::atomic::{AtomicU64, Ordering};

use compiler::site_record;
use ir::InvokeKind;

use crate::classes::class::Class;
use crate::classes::write::Write;

/// What is to be resolved.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum SiteKind {
    Field,
    Static,
    Written(Write),
    Class,
    New,
    ArrayOf,
    String,
    Mirror,
    Computed,
    Method(InvokeKind),
    Handle,
    CallSite,
}

/// One constant of one class, and its outcome. Compiled code reads the first two words.
#[repr(C)]
pub(crate) struct Site {
    cell: AtomicU64,
    pub(crate) extra: AtomicU64,
    pub(crate) kind: SiteKind,
    pub(crate) class: &'static Class,
    pub(crate) index: u32,
}

const _: () = {
    assert!(core::mem::offset_of!(Site, cell) == site_record::CELL as usize);
    assert!(core::mem::offset_of!(Site, extra) == site_record::EXTRA as usize);
};

impl Site {
    /// The site of `class` for this constant; call sites are one per bytecode.
    pub(crate) fn of(class: &'static Class, kind: SiteKind, index: u32) -> &'static Site {
        let make = || -> &'static Site {
            Box::leak(Box::new(Site {
                cell: AtomicU64::new(0),
                extra: AtomicU64::new(0),
                kind,
                class,
                index,
            }))
        };
        if kind == SiteKind::CallSite {
            let site = make();
            class.info.call_sites.lock().push(site);
            return site;
        }
        class
            .info
            .sites
            .lock()
            .entry((kind, index))
            .or_insert_with(make)
    }

    /// Of the constant.
    pub(crate) fn index(&self) -> u32 {
        self.index
    }

    pub(crate) fn address(&'static self) -> u64 {
        core::ptr::from_ref(self) as u64
    }

    pub(crate) fn at(address: u64) -> &'static Site {
        // SAFETY: 1. Code holds addresses from `address` only. 2. Sites are immortal.
        unsafe { &*(address as *const Site) }
    }

    /// The outcome so far.
    pub(crate) fn resolved(&self) -> Option<(u64, u64)> {
        match self.cell.load(Ordering::Acquire) {
            0 => None,
            cell => Some((cell, self.extra.load(Ordering::Relaxed))),
        }
    }

    /// Remembers an outcome; the first one stays.
    pub(crate) fn settle(&self, cell: u64, extra: u64) -> u64 {
        let _first = SETTLING.lock();
        if let Some((cell, _)) = self.resolved() {
            return cell;
        }
        self.extra.store(extra, Ordering::Relaxed);
        // Pairs with Acquire in `resolved` and the load in compiled code.
        self.cell.store(cell, Ordering::Release);
        cell
    }
}

static SETTLING: crate::sync::lock::Lock<()> = crate::sync::lock::Lock::new(());
