// SPDX-License-Identifier: Apache-2.0
//! Class initialisation, by the language's rules.
//!
//! The initialising thread holds a priority-inheritance lock while `<clinit>`
//! runs, so the threads that wait for a class lend it priority.

use core::sync::atomic::Ordering;

use classfile::Constant;
use rt::sys::futex::Patience;

use crate::classes::class::{Class, ClassKind};
use crate::classes::library::Library;
use crate::classes::state::{DONE, FAILED, RUNNING};
use crate::link::failure;
use crate::memory::symbol::Symbol;
use crate::objects::string;
use crate::sync::lock::own_tid;
use crate::threads::ledger;
use crate::threads::thread::{Holds, Thread, Thrown};

impl Class {
    /// Initialises this class unless that has happened or is happening here.
    pub(crate) fn initialize(&'static self, thread: &Thread) -> Result<(), Thrown> {
        self.initialize_holding(thread, Holds::Any)
    }

    /// As [`Self::initialize`]; `holds` says what the callers up to the last managed frame hold
    /// while initialisers run.
    pub(crate) fn initialize_holding(
        &'static self,
        thread: &Thread,
        holds: Holds,
    ) -> Result<(), Thrown> {
        if self.is_initialized() || self.is_being_initialized_here() {
            return Ok(());
        }
        crate::link::verification::verify(thread, self)?;
        let init = &self.info.init;
        lock(thread, self);
        let outcome = match init.state.load(Ordering::Acquire) {
            DONE => Ok(()),
            FAILED => Err(failure::throw_uninitialized(thread, self)),
            _ => {
                init.owner.store(own_tid(), Ordering::Release);
                init.state.store(RUNNING, Ordering::Release);
                let outcome = ledger::timed(
                    thread,
                    || self.run_initializers(thread, holds),
                    |ledger, ns, _| ledger.late_initialization(self, ns),
                );
                let outcome = outcome.map_err(|thrown| {
                    failure::keep_thrown(thread, self);
                    wrap_in_error(thread, thrown)
                });
                let state = if outcome.is_ok() { DONE } else { FAILED };
                init.owner.store(0, Ordering::Release);
                init.state.store(state, Ordering::Release);
                if state == DONE && self.bump_range != 0 && !self.is(Library::Class) {
                    // Behind all that initialisers stored: compiled code makes instances now.
                    self.is_ready.store(1, Ordering::Release);
                }
                outcome
            }
        };
        init.lock.unlock();
        outcome
    }

    fn run_initializers(&'static self, thread: &Thread, holds: Holds) -> Result<(), Thrown> {
        if self.info.kind != ClassKind::Instance {
            return Ok(());
        }
        self.store_constants(thread)?;
        if !self.is_interface() {
            if let Some(parent) = self.super_class() {
                parent.initialize_holding(thread, holds)?;
            }
            for interface in &self.info.all_interfaces {
                let has_default = |i: &&'static Class| {
                    i.info
                        .methods
                        .iter()
                        .any(|m| !m.is_abstract() && !m.is_static())
                };
                if has_default(interface) {
                    interface.initialize_holding(thread, holds)?;
                }
            }
        }
        let clinit = self.declared_method(Symbol::new(b"<clinit>"), Symbol::new(b"()V"));
        let Some(clinit) = clinit.filter(|method| method.is_static()) else {
            return Ok(());
        };
        thread.call_holding(holds, clinit, &[]).map(|_| ())
    }

    /// Gives static fields the constants of the class file.
    fn store_constants(&'static self, thread: &Thread) -> Result<(), Thrown> {
        let file = &self.info.file;
        for field in self.info.fields.iter().filter(|field| field.is_static()) {
            let Some(index) = field
                .index
                .and_then(|index| file.fields[index].constant_value)
            else {
                continue;
            };
            let statics = self.statics();
            match file.constants.get(index) {
                Ok(Constant::Integer(value)) => {
                    string::put_narrow(statics, field.offset, field.kind, value);
                }
                Ok(Constant::Float(bits)) => statics.put(field.offset, bits),
                Ok(Constant::Long(value)) => statics.put(field.offset, value),
                Ok(Constant::Double(bits)) => statics.put(field.offset, bits),
                Ok(Constant::String(text)) => {
                    let bytes = file.constants.utf8(text).unwrap_or_default();
                    let text = string::intern_mutf8(thread, bytes)?;
                    statics.put_ref(field.offset, text);
                }
                // DEX files alone have these.
                Ok(Constant::Class(_)) => {
                    let class = crate::link::resolve::class_at(thread, self, index)?;
                    statics.put_ref(field.offset, class.mirror());
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// What an initialiser throws reaches others as an error.
fn wrap_in_error(thread: &Thread, thrown: Thrown) -> Thrown {
    let exception = thread.exception();
    let error = crate::classes::loader::loaded("java/lang/Error");
    if error.is_some_and(|error| exception.is_instance_of(error)) {
        return thrown;
    }
    thread.take_exception();
    let wrapped = thread
        .boot_class("java/lang/ExceptionInInitializerError")
        .and_then(|class| {
            let constructor = class.method_named("<init>", "(Ljava/lang/Throwable;)V");
            thread.new_instance(class, constructor, &[exception.0.into()])
        });
    match wrapped {
        Ok(error) => thread.set_exception(error),
        Err(thrown) => thrown,
    }
}

/// A deadlock of initialisers hangs, as the language has it, instead of being an error.
const PATIENCE: Patience = Patience {
    look_ns: 100_000_000,
    looks_max: None,
    is_for_the_gone: false,
};

/// As the machine's locks, with more patience.
fn lock(thread: &Thread, class: &'static Class) {
    let lock = &class.info.init.lock;
    if lock.try_lock() {
        return;
    }
    let wait = || thread.outside(|| lock.lock_patiently(PATIENCE));
    ledger::timed(thread, wait, |ledger, ns, ()| {
        ledger.monitors.add(ns, Some(class));
    });
}
