// SPDX-License-Identifier: Apache-2.0
//! Resolving what a [`Site`] stands for: the constant's meaning is settled by who needs it first.

use core::sync::atomic::Ordering;

use compiler::site_record;
use ir::InvokeKind;

use crate::classes::class::{Class, Field};
use crate::classes::failure::Unresolved;
use crate::classes::site::{Site, SiteKind};
use crate::invoke::method_handle;
use crate::link::failure;
use crate::link::resolve;
use crate::objects::heap_binding;
use crate::threads::ledger;
use crate::threads::thread::{Holds, Thread, Thrown};

impl Site {
    /// Resolves, and gives the cell. `holds` says what the callers up to the last managed frame
    /// hold meanwhile.
    pub(crate) fn resolve(&'static self, thread: &Thread, holds: Holds) -> Result<u64, Thrown> {
        if let Some((cell, _)) = self.resolved() {
            return Ok(cell);
        }
        ledger::timed(
            thread,
            || self.resolve_as_before(thread, holds),
            |ledger, ns, _| ledger.late_site(self.class, ns),
        )
    }

    /// What is computed is computed once, also if that fails.
    fn resolve_as_before(&'static self, thread: &Thread, holds: Holds) -> Result<u64, Thrown> {
        let what = match self.kind {
            SiteKind::Computed => Unresolved::Constant(self.index as u16),
            SiteKind::CallSite => Unresolved::Call(self.address()),
            _ => return self.resolve_now(thread, holds),
        };
        if let Some(failure) = self.class.info.failures.find(what) {
            return Err(failure::throw_again(thread, failure));
        }
        let resolved = self.resolve_now(thread, holds);
        resolved.inspect_err(|_| failure::keep(thread, self.class, what))
    }

    fn resolve_now(&'static self, thread: &Thread, holds: Holds) -> Result<u64, Thrown> {
        let (class, index) = (self.class, self.index as u16);
        match self.kind {
            SiteKind::Field => {
                let (holder, field) = resolve::field_at(thread, class, index, false)?;
                Ok(self.settle_field(holder, field))
            }
            SiteKind::Static => self.resolve_static(thread, holds),
            SiteKind::Written(write) => {
                let (holder, field) = resolve::field_at(thread, class, index, write.is_static)?;
                write.check(thread, class, holder, field)?;
                match write.is_static {
                    true => self.resolve_static(thread, holds),
                    false => Ok(self.settle_field(holder, field)),
                }
            }
            SiteKind::Class => {
                let found = resolve::class_at(thread, class, index)?;
                Ok(self.settle(u64::from(found.address()), 0))
            }
            SiteKind::New => {
                let found = resolve::class_at(thread, class, index)?;
                resolve::check_instantiable(thread, found)?;
                found.initialize_holding(thread, holds)?;
                Ok(self.settle_if_initialized(found, u64::from(found.address()), 0))
            }
            SiteKind::ArrayOf => {
                let element = resolve::class_at(thread, class, index)?;
                let array = thread.array_class(element)?;
                Ok(self.settle(u64::from(array.address()), 0))
            }
            SiteKind::String => {
                let text = resolve::string_at(thread, holds, class, index)?;
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
            SiteKind::Method(kind) => self.resolve_method(thread, kind, holds),
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

    /// Who asks by a site accesses the field plainly.
    fn settle_field(&self, holder: &'static Class, field: &Field) -> u64 {
        assert!(!holder.has_referent(field), "code knows a referent");
        self.settle(field_cell(field), 0)
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

    fn resolve_static(&self, thread: &Thread, holds: Holds) -> Result<u64, Thrown> {
        let (holder, field) = resolve::field_at(thread, self.class, self.index as u16, true)?;
        holder.initialize_holding(thread, holds)?;
        let extra = u64::from(holder.statics().0);
        Ok(self.settle_if_initialized(holder, field_cell(field), extra))
    }

    fn resolve_method(
        &self,
        thread: &Thread,
        kind: InvokeKind,
        holds: Holds,
    ) -> Result<u64, Thrown> {
        let method = resolve::method_at(thread, self.class, self.index as u16, kind)?;
        if kind == InvokeKind::Static {
            let holder = method.class();
            holder.initialize_holding(thread, holds)?;
            return Ok(self.settle_if_initialized(holder, method.address(), 0));
        }
        Ok(self.settle(method.address(), 0))
    }
}

fn field_cell(field: &Field) -> u64 {
    let volatile = if field.is_volatile() {
        site_record::FIELD_VOLATILE as u64
    } else {
        0
    };
    u64::from(field.offset) | volatile
}
