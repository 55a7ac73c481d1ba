// SPDX-License-Identifier: Apache-2.0
//! The JVM as safe functions: [`Env`] is what a native method is called with, [`Global`] a
//! reference that stays.
//!
//! Every call goes through the function table of JNI 1.6. Local references live until the native
//! method returns.

use std::ffi::{CStr, CString, c_void};
use std::sync::OnceLock;

use jni_sys::{
    JNI_OK, JNI_VERSION_1_6, JNIEnv, JNINativeMethod, JavaVM, jbyteArray, jclass, jint, jintArray,
    jlong, jobject, jobjectArray, jsize, jstring,
};

/// The calling thread's environment; only the JVM makes one, as the first argument of a native
/// method.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub(crate) struct Env(*mut JNIEnv);

/// The machine we were loaded into.
struct Machine(*mut JavaVM);

// SAFETY:
// 1. A JavaVM pointer is valid in every thread for the life of the process (JNI specification,
//    "Invocation API").
unsafe impl Send for Machine {}
// SAFETY: as above; its functions are re-entrant.
unsafe impl Sync for Machine {}

static MACHINE: OnceLock<Machine> = OnceLock::new();

#[unsafe(no_mangle)]
extern "system" fn JNI_OnLoad(machine: *mut JavaVM, _reserved: *mut core::ffi::c_void) -> jint {
    MACHINE.get_or_init(|| Machine(machine));
    // A template starts no thread: each of its copies prepares its own.
    if !crate::template::is_template() {
        rt::lines::prepare();
    }
    JNI_VERSION_1_6
}

/// The machine we were loaded into; none before that.
pub(crate) fn machine() -> Option<*mut JavaVM> {
    Some(MACHINE.get()?.0)
}

/// Calls a function of the table.
macro_rules! jni {
    ($env:expr, $function:ident $(, $argument:expr)*) => {{
        let env = $env.0;
        // SAFETY:
        // 1. `env` came from the JVM for this thread and this call: `Env` has no other source.
        // 2. The table of version 1.6 is there: JNI_OnLoad asked for it.
        // 3. References in the arguments are this thread's locals, or globals: see the callers'
        //    types.
        unsafe { ((**env).v1_6.$function)(env $(, $argument)*) }
    }};
}

mod ids;

pub(crate) use ids::{Field, Method, attach};

impl Env {
    /// The environment of the calling thread, if it is a Java thread.
    pub(crate) fn current() -> Option<Self> {
        let machine = MACHINE.get()?.0;
        let mut env = core::ptr::null_mut();
        // SAFETY:
        // 1. `machine` is valid: see `Machine`.
        // 2. GetEnv writes one pointer to where it is told.
        let outcome = unsafe { ((**machine).v1_2.GetEnv)(machine, &raw mut env, JNI_VERSION_1_6) };
        (outcome == JNI_OK).then_some(Self(env.cast()))
    }

    /// # Safety
    ///
    /// The environment must be the calling thread's own, of a native method that has not returned.
    pub(crate) unsafe fn from_raw(env: *mut JNIEnv) -> Self {
        Self(env)
    }

    pub(crate) fn as_raw(self) -> *mut JNIEnv {
        self.0
    }

    /// Text as UTF-16 units; none for null.
    pub(crate) fn utf16(self, text: jstring) -> Option<Vec<u16>> {
        if text.is_null() {
            return None;
        }
        let count = jni!(self, GetStringLength, text);
        let mut units = vec![0; count as usize];
        // The region is exactly the string, so no exception can be pending afterwards.
        jni!(self, GetStringRegion, text, 0, count, units.as_mut_ptr());
        Some(units)
    }

    /// Text; unpaired surrogates become U+FFFD.
    pub(crate) fn text(self, text: jstring) -> Option<String> {
        Some(String::from_utf16_lossy(&self.utf16(text)?))
    }

    pub(crate) fn string(self, units: &[u16]) -> jstring {
        jni!(self, NewString, units.as_ptr(), units.len() as jsize)
    }

    pub(crate) fn string_of(self, text: &str) -> jstring {
        self.string(&text.encode_utf16().collect::<Vec<_>>())
    }

    /// `count` bytes of an array from `offset`; none, and an exception is pending, if they are not
    /// there.
    pub(crate) fn bytes(self, array: jbyteArray, offset: jint, count: jint) -> Option<Vec<u8>> {
        let length = jni!(self, GetArrayLength, array);
        let end = offset.checked_add(count);
        let is_inside = 0 <= offset && 0 <= count && end.is_some_and(|it| it <= length);
        if !is_inside {
            let text = format!("{count} bytes from {offset} of {length}");
            self.throw("java/lang/ArrayIndexOutOfBoundsException", &text);
            return None;
        }
        let mut bytes = vec![0u8; count as usize];
        jni!(
            self,
            GetByteArrayRegion,
            array,
            offset,
            count,
            bytes.as_mut_ptr().cast()
        );
        Some(bytes)
    }

    /// Bytes of an array from `offset`; an exception is pending if they are not there.
    pub(crate) fn copy_bytes(self, array: jbyteArray, offset: jint, into: &mut [u8]) {
        let (count, first) = (into.len() as jsize, into.as_mut_ptr().cast());
        jni!(self, GetByteArrayRegion, array, offset, count, first);
    }

    /// The same of an array of shorts.
    pub(crate) fn copy_shorts(self, array: jni_sys::jshortArray, offset: jint, into: &mut [i16]) {
        let (count, first) = (into.len() as jsize, into.as_mut_ptr());
        jni!(self, GetShortArrayRegion, array, offset, count, first);
    }

    /// The same of an array of floats.
    pub(crate) fn copy_floats(self, array: jni_sys::jfloatArray, offset: jint, into: &mut [f32]) {
        let (count, first) = (into.len() as jsize, into.as_mut_ptr());
        jni!(self, GetFloatArrayRegion, array, offset, count, first);
    }

    /// Writes shorts into an array from `offset` on; an exception is pending if it does not reach
    /// so far.
    pub(crate) fn write_shorts(self, array: jni_sys::jshortArray, offset: jint, shorts: &[i16]) {
        let count = shorts.len() as jsize;
        jni!(
            self,
            SetShortArrayRegion,
            array,
            offset,
            count,
            shorts.as_ptr()
        );
    }

    /// The same for an array of floats.
    pub(crate) fn write_floats(self, array: jni_sys::jfloatArray, offset: jint, floats: &[f32]) {
        let count = floats.len() as jsize;
        jni!(
            self,
            SetFloatArrayRegion,
            array,
            offset,
            count,
            floats.as_ptr()
        );
    }

    /// A new array, or null with OutOfMemoryError pending.
    pub(crate) fn byte_array(self, bytes: &[u8]) -> jbyteArray {
        let array = jni!(self, NewByteArray, bytes.len() as jsize);
        if !array.is_null() {
            self.fill(array, bytes);
        }
        array
    }

    pub(crate) fn array_length(self, array: jbyteArray) -> jint {
        jni!(self, GetArrayLength, array)
    }

    /// Writes the array's first bytes; it must be long enough.
    pub(crate) fn fill(self, array: jbyteArray, bytes: &[u8]) {
        let count = bytes.len() as jsize;
        jni!(
            self,
            SetByteArrayRegion,
            array,
            0,
            count,
            bytes.as_ptr().cast()
        );
    }

    /// Writes into an array from `offset` on; an exception is pending if it does not reach so far.
    pub(crate) fn write_bytes(self, array: jbyteArray, offset: jint, bytes: &[u8]) {
        let count = bytes.len() as jsize;
        jni!(
            self,
            SetByteArrayRegion,
            array,
            offset,
            count,
            bytes.as_ptr().cast()
        );
    }

    /// Sets int fields of an object, by name; its class must have them.
    pub(crate) fn set_int_fields(self, object: jobject, fields: &[(&CStr, jint)]) {
        let class = jni!(self, GetObjectClass, object);
        for (name, value) in fields {
            let field = jni!(self, GetFieldID, class, name.as_ptr(), c"I".as_ptr());
            jni!(self, SetIntField, object, field, *value);
        }
    }

    /// An int field of an object; none for null.
    pub(crate) fn int_field(self, object: jobject, name: &CStr) -> Option<jint> {
        if object.is_null() {
            return None;
        }
        let class = jni!(self, GetObjectClass, object);
        let field = jni!(self, GetFieldID, class, name.as_ptr(), c"I".as_ptr());
        Some(jni!(self, GetIntField, object, field))
    }

    /// A static field that holds an object; null, and an exception is pending, if there is none.
    pub(crate) fn static_object(self, class: jclass, name: &CStr, signature: &CStr) -> jobject {
        let (name, signature) = (name.as_ptr(), signature.as_ptr());
        let field = jni!(self, GetStaticFieldID, class, name, signature);
        if field.is_null() {
            return core::ptr::null_mut();
        }
        jni!(self, GetStaticObjectField, class, field)
    }

    /// A field of an object that holds an object; null for null.
    pub(crate) fn object_field(self, object: jobject, name: &CStr, signature: &CStr) -> jobject {
        if object.is_null() {
            return object;
        }
        let class = jni!(self, GetObjectClass, object);
        let field = jni!(self, GetFieldID, class, name.as_ptr(), signature.as_ptr());
        jni!(self, GetObjectField, object, field)
    }

    /// A long field of an object, which its class must have; 0 for null.
    pub(crate) fn long_field(self, object: jobject, name: &CStr) -> jlong {
        if object.is_null() {
            return 0;
        }
        let class = jni!(self, GetObjectClass, object);
        let field = jni!(self, GetFieldID, class, name.as_ptr(), c"J".as_ptr());
        jni!(self, GetLongField, object, field)
    }

    /// Sets a long field of an object, which its class must have.
    pub(crate) fn set_long_field(self, object: jobject, name: &CStr, value: jlong) {
        let class = jni!(self, GetObjectClass, object);
        let field = jni!(self, GetFieldID, class, name.as_ptr(), c"J".as_ptr());
        jni!(self, SetLongField, object, field, value);
    }

    /// A float field of an object, which its class must have.
    pub(crate) fn float_field(self, object: jobject, name: &CStr) -> f32 {
        let class = jni!(self, GetObjectClass, object);
        let field = jni!(self, GetFieldID, class, name.as_ptr(), c"F".as_ptr());
        jni!(self, GetFloatField, object, field)
    }

    /// A short field of an object, which its class must have.
    pub(crate) fn short_field(self, object: jobject, name: &CStr) -> jni_sys::jshort {
        let class = jni!(self, GetObjectClass, object);
        let field = jni!(self, GetFieldID, class, name.as_ptr(), c"S".as_ptr());
        jni!(self, GetShortField, object, field)
    }

    /// Sets a short field of an object, which its class must have.
    pub(crate) fn set_short_field(self, object: jobject, name: &CStr, value: jni_sys::jshort) {
        let class = jni!(self, GetObjectClass, object);
        let field = jni!(self, GetFieldID, class, name.as_ptr(), c"S".as_ptr());
        jni!(self, SetShortField, object, field, value);
    }

    /// Sets a field of an object that holds an object; its class must have it.
    pub(crate) fn set_object_field(
        self,
        object: jobject,
        name: &CStr,
        signature: &CStr,
        value: jobject,
    ) {
        let class = jni!(self, GetObjectClass, object);
        let field = jni!(self, GetFieldID, class, name.as_ptr(), signature.as_ptr());
        jni!(self, SetObjectField, object, field, value);
    }

    /// Sets a boolean field of an object, which its class must have.
    pub(crate) fn set_boolean_field(self, object: jobject, name: &CStr, value: bool) {
        let class = jni!(self, GetObjectClass, object);
        let field = jni!(self, GetFieldID, class, name.as_ptr(), c"Z".as_ptr());
        jni!(self, SetBooleanField, object, field, value);
    }

    /// Elements of an array of objects.
    pub(crate) fn objects(self, array: jobjectArray) -> Vec<jobject> {
        let count = jni!(self, GetArrayLength, array);
        (0..count)
            .map(|index| jni!(self, GetObjectArrayElement, array, index))
            .collect()
    }

    /// Writes an array's first longs; an exception is pending if it is shorter.
    pub(crate) fn write_longs(self, array: jni_sys::jlongArray, longs: &[jlong]) {
        let count = longs.len() as jsize;
        jni!(self, SetLongArrayRegion, array, 0, count, longs.as_ptr());
    }

    /// All longs of an array.
    pub(crate) fn longs(self, array: jni_sys::jlongArray) -> Vec<jlong> {
        let count = jni!(self, GetArrayLength, array);
        let mut longs = vec![0; count as usize];
        jni!(
            self,
            GetLongArrayRegion,
            array,
            0,
            count,
            longs.as_mut_ptr()
        );
        longs
    }

    /// A new array of these; null, and an exception is pending, without memory for it.
    pub(crate) fn long_array(self, longs: &[jlong]) -> jni_sys::jlongArray {
        let array = jni!(self, NewLongArray, longs.len() as jsize);
        if !array.is_null() {
            self.write_longs(array, longs);
        }
        array
    }

    /// Where a direct buffer's memory lies, and how much it is; none for other objects.
    pub(crate) fn direct_buffer(self, buffer: jobject) -> Option<(*mut u8, usize)> {
        let start: *mut c_void = jni!(self, GetDirectBufferAddress, buffer);
        let size = jni!(self, GetDirectBufferCapacity, buffer);
        let size = usize::try_from(size).ok()?;
        (!start.is_null()).then_some((start.cast(), size))
    }

    /// Bytes of a direct buffer from `offset`, as far as it reaches; none of another object.
    pub(crate) fn copy_direct(self, buffer: jobject, offset: usize, into: &mut [u8]) {
        let Some((start, size)) = self.direct_buffer(buffer) else {
            return;
        };
        let count = into.len().min(size.saturating_sub(offset));
        if count > 0 {
            // SAFETY:
            // 1. The buffer's memory lives as long as the buffer, which the caller's reference
            //    keeps; `offset + count` is at most its size.
            // 2. `into` is a slice of at least `count` bytes, and no buffer's memory: it is ours.
            // 3. Others may write to the buffer meanwhile: bytes are copied, and nothing is
            //    concluded from them.
            unsafe {
                start
                    .add(offset)
                    .copy_to_nonoverlapping(into.as_mut_ptr(), count);
            }
        }
    }

    /// Writes bytes into a direct buffer from `offset` on, as far as it reaches; nothing happens to
    /// another object.
    pub(crate) fn write_direct(self, buffer: jobject, offset: usize, bytes: &[u8]) {
        let Some((start, size)) = self.direct_buffer(buffer) else {
            return;
        };
        let count = bytes.len().min(size.saturating_sub(offset));
        if count > 0 {
            // SAFETY:
            // 1. to 3. As in `copy_direct`, the other way round: who gives a buffer to be filled
            //    gives it to be written to.
            unsafe {
                start
                    .add(offset)
                    .copy_from_nonoverlapping(bytes.as_ptr(), count);
            }
        }
    }

    /// Calls an object's method that answers an int; an exception may be pending afterwards.
    pub(crate) fn call_int(self, object: jobject, name: &CStr) -> jint {
        let class = jni!(self, GetObjectClass, object);
        let method = jni!(self, GetMethodID, class, name.as_ptr(), c"()I".as_ptr());
        if method.is_null() {
            return 0;
        }
        jni!(self, CallIntMethodA, object, method, core::ptr::null())
    }

    /// Calls an object's method that answers an object; an exception may be pending afterwards.
    pub(crate) fn call_object(self, object: jobject, name: &CStr, signature: &CStr) -> jobject {
        let class = jni!(self, GetObjectClass, object);
        let method = jni!(self, GetMethodID, class, name.as_ptr(), signature.as_ptr());
        if method.is_null() {
            return core::ptr::null_mut();
        }
        jni!(self, CallObjectMethodA, object, method, core::ptr::null())
    }

    /// Adds to a java.util.Collection; an exception may be pending afterwards.
    pub(crate) fn add_to(self, collection: jobject, element: jobject) {
        let class = jni!(self, GetObjectClass, collection);
        let (name, signature) = (c"add".as_ptr(), c"(Ljava/lang/Object;)Z".as_ptr());
        let method = jni!(self, GetMethodID, class, name, signature);
        if !method.is_null() {
            let argument = jni_sys::jvalue { l: element };
            jni!(
                self,
                CallBooleanMethodA,
                collection,
                method,
                &raw const argument
            );
        }
    }

    /// Is it an object of the class? Null is of none.
    pub(crate) fn is_instance(self, object: jobject, class: &str) -> bool {
        let Some(class) = self.find_class(class).filter(|_| !object.is_null()) else {
            return false;
        };
        jni!(self, IsInstanceOf, object, class)
    }

    /// All ints of an array.
    pub(crate) fn ints(self, array: jintArray) -> Vec<jint> {
        let count = jni!(self, GetArrayLength, array);
        let mut ints = vec![0; count as usize];
        jni!(self, GetIntArrayRegion, array, 0, count, ints.as_mut_ptr());
        ints
    }

    /// A new array of these; null, and an exception is pending, without memory for it.
    pub(crate) fn int_array(self, ints: &[jint]) -> jintArray {
        let array = jni!(self, NewIntArray, ints.len() as jsize);
        if !array.is_null() {
            self.write_ints(array, ints);
        }
        array
    }

    /// Writes an array's first ints; an exception is pending if it is shorter.
    pub(crate) fn write_ints(self, array: jintArray, ints: &[jint]) {
        let count = ints.len() as jsize;
        jni!(self, SetIntArrayRegion, array, 0, count, ints.as_ptr());
    }

    /// All floats of an array.
    pub(crate) fn floats(self, array: jni_sys::jfloatArray) -> Vec<f32> {
        let count = jni!(self, GetArrayLength, array);
        let mut floats = vec![0.0; count as usize];
        let first = floats.as_mut_ptr();
        jni!(self, GetFloatArrayRegion, array, 0, count, first);
        floats
    }

    /// All texts of an array; one that is null is empty.
    pub(crate) fn texts(self, array: jobjectArray) -> Vec<String> {
        let count = jni!(self, GetArrayLength, array);
        let text = |index| {
            let text = jni!(self, GetObjectArrayElement, array, index);
            self.text(text).unwrap_or_default()
        };
        (0..count).map(text).collect()
    }

    /// Calls an object's method that answers nothing; an exception may be pending afterwards.
    pub(crate) fn call_void(
        self,
        object: jobject,
        name: &CStr,
        signature: &CStr,
        arguments: &[jni_sys::jvalue],
    ) {
        let class = jni!(self, GetObjectClass, object);
        let method = jni!(self, GetMethodID, class, name.as_ptr(), signature.as_ptr());
        self.delete_local(class);
        if !method.is_null() {
            jni!(self, CallVoidMethodA, object, method, arguments.as_ptr());
        }
    }

    /// For a native method that stays: its local references would be kept as long.
    pub(crate) fn delete_local(self, object: jobject) {
        jni!(self, DeleteLocalRef, object);
    }

    /// Sets a class's static int field.
    pub(crate) fn set_static_int(self, class: jclass, name: &CStr, value: jint) {
        let field = jni!(self, GetStaticFieldID, class, name.as_ptr(), c"I".as_ptr());
        if !field.is_null() {
            jni!(self, SetStaticIntField, class, field, value);
        }
    }

    /// A new object by the constructor without arguments; null, and an exception is pending, if
    /// that fails.
    pub(crate) fn new_object(self, class: &str) -> jobject {
        self.new_object_with(class, c"()V", &[])
    }

    /// A new object by a constructor; null, and an exception is pending, if that fails.
    pub(crate) fn new_object_with(
        self,
        class: &str,
        signature: &CStr,
        arguments: &[jni_sys::jvalue],
    ) -> jobject {
        let Some(class) = self.find_class(class) else {
            return core::ptr::null_mut();
        };
        let name = c"<init>".as_ptr();
        let constructor = jni!(self, GetMethodID, class, name, signature.as_ptr());
        if constructor.is_null() {
            return core::ptr::null_mut();
        }
        jni!(self, NewObjectA, class, constructor, arguments.as_ptr())
    }

    /// Throws the ErrnoException of a system call's last error.
    pub(crate) fn throw_errno(self, call: &str) {
        let error = std::io::Error::last_os_error()
            .raw_os_error()
            .unwrap_or_default();
        self.throw_errno_of(call, error);
    }

    /// Throws an ErrnoException.
    pub(crate) fn throw_errno_of(self, call: &str, error: jint) {
        let arguments = [
            jni_sys::jvalue {
                l: self.string_of(call),
            },
            jni_sys::jvalue { i: error },
        ];
        let class = "android/system/ErrnoException";
        let exception = self.new_object_with(class, c"(Ljava/lang/String;I)V", &arguments);
        if !exception.is_null() {
            jni!(self, Throw, exception);
        }
    }

    pub(crate) fn string_array(self, texts: &[String]) -> jobjectArray {
        let texts: Vec<jobject> = texts.iter().map(|it| self.string_of(it)).collect();
        self.object_array("java/lang/String", &texts)
    }

    /// An array of a class with these elements; null, and an exception is pending, if that fails.
    pub(crate) fn object_array(self, class: &str, elements: &[jobject]) -> jobjectArray {
        let Some(class) = self.find_class(class) else {
            return core::ptr::null_mut();
        };
        let count = elements.len() as jsize;
        let array = jni!(self, NewObjectArray, count, class, core::ptr::null_mut());
        if array.is_null() {
            return array;
        }
        for (index, element) in elements.iter().enumerate() {
            jni!(self, SetObjectArrayElement, array, index as jsize, *element);
        }
        array
    }

    /// An array of `length` elements of a class, zeroed: `java.lang.reflect.Array.newInstance`.
    pub(crate) fn new_array(self, class: jclass, length: jint) -> jobject {
        let arguments = [jni_sys::jvalue { l: class }, jni_sys::jvalue { i: length }];
        self.call_static(
            "java/lang/reflect/Array",
            c"newInstance",
            c"(Ljava/lang/Class;I)Ljava/lang/Object;",
            &arguments,
        )
    }

    /// Calls a static method that answers an object; null, and an exception is pending, if that
    /// fails.
    pub(crate) fn call_static(
        self,
        class: &str,
        name: &CStr,
        signature: &CStr,
        arguments: &[jni_sys::jvalue],
    ) -> jobject {
        let Some((class, method)) = self.find_static_method(class, name, signature) else {
            return core::ptr::null_mut();
        };
        let arguments = arguments.as_ptr();
        jni!(self, CallStaticObjectMethodA, class, method, arguments)
    }

    /// The same for one that answers a long: zero if that fails.
    pub(crate) fn call_static_long(
        self,
        class: &str,
        name: &CStr,
        signature: &CStr,
        arguments: &[jni_sys::jvalue],
    ) -> jlong {
        let Some((class, method)) = self.find_static_method(class, name, signature) else {
            return 0;
        };
        let arguments = arguments.as_ptr();
        jni!(self, CallStaticLongMethodA, class, method, arguments)
    }

    /// The same for one that answers nothing.
    pub(crate) fn call_static_void(
        self,
        class: &str,
        name: &CStr,
        signature: &CStr,
        arguments: &[jni_sys::jvalue],
    ) {
        if let Some((class, method)) = self.find_static_method(class, name, signature) {
            let arguments = arguments.as_ptr();
            jni!(self, CallStaticVoidMethodA, class, method, arguments);
        }
    }

    fn find_static_method(
        self,
        class: &str,
        name: &CStr,
        signature: &CStr,
    ) -> Option<(jclass, jni_sys::jmethodID)> {
        let class = self.find_class(class)?;
        let (name, signature) = (name.as_ptr(), signature.as_ptr());
        let method = jni!(self, GetStaticMethodID, class, name, signature);
        (!method.is_null()).then_some((class, method))
    }

    /// A class by its binary name, which is not initialised; null, and an exception is pending, if
    /// there is none.
    pub(crate) fn class_for_name(self, name: &str, loader: jobject) -> jclass {
        let arguments = [
            jni_sys::jvalue {
                l: self.string_of(name),
            },
            jni_sys::jvalue { z: false },
            jni_sys::jvalue { l: loader },
        ];
        self.call_static(
            "java/lang/Class",
            c"forName",
            c"(Ljava/lang/String;ZLjava/lang/ClassLoader;)Ljava/lang/Class;",
            &arguments,
        )
    }

    /// A class's binary name.
    pub(crate) fn name_of(self, class: jclass) -> String {
        let of = jni!(self, GetObjectClass, class);
        let (name, signature) = (c"getName".as_ptr(), c"()Ljava/lang/String;".as_ptr());
        let method = jni!(self, GetMethodID, of, name, signature);
        let name = jni!(self, CallObjectMethodA, class, method, core::ptr::null());
        self.text(name).unwrap_or_default()
    }

    /// The binary name of an object's class.
    pub(crate) fn class_name(self, object: jobject) -> String {
        self.name_of(jni!(self, GetObjectClass, object))
    }

    /// Gives a class a native method; false if it declares no such method.
    pub(crate) fn register_native(
        self,
        class: jclass,
        name: &CStr,
        signature: &str,
        function: *mut c_void,
    ) -> bool {
        let Ok(signature) = CString::new(signature) else {
            return false;
        };
        let method = JNINativeMethod {
            name: name.as_ptr().cast_mut(),
            signature: signature.as_ptr().cast_mut(),
            fnPtr: function,
        };
        let outcome = jni!(self, RegisterNatives, class, &raw const method, 1);
        if self.is_exception_pending() {
            jni!(self, ExceptionClear);
            return false;
        }
        outcome == JNI_OK
    }

    /// Where the elements of an array of numbers lie; zero for null.
    pub(crate) fn address_of(self, array: jobject) -> jlong {
        if array.is_null() {
            return 0;
        }
        let elements = jni!(
            self,
            GetPrimitiveArrayCritical,
            array,
            core::ptr::null_mut()
        );
        jni!(self, ReleasePrimitiveArrayCritical, array, elements, 0);
        elements.expose_provenance() as jlong
    }

    pub(crate) fn is_exception_pending(self) -> bool {
        jni!(self, ExceptionCheck)
    }

    /// Throws unless something is thrown already.
    pub(crate) fn throw(self, class: &str, text: &str) {
        if self.is_exception_pending() {
            return;
        }
        let Some(class) = self.find_class(class) else {
            return;
        };
        let text = CString::new(text.replace('\0', " ")).unwrap_or_default();
        jni!(self, ThrowNew, class, text.as_ptr());
    }

    /// Throws what says by name that something is not there yet.
    pub(crate) fn throw_unsupported(self, what: &str) {
        self.throw(
            "java/lang/UnsupportedOperationException",
            &format!("{what} is not supported by Takt yet"),
        );
    }

    fn find_class(self, name: &str) -> Option<jclass> {
        let name = CString::new(name).ok()?;
        let class = jni!(self, FindClass, name.as_ptr());
        (!class.is_null()).then_some(class)
    }
}

/// A reference that keeps its object until it is dropped.
pub(crate) struct Global(jobject);

// SAFETY:
// 1. Global references are valid in every thread (JNI specification, "Global and Local
//    References").
unsafe impl Send for Global {}
// SAFETY: as above; reading it does not change it.
unsafe impl Sync for Global {}

impl Global {
    /// None for null, and if the JVM has no memory for it.
    pub(crate) fn new(env: Env, object: jobject) -> Option<Self> {
        if object.is_null() {
            return None;
        }
        let global = jni!(env, NewGlobalRef, object);
        (!global.is_null()).then_some(Self(global))
    }

    pub(crate) fn local(&self, env: Env) -> jobject {
        jni!(env, NewLocalRef, self.0)
    }
}

impl Drop for Global {
    fn drop(&mut self) {
        // A thread that is no Java thread cannot release it; ours drop in native methods only.
        if let Some(env) = Env::current() {
            jni!(env, DeleteGlobalRef, self.0);
        }
    }
}
