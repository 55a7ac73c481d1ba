// SPDX-License-Identifier: Apache-2.0
//! The functions of `src/c/variadic.c`: only their addresses are used here.

use core::ffi::c_char;

use ir::MemoryKind;

use crate::classes::class::Method;
use crate::classes::class::primitive_code;
use crate::memory;

unsafe extern "C" {
    pub(super) fn takt_NewObject();
    pub(super) fn takt_NewObjectV();
    pub(super) fn takt_CallObjectMethod();
    pub(super) fn takt_CallObjectMethodV();
    pub(super) fn takt_CallBooleanMethod();
    pub(super) fn takt_CallBooleanMethodV();
    pub(super) fn takt_CallByteMethod();
    pub(super) fn takt_CallByteMethodV();
    pub(super) fn takt_CallCharMethod();
    pub(super) fn takt_CallCharMethodV();
    pub(super) fn takt_CallShortMethod();
    pub(super) fn takt_CallShortMethodV();
    pub(super) fn takt_CallIntMethod();
    pub(super) fn takt_CallIntMethodV();
    pub(super) fn takt_CallLongMethod();
    pub(super) fn takt_CallLongMethodV();
    pub(super) fn takt_CallFloatMethod();
    pub(super) fn takt_CallFloatMethodV();
    pub(super) fn takt_CallDoubleMethod();
    pub(super) fn takt_CallDoubleMethodV();
    pub(super) fn takt_CallVoidMethod();
    pub(super) fn takt_CallVoidMethodV();
    pub(super) fn takt_CallNonvirtualObjectMethod();
    pub(super) fn takt_CallNonvirtualObjectMethodV();
    pub(super) fn takt_CallNonvirtualBooleanMethod();
    pub(super) fn takt_CallNonvirtualBooleanMethodV();
    pub(super) fn takt_CallNonvirtualByteMethod();
    pub(super) fn takt_CallNonvirtualByteMethodV();
    pub(super) fn takt_CallNonvirtualCharMethod();
    pub(super) fn takt_CallNonvirtualCharMethodV();
    pub(super) fn takt_CallNonvirtualShortMethod();
    pub(super) fn takt_CallNonvirtualShortMethodV();
    pub(super) fn takt_CallNonvirtualIntMethod();
    pub(super) fn takt_CallNonvirtualIntMethodV();
    pub(super) fn takt_CallNonvirtualLongMethod();
    pub(super) fn takt_CallNonvirtualLongMethodV();
    pub(super) fn takt_CallNonvirtualFloatMethod();
    pub(super) fn takt_CallNonvirtualFloatMethodV();
    pub(super) fn takt_CallNonvirtualDoubleMethod();
    pub(super) fn takt_CallNonvirtualDoubleMethodV();
    pub(super) fn takt_CallNonvirtualVoidMethod();
    pub(super) fn takt_CallNonvirtualVoidMethodV();
    pub(super) fn takt_CallStaticObjectMethod();
    pub(super) fn takt_CallStaticObjectMethodV();
    pub(super) fn takt_CallStaticBooleanMethod();
    pub(super) fn takt_CallStaticBooleanMethodV();
    pub(super) fn takt_CallStaticByteMethod();
    pub(super) fn takt_CallStaticByteMethodV();
    pub(super) fn takt_CallStaticCharMethod();
    pub(super) fn takt_CallStaticCharMethodV();
    pub(super) fn takt_CallStaticShortMethod();
    pub(super) fn takt_CallStaticShortMethodV();
    pub(super) fn takt_CallStaticIntMethod();
    pub(super) fn takt_CallStaticIntMethodV();
    pub(super) fn takt_CallStaticLongMethod();
    pub(super) fn takt_CallStaticLongMethodV();
    pub(super) fn takt_CallStaticFloatMethod();
    pub(super) fn takt_CallStaticFloatMethodV();
    pub(super) fn takt_CallStaticDoubleMethod();
    pub(super) fn takt_CallStaticDoubleMethodV();
    pub(super) fn takt_CallStaticVoidMethod();
    pub(super) fn takt_CallStaticVoidMethodV();
}

/// One letter per parameter, without the receiver, and a NUL.
#[unsafe(no_mangle)]
extern "C" fn takt_parameter_kinds(method: u64, kinds: *mut c_char) {
    let kinds = kinds as u64;
    let all = super::call::parameter_kinds(Method::at(method));
    for (index, kind) in all.iter().enumerate() {
        let letter = primitive_code(Some(*kind)) as u8;
        debug_assert!(*kind != MemoryKind::Ref || letter == b'L');
        memory::write(kinds + index as u64, letter);
    }
    memory::write(kinds + all.len() as u64, 0_u8);
}
