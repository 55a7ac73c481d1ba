// SPDX-License-Identifier: Apache-2.0
//! Classes, methods and fields that are looked up once, and calls by them: for what happens at each
//! transaction. And threads of ours that become the machine's.

use std::cell::RefCell;
use std::ffi::CStr;

use jni_sys::{JNI_OK, jboolean, jfieldID, jint, jlong, jmethodID, jobject, jvalue};

use super::{Env, Global, MACHINE};

/// A method of a class that a [`Global`] keeps.
#[derive(Clone, Copy)]
pub(crate) struct Method(jmethodID);

/// A field of a class that a [`Global`] keeps.
#[derive(Clone, Copy)]
pub(crate) struct Field(jfieldID);

// SAFETY:
// 1. Identifiers are valid in every thread while their class is (JNI specification, "Accessing
//    Fields and Methods").
unsafe impl Send for Method {}
// SAFETY: as above; nothing is written through one.
unsafe impl Sync for Method {}
// SAFETY: as for methods.
unsafe impl Send for Field {}
// SAFETY: as for methods.
unsafe impl Sync for Field {}

impl Env {
    /// A class that stays; none, and an exception is pending, if there is none of that name.
    pub(crate) fn class(self, name: &str) -> Option<Global> {
        Global::new(self, self.find_class(name)?)
    }

    /// None, and an exception is pending, if there is none.
    pub(crate) fn method(self, class: &Global, name: &CStr, signature: &CStr) -> Option<Method> {
        let found = jni!(
            self,
            GetMethodID,
            class.0,
            name.as_ptr(),
            signature.as_ptr()
        );
        (!found.is_null()).then_some(Method(found))
    }

    /// As [`Self::method`].
    pub(crate) fn static_method(
        self,
        class: &Global,
        name: &CStr,
        signature: &CStr,
    ) -> Option<Method> {
        let (name, signature) = (name.as_ptr(), signature.as_ptr());
        let found = jni!(self, GetStaticMethodID, class.0, name, signature);
        (!found.is_null()).then_some(Method(found))
    }

    /// As [`Self::method`].
    pub(crate) fn long_field_id(self, class: &Global, name: &CStr) -> Option<Field> {
        let found = jni!(self, GetFieldID, class.0, name.as_ptr(), c"J".as_ptr());
        (!found.is_null()).then_some(Field(found))
    }

    /// Null is of no class.
    pub(crate) fn is_of(self, object: jobject, class: &Global) -> bool {
        !object.is_null() && jni!(self, IsInstanceOf, object, class.0)
    }

    /// Of an object that has the field.
    pub(crate) fn long_of(self, object: jobject, field: Field) -> jlong {
        jni!(self, GetLongField, object, field.0)
    }

    /// Calls a method of an object of its class; an exception may be pending afterwards.
    pub(crate) fn call_boolean(
        self,
        object: &Global,
        method: Method,
        arguments: &[jvalue],
    ) -> jboolean {
        jni!(
            self,
            CallBooleanMethodA,
            object.0,
            method.0,
            arguments.as_ptr()
        )
    }

    /// Calls a method that gives text, as [`Self::call_boolean`].
    pub(crate) fn call_text(self, object: &Global, method: Method) -> Option<String> {
        let none = core::ptr::null();
        let text = jni!(self, CallObjectMethodA, object.0, method.0, none);
        self.text(text)
    }

    /// Calls a static method of its class; an exception may be pending afterwards.
    pub(crate) fn call_static_of(
        self,
        class: &Global,
        method: Method,
        arguments: &[jvalue],
    ) -> jobject {
        jni!(
            self,
            CallStaticObjectMethodA,
            class.0,
            method.0,
            arguments.as_ptr()
        )
    }

    /// As [`Self::call_static_of`], without an answer.
    pub(crate) fn call_static_void_of(self, class: &Global, method: Method, arguments: &[jvalue]) {
        jni!(
            self,
            CallStaticVoidMethodA,
            class.0,
            method.0,
            arguments.as_ptr()
        );
    }

    /// What is thrown, which is then no longer pending; null if nothing is.
    pub(crate) fn take_exception(self) -> jobject {
        let exception = jni!(self, ExceptionOccurred);
        if !exception.is_null() {
            jni!(self, ExceptionClear);
        }
        exception
    }

    /// Runs `work` and lets its local references go: for threads that never return to Java.
    pub(crate) fn framed<T>(self, references: jint, work: impl FnOnce() -> T) -> T {
        let is_pushed = jni!(self, PushLocalFrame, references) == JNI_OK;
        let value = work();
        if is_pushed {
            jni!(self, PopLocalFrame, core::ptr::null_mut());
        }
        value
    }

    /// A buffer of bytes at an address, which must stay as long as the buffer; null, and an
    /// exception is pending, if that fails.
    pub(crate) fn new_direct_buffer(self, place: jlong, size: jlong) -> jobject {
        let place = core::ptr::with_exposed_provenance_mut(place as usize);
        jni!(self, NewDirectByteBuffer, place, size)
    }

    /// Where a direct buffer begins; zero for another.
    pub(crate) fn direct_address(self, buffer: jobject) -> jlong {
        let place: *mut core::ffi::c_void = jni!(self, GetDirectBufferAddress, buffer);
        place.expose_provenance() as jlong
    }

    /// Whether both are the same object.
    pub(crate) fn is_same(self, left: &Global, right: jobject) -> bool {
        jni!(self, IsSameObject, left.0, right)
    }
}

/// Lets the machine go at the thread's end.
struct Attached;

thread_local! {
    static ATTACHED: RefCell<Option<Attached>> = const { RefCell::new(None) };
}

impl Drop for Attached {
    fn drop(&mut self) {
        if let Some(machine) = MACHINE.get() {
            // SAFETY:
            // 1. The machine is valid: see `Machine`.
            // 2. The thread was attached by `attach`, and no Java frame of it is left at its end.
            unsafe { ((**machine.0).v1_2.DetachCurrentThread)(machine.0) };
        }
    }
}

/// The calling thread, which is ours, becomes the machine's until it ends; nobody waits for it.
/// Nothing happens where the machine refuses: calls of the thread are refused then.
pub(crate) fn attach() {
    let Some(machine) = MACHINE.get() else {
        return;
    };
    let mut env = core::ptr::null_mut();
    // SAFETY:
    // 1. The machine is valid: see `Machine`.
    // 2. One pointer is written to where it is told; there are no arguments.
    let outcome = unsafe {
        let attach = (**machine.0).v1_4.AttachCurrentThreadAsDaemon;
        attach(machine.0, &raw mut env, core::ptr::null_mut())
    };
    if outcome == JNI_OK {
        ATTACHED.set(Some(Attached));
    }
}
