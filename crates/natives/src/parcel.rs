// SPDX-License-Identifier: Apache-2.0
//! android.os.Parcel: typed bytes with binders and file descriptors.

use std::cell::Cell;
use std::sync::Arc;

use jni_sys::{jboolean, jbyteArray, jclass, jint, jlong, jobject, jstring};

use ::parcel::Full;

use crate::binder::{binder_of, object_of};
use crate::env::Env;
use crate::handle::Handle;
use crate::linux::descriptors::{number, owned_copy, wrapped};

/// Begins every interface token: `SYST`.
const HEADER: i32 = 0x5359_5354;
/// No uid is blamed for the work.
const UNSET_WORK_SOURCE: i32 = -1;

type Data = crate::binder::Parcel;
type Parcel = Handle<Data>;

/// Java's status codes: 0, or "no memory".
fn status(outcome: Result<(), Full>) -> jint {
    match outcome {
        Ok(()) => 0,
        Err(Full) => -libc::ENOMEM,
    }
}

fn throw_if_full(env: Env, outcome: Result<(), Full>) {
    if outcome.is_err() {
        env.throw("java/lang/OutOfMemoryError", "the parcel is full");
    }
}

/// Java checks positions and sizes; a negative one is none.
fn size(number: jint) -> usize {
    usize::try_from(number).unwrap_or(0)
}

macro_rules! parcel {
    ($(fn $name:ident($env:ident, $parcel:ident $(, $argument:ident: $kind:ty)*) $(-> $result:ty)? $body:block)*) => { $(
        #[unsafe(no_mangle)]
        extern "system" fn $name($env: Env, _: jclass, mut $parcel: Parcel $(, $argument: $kind)*) $(-> $result)? {
            // A service may keep a parcel beyond its call: Java's object has no number then.
            let mut none = Data::new();
            let $parcel = if $parcel.is_null() {
                $env.throw("java/lang/NullPointerException", "the parcel is recycled");
                &mut none
            } else {
                $parcel.get_mut()
            };
            $body
        }
    )* };
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_os_Parcel_nativeCreate(_: Env, _: jclass) -> jlong {
    Parcel::new(Data::new()).into_java()
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_os_Parcel_nativeDestroy(_: Env, _: jclass, parcel: Parcel) {
    parcel.free();
}

parcel! {
    fn Java_android_os_Parcel_nativeFreeBuffer(env, parcel) { parcel.free(); }
    fn Java_android_os_Parcel_nativeDataSize(env, parcel) -> jint { parcel.size() as jint }
    fn Java_android_os_Parcel_nativeDataAvail(env, parcel) -> jint { parcel.available() as jint }
    fn Java_android_os_Parcel_nativeDataPosition(env, parcel) -> jint { parcel.position() as jint }
    fn Java_android_os_Parcel_nativeDataCapacity(env, parcel) -> jint { parcel.capacity() as jint }
    fn Java_android_os_Parcel_nativeSetDataSize(env, parcel, bytes: jint) {
        throw_if_full(env, parcel.set_size(size(bytes)));
    }
    fn Java_android_os_Parcel_nativeSetDataPosition(env, parcel, position: jint) {
        parcel.set_position(size(position));
    }
    fn Java_android_os_Parcel_nativeSetDataCapacity(env, parcel, bytes: jint) {
        parcel.reserve(size(bytes));
    }
    fn Java_android_os_Parcel_nativeWriteInt(env, parcel, value: jint) -> jint {
        status(parcel.write_i32(value))
    }
    fn Java_android_os_Parcel_nativeWriteLong(env, parcel, value: jlong) -> jint {
        status(parcel.write(&value.to_le_bytes()))
    }
    fn Java_android_os_Parcel_nativeWriteFloat(env, parcel, value: f32) -> jint {
        status(parcel.write(&value.to_le_bytes()))
    }
    fn Java_android_os_Parcel_nativeWriteDouble(env, parcel, value: f64) -> jint {
        status(parcel.write(&value.to_le_bytes()))
    }
    fn Java_android_os_Parcel_nativeReadInt(env, parcel) -> jint {
        parcel.read_i32().unwrap_or(0)
    }
    fn Java_android_os_Parcel_nativeReadLong(env, parcel) -> jlong {
        parcel.read_array().map_or(0, i64::from_le_bytes)
    }
    fn Java_android_os_Parcel_nativeReadFloat(env, parcel) -> f32 {
        parcel.read_array().map_or(0.0, f32::from_le_bytes)
    }
    fn Java_android_os_Parcel_nativeReadDouble(env, parcel) -> f64 {
        parcel.read_array().map_or(0.0, f64::from_le_bytes)
    }
    fn Java_android_os_Parcel_nativeWriteString16(env, parcel, text: jstring) {
        let outcome = parcel.write_utf16(env.utf16(text).as_deref());
        throw_if_full(env, outcome);
    }
    fn Java_android_os_Parcel_nativeReadString16(env, parcel) -> jstring {
        parcel.read_utf16().map_or(core::ptr::null_mut(), |it| env.string(&it))
    }
    fn Java_android_os_Parcel_nativeWriteString8(env, parcel, text: jstring) {
        let outcome = parcel.write_utf8(env.text(text).as_deref());
        throw_if_full(env, outcome);
    }
    fn Java_android_os_Parcel_nativeReadString8(env, parcel) -> jstring {
        parcel.read_utf8().map_or(core::ptr::null_mut(), |it| env.string_of(&it))
    }
    fn Java_android_os_Parcel_nativeWriteByteArray(
        env, parcel, array: jbyteArray, offset: jint, count: jint
    ) {
        write_blob(env, parcel, array, offset, count);
    }
    fn Java_android_os_Parcel_nativeWriteBlob(
        env, parcel, array: jbyteArray, offset: jint, count: jint
    ) {
        write_blob(env, parcel, array, offset, count);
    }
    fn Java_android_os_Parcel_nativeCreateByteArray(env, parcel) -> jbyteArray {
        parcel.read_blob().map_or(core::ptr::null_mut(), |it| env.byte_array(it))
    }
    fn Java_android_os_Parcel_nativeReadBlob(env, parcel) -> jbyteArray {
        parcel.read_blob().map_or(core::ptr::null_mut(), |it| env.byte_array(it))
    }
    fn Java_android_os_Parcel_nativeReadByteArray(
        env, parcel, array: jbyteArray, count: jint
    ) -> jboolean {
        let is_length_right = !array.is_null() && env.array_length(array) >= count;
        match parcel.read_blob() {
            Some(blob) if is_length_right && blob.len() == size(count) => {
                env.fill(array, blob);
                true
            }
            _ => false,
        }
    }
    fn Java_android_os_Parcel_nativeWriteStrongBinder(env, parcel, binder: jobject) {
        let binder = binder_of(env, binder);
        throw_if_full(env, parcel.write_binder(binder));
    }
    fn Java_android_os_Parcel_nativeReadStrongBinder(env, parcel) -> jobject {
        object_of(env, parcel.read_binder().ok().flatten())
    }
    fn Java_android_os_Parcel_nativeWriteFileDescriptor(env, parcel, fd: jobject) {
        if !ALLOWS_FDS.get() {
            env.throw("java/lang/RuntimeException", "Not allowed to write file descriptors here");
            return;
        }
        match owned_copy(number(env, fd)) {
            Ok(copy) => throw_if_full(env, parcel.write_fd(Arc::new(copy))),
            Err(error) => throw_fd(env, error),
        }
    }
    fn Java_android_os_Parcel_nativeReadFileDescriptor(env, parcel) -> jobject {
        let Ok(fd) = parcel.read_fd() else {
            return core::ptr::null_mut();
        };
        match fd.try_clone() {
            Ok(copy) => wrapped(env, Some(copy)),
            Err(error) => {
                throw_fd(env, error);
                core::ptr::null_mut()
            }
        }
    }
    fn Java_android_os_Parcel_nativeMarshall(env, parcel) -> jbyteArray {
        if parcel.has_objects() {
            env.throw("java/lang/RuntimeException", "a parcel with binders cannot be marshalled");
            return core::ptr::null_mut();
        }
        env.byte_array(parcel.bytes())
    }
    fn Java_android_os_Parcel_nativeUnmarshall(
        env, parcel, array: jbyteArray, offset: jint, count: jint
    ) {
        if let Some(bytes) = env.bytes(array, offset, count) {
            parcel.unmarshall(bytes);
        }
    }
    fn Java_android_os_Parcel_nativeHasFileDescriptors(env, parcel) -> jboolean {
        parcel.has_fds_within(0, parcel.size())
    }
    fn Java_android_os_Parcel_nativeHasFileDescriptorsInRange(
        env, parcel, offset: jint, count: jint
    ) -> jboolean {
        is_within(env, parcel, offset, count) && parcel.has_fds_within(size(offset), size(count))
    }
    fn Java_android_os_Parcel_nativeHasBinders(env, parcel) -> jboolean {
        parcel.has_binders_within(0, parcel.size())
    }
    fn Java_android_os_Parcel_nativeHasBindersInRange(
        env, parcel, offset: jint, count: jint
    ) -> jboolean {
        is_within(env, parcel, offset, count) && parcel.has_binders_within(size(offset), size(count))
    }
    fn Java_android_os_Parcel_nativeWriteInterfaceToken(env, parcel, name: jstring) {
        let name = env.utf16(name);
        let mut head = [0, UNSET_WORK_SOURCE, HEADER].into_iter();
        let outcome = head.try_for_each(|it| parcel.write_i32(it));
        throw_if_full(env, outcome.and_then(|()| parcel.write_utf16(name.as_deref())));
    }
    fn Java_android_os_Parcel_nativeEnforceInterface(env, parcel, name: jstring) {
        let head = [parcel.read_i32(), parcel.read_i32(), parcel.read_i32()];
        let found = parcel.read_utf16();
        if head[2] != Some(HEADER) || found != env.utf16(name) {
            env.throw("java/lang/SecurityException", "Binder invocation to an incorrect interface");
        }
    }
    fn Java_android_os_Parcel_nativeMarkSensitive(env, _parcel) {}
    fn Java_android_os_Parcel_nativeMarkForBinder(env, _parcel, _binder: jobject) {}
    fn Java_android_os_Parcel_nativeIsForRpc(env, _parcel) -> jboolean { false }
    fn Java_android_os_Parcel_nativePushAllowFds(env, _parcel, allow: jboolean) -> jboolean {
        ALLOWS_FDS.replace(ALLOWS_FDS.get() && allow)
    }
    fn Java_android_os_Parcel_nativeRestoreAllowFds(env, _parcel, last: jboolean) { ALLOWS_FDS.set(last); }
    fn Java_android_os_Parcel_nativeReplaceCallingWorkSourceUid(env, _parcel, _uid: jint) -> jboolean {
        true
    }
    fn Java_android_os_Parcel_nativeReadCallingWorkSourceUid(env, _parcel) -> jint { UNSET_WORK_SOURCE }
    fn Java_android_os_Parcel_nativeGetOpenAshmemSize(env, _parcel) -> jlong { 0 }
}

thread_local! {
    /// AOSP keeps it by parcel; its own Bundle is the only one who asks, around one write.
    static ALLOWS_FDS: Cell<bool> = const { Cell::new(true) };
}

/// A part that is not there throws.
fn is_within(env: Env, parcel: &Data, offset: jint, count: jint) -> bool {
    let is_within = size(offset).saturating_add(size(count)) <= parcel.size();
    if !is_within {
        let text = format!("{count} bytes from {offset} of {}", parcel.size());
        env.throw("java/lang/IllegalArgumentException", &text);
    }
    is_within
}

fn throw_fd(env: Env, error: std::io::Error) {
    let text = match error.raw_os_error() {
        Some(libc::EBADF) => "Bad file descriptor".to_owned(),
        Some(libc::EMFILE | libc::ENFILE) => "Too many open files".to_owned(),
        _ => error.to_string(),
    };
    env.throw("java/lang/RuntimeException", &text);
}

fn write_blob(env: Env, parcel: &mut Data, array: jbyteArray, offset: jint, count: jint) {
    if array.is_null() {
        throw_if_full(env, parcel.write_blob(None));
    } else if let Some(bytes) = env.bytes(array, offset, count) {
        throw_if_full(env, parcel.write_blob(Some(&bytes)));
    }
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_os_Parcel_nativeAppendFrom(
    env: Env,
    _: jclass,
    mut target: Parcel,
    mut source: Parcel,
    offset: jint,
    count: jint,
) {
    let (Ok(offset), Ok(count)) = (usize::try_from(offset), usize::try_from(count)) else {
        env.throw(
            "java/lang/IndexOutOfBoundsException",
            "negative offset or length",
        );
        return;
    };
    let outcome = if target.is_same(&source) {
        // One exclusive reference at a time: copy what is appended first.
        let mut copy = Data::new();
        let both = copy.append(target.get_mut(), offset, count);
        both.and_then(|()| target.get_mut().append(&copy, 0, count))
    } else {
        target.get_mut().append(source.get_mut(), offset, count)
    };
    throw_if_full(env, outcome);
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_os_Parcel_nativeCompareData(
    _: Env,
    _: jclass,
    mut left: Parcel,
    mut right: Parcel,
) -> jint {
    if left.is_same(&right) {
        return 0;
    }
    left.get_mut().bytes().cmp(right.get_mut().bytes()) as jint
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_os_Parcel_nativeCompareDataInRange(
    env: Env,
    _: jclass,
    mut left: Parcel,
    left_offset: jint,
    mut right: Parcel,
    right_offset: jint,
    count: jint,
) -> jboolean {
    let count = size(count);
    let range = |bytes: &[u8], offset: jint| {
        let offset = usize::try_from(offset).ok()?;
        Some(bytes.get(offset..offset.checked_add(count)?)?.to_vec())
    };
    let left = range(left.get_mut().bytes(), left_offset);
    let right = range(right.get_mut().bytes(), right_offset);
    if left.is_none() || right.is_none() {
        env.throw(
            "java/lang/IndexOutOfBoundsException",
            "a range that is not in the parcel",
        );
        return false;
    }
    left == right
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_os_Parcel_nativeSignalExceptionForError(
    env: Env,
    _: jclass,
    error: jint,
) {
    env.throw(
        "java/lang/RuntimeException",
        &format!("parcel error {error}"),
    );
}

/// Counters of the process: not kept.
#[unsafe(no_mangle)]
extern "system" fn Java_android_os_Parcel_getGlobalAllocSize(_: Env, _: jclass) -> jlong {
    0
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_os_Parcel_getGlobalAllocCount(_: Env, _: jclass) -> jlong {
    0
}
