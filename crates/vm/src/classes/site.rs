// SPDX-License-Identifier: Apache-2.0
//! [`Site`]: what code remembers of a constant once it has been resolved.

use core::sync::atomic::{AtomicU64, Ordering};

use compiler::site_record;
use ir::InvokeKind;

use crate::classes::class::Class;
use crate::classes::write::Write;
use crate::invoke::method_handle;
use crate::link::resolve;
use crate::objects::heap_binding;
use crate::threads::ledger;
use crate::threads::thread::{Thread, Thrown};

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
    extra: AtomicU64,
    kind: SiteKind,
    class: &'static Class,
    index: u32,
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
    fn settle(&self, cell: u64, extra: u64) -> u64 {
        let _first = SETTLING.lock();
        if let Some((cell, _)) = self.resolved() {
            return cell;
        }
        self.extra.store(extra, Ordering::Relaxed);
        // Pairs with Acquire in `resolved` and the load in compiled code.
        self.cell.store(cell, Ordering::Release);
        cell
    }

    /// Resolves, and gives the cell.
    pub(crate) fn resolve(&'static self, thread: &Thread) -> Result<u64, Thrown> {
        if let Some((cell, _)) = self.resolved() {
            return Ok(cell);
        }
        ledger::timed(
            thread,
            || self.resolve_now(thread),
            |ledger, ns, _| ledger.late_site(self.class, ns),
        )
    }

    fn resolve_now(&'static self, thread: &Thread) -> Result<u64, Thrown> {
        let (class, index) = (self.class, self.index as u16);
        match self.kind {
            SiteKind::Field => {
                let (_, field) = resolve::field_at(thread, class, index, false)?;
                Ok(self.settle(field_cell(field), 0))
            }
            SiteKind::Static => self.resolve_static(thread),
            SiteKind::Written(write) => {
                let (holder, field) = resolve::field_at(thread, class, index, write.is_static)?;
                write.check(thread, class, holder, field)?;
                match write.is_static {
                    true => self.resolve_static(thread),
                    false => Ok(self.settle(field_cell(field), 0)),
                }
            }
            SiteKind::Class => {
                let found = resolve::class_at(thread, class, index)?;
                Ok(self.settle(u64::from(found.address()), 0))
            }
            SiteKind::New => {
                let found = resolve::class_at(thread, class, index)?;
                resolve::check_instantiable(thread, found)?;
                found.initialize(thread)?;
                Ok(self.settle_if_initialized(found, u64::from(found.address()), 0))
            }
            SiteKind::ArrayOf => {
                let element = resolve::class_at(thread, class, index)?;
                let array = thread.array_class(element)?;
                Ok(self.settle(u64::from(array.address()), 0))
            }
            SiteKind::String => {
                let text = resolve::string_at(thread, class, index)?;
                Ok(self.settle(1, u64::from(text.0)))
            }
            SiteKind::Mirror => {
                let found = resolve::class_at(thread, class, index)?;
                Ok(self.settle(1, u64::from(found.mirror().0)))
            }
            SiteKind::Computed => {
                let value = method_handle::constant_at(thread, class, index)?;
                heap_binding::keep_word(value);
                Ok(self.settle(1, value))
            }
            SiteKind::Method(kind) => self.resolve_method(thread, kind),
            SiteKind::Handle => {
                let (method, appendix) = method_handle::link_method(thread, class, index)?;
                heap_binding::keep(appendix);
                Ok(self.settle(method.address(), u64::from(appendix.0)))
            }
            SiteKind::CallSite => {
                let (method, appendix) = method_handle::link_call_site(thread, class, index)?;
                heap_binding::keep(appendix);
                Ok(self.settle(method.address(), u64::from(appendix.0)))
            }
        }
    }

    /// Until the class is initialised for everybody, every access must ask again.
    fn settle_if_initialized(&self, class: &'static Class, cell: u64, extra: u64) -> u64 {
        if class.is_initialized() {
            return self.settle(cell, extra);
        }
        // The extra word is read right after; it is the same for all who get here.
        self.extra.store(extra, Ordering::Relaxed);
        cell
    }

    fn resolve_static(&self, thread: &Thread) -> Result<u64, Thrown> {
        let (holder, field) = resolve::field_at(thread, self.class, self.index as u16, true)?;
        holder.initialize(thread)?;
        let extra = u64::from(holder.statics().0);
        Ok(self.settle_if_initialized(holder, field_cell(field), extra))
    }

    fn resolve_method(&self, thread: &Thread, kind: InvokeKind) -> Result<u64, Thrown> {
        let method = resolve::method_at(thread, self.class, self.index as u16, kind)?;
        if kind == InvokeKind::Static {
            let holder = method.class();
            holder.initialize(thread)?;
            return Ok(self.settle_if_initialized(holder, method.address(), 0));
        }
        Ok(self.settle(method.address(), 0))
    }
}

static SETTLING: crate::sync::lock::Lock<()> = crate::sync::lock::Lock::new(());

fn field_cell(field: &crate::classes::class::Field) -> u64 {
    let volatile = if field.is_volatile() {
        site_record::FIELD_VOLATILE as u64
    } else {
        0
    };
    u64::from(field.offset) | volatile
}
