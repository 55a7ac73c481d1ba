// SPDX-License-Identifier: Apache-2.0
//! Making objects and throwing exceptions by the names of their classes, for all of the machine.
//!
//! These are methods of [`Thread`], which rooms below this one call as well: an exception's class
//! may have to be loaded for it.

use core::sync::atomic::Ordering;

use crate::classes::class::{Class, Method};
use crate::classes::known::known;
use crate::classes::object::ObjectRef;
use crate::classes::stage::{self, Stage};
use crate::console::fatal;
use crate::link::{define, loader, resolve};
use crate::memory::symbol::Symbol;
use crate::objects::{heap_binding, string};
use crate::threads::saved;
use crate::threads::thread::{Holds, STACK_LAST_BYTES, Thread, Thrown};

impl Thread {
    /// Calls the receiver's version of `method`.
    pub(crate) fn call_virtual(
        &self,
        method: &'static Method,
        args: &[u64],
    ) -> Result<u64, Thrown> {
        let receiver = ObjectRef(args[0] as u32);
        self.call(self.select(method, receiver)?, args)
    }

    /// The version of `method` that `receiver` has.
    pub(crate) fn select(
        &self,
        method: &'static Method,
        receiver: ObjectRef,
    ) -> Result<&'static Method, Thrown> {
        if let Some(offset) = method.vtable_offset() {
            return Ok(receiver.class().vtable_entry(offset));
        }
        if !method.class().is_interface() || method.is_private() || method.is_static() {
            return Ok(method);
        }
        resolve::select_interface(self, receiver.class(), method)
    }

    /// A class of the boot loader that must be there. It is loaded on first sight, for which memory
    /// may be exhausted.
    pub(crate) fn boot_class(&self, name: &str) -> Result<&'static Class, Thrown> {
        match loader::find_boot(self, Symbol::new(name.as_bytes()))? {
            Some(class) => Ok(class),
            None => fatal(&format!("the class library has no {name}")),
        }
    }

    /// Makes an object and runs `constructor` on it.
    pub(crate) fn new_instance(
        &self,
        class: &'static Class,
        constructor: Option<&'static Method>,
        args: &[u64],
    ) -> Result<ObjectRef, Thrown> {
        class.initialize(self)?;
        let object = heap_binding::new_object(self, class)?;
        if let Some(constructor) = constructor {
            let mut all = vec![u64::from(object.0)];
            all.extend_from_slice(args);
            self.call(constructor, &all)?;
        }
        Ok(object)
    }

    /// Throws a new exception with a message.
    pub(crate) fn throw(&self, class: &str, message: &str) -> Thrown {
        self.throw_with(class, Some(message), ObjectRef::NULL)
    }

    /// Throws a new exception without a message.
    pub(crate) fn throw_plain(&self, class: &str) -> Thrown {
        self.throw_with(class, None, ObjectRef::NULL)
    }

    /// Throws a new exception for compiled code, which keeps what it holds in its own frame.
    pub(crate) fn throw_for_managed(&self, class: &str, message: Option<&str>) -> Thrown {
        self.throw_holding(Holds::Nothing, class, message, ObjectRef::NULL)
    }

    /// Throws a StackOverflowError, from below the limit. The reserve is for making it; should that
    /// go too deep as well, there is no limit any more, and the rest is for the error about that.
    pub(crate) fn throw_stack_overflow(&self) {
        let context = self.context();
        let last = self.stack_low.load(Ordering::Relaxed) + STACK_LAST_BYTES;
        let before = context.stack_limit();
        context.set_stack_limit(if before > last { last } else { 0 });
        let _ = self.throw_plain("java/lang/StackOverflowError");
        context.set_stack_limit(before);
    }

    /// Throws a new exception with message and cause.
    pub(crate) fn throw_with(
        &self,
        class_name: &str,
        message: Option<&str>,
        cause: ObjectRef,
    ) -> Thrown {
        self.throw_holding(Holds::Any, class_name, message, cause)
    }

    /// As [`Self::throw_with`]; `holds` says what the callers up to the last managed frame hold
    /// meanwhile.
    fn throw_holding(
        &self,
        holds: Holds,
        class_name: &str,
        message: Option<&str>,
        cause: ObjectRef,
    ) -> Thrown {
        if !stage::is_up_to(Stage::Classes) {
            fatal(&format!("{class_name} at start: {message:?}"));
        }
        saved::clear_stack_below();
        let class = match loader::find_boot(self, Symbol::new(class_name.as_bytes())) {
            Ok(Some(class)) => class,
            // Out of memory: that is what is thrown then.
            Err(thrown) => return thrown,
            Ok(None) => fatal(&format!("the class library has no {class_name}")),
        };
        let scope = self.scope();
        let cause = scope.hold(cause);
        match self.new_throwable(holds, class, message) {
            Ok(exception) => {
                if !cause.is_null() {
                    exception.put_ref(known().throwable_cause, cause);
                }
                self.set_exception(exception)
            }
            Err(thrown) => thrown,
        }
    }

    fn new_throwable(
        &self,
        holds: Holds,
        class: &'static Class,
        message: Option<&str>,
    ) -> Result<ObjectRef, Thrown> {
        class.initialize_holding(self, holds)?;
        let scope = self.scope();
        let text = match message {
            Some(text) => Some(scope.hold(string::new_string_holding(self, holds, text)?)),
            None => None,
        };
        let object = scope.hold(heap_binding::new_object_holding(self, holds, class)?);
        let descriptor = if text.is_some() {
            "(Ljava/lang/String;)V"
        } else {
            "()V"
        };
        if let Some(constructor) = class.method_named("<init>", descriptor) {
            let words = [object].into_iter().chain(text);
            let words: Vec<u64> = words.map(|it| it.0.into()).collect();
            self.call_holding(holds, constructor, &words)?;
        }
        Ok(object)
    }

    /// Throws OutOfMemoryError: a new one with its trace if there is room for that, else the one
    /// kept for this.
    pub(crate) fn throw_out_of_memory(&self, message: &str) -> Thrown {
        self.throw_out_of_memory_holding(Holds::Any, message)
    }

    /// As [`Self::throw_out_of_memory`]; `holds` says what the callers up to the last managed frame
    /// hold meanwhile.
    pub(crate) fn throw_out_of_memory_holding(&self, holds: Holds, message: &str) -> Thrown {
        let is_ready = stage::is_up_to(Stage::Ready);
        if is_ready && !self.is_out_of_memory.replace(true) {
            let class = "java/lang/OutOfMemoryError";
            let thrown = self.throw_holding(holds, class, Some(message), ObjectRef::NULL);
            self.is_out_of_memory.set(false);
            return thrown;
        }
        match stage::out_of_memory_error() {
            Some(error) => self.set_exception(error),
            None => fatal(&format!("java.lang.OutOfMemoryError at start: {message}")),
        }
    }

    /// An array class made if need be.
    pub(crate) fn array_class(&self, element: &'static Class) -> Result<&'static Class, Thrown> {
        define::array_of(self, element)
    }
}
