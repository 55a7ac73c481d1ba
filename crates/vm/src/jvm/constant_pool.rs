// SPDX-License-Identifier: Apache-2.0
//! `jdk.internal.reflect.ConstantPool`: annotations are parsed with it.

use classfile::Constant;

use super::class::class_of;
use crate::classes::known::offset;
use crate::jni::{of, outcome};
use crate::link::resolve;
use crate::objects::string;
use crate::threads::thread::{Holds, Thrown};

#[unsafe(no_mangle)]
extern "C" fn JVM_GetClassConstantPool(env: u64, mirror: u64) -> u64 {
    let thread = &*of(env);
    let make = || {
        let class = thread.boot_class("jdk/internal/reflect/ConstantPool")?;
        class.initialize(thread)?;
        let pool = crate::objects::heap_binding::new_object(thread, class)?;
        pool.put_ref(offset(class, "constantPoolOop"), thread.object_of(mirror));
        Ok::<_, Thrown>(thread.new_local(pool))
    };
    outcome(make())
}

/// `unused` is the pool object; `holder` the class it is of.
fn constant(env: u64, holder: u64, index: i32) -> Option<Constant<'static>> {
    let class = class_of(env, holder);
    let found = u16::try_from(index)
        .ok()
        .and_then(|i| class.info.file.constants.get(i).ok());
    if found.is_none() {
        let message = "Constant pool index out of bounds";
        let _ = of(env).throw("java/lang/IllegalArgumentException", message);
    }
    found
}

fn wrong(env: u64) {
    let message = "Wrong type at constant pool index";
    let _ = of(env).throw("java/lang/IllegalArgumentException", message);
}

macro_rules! scalar {
    ($name:ident, $ty:ty, $pattern:pat => $value:expr) => {
        #[unsafe(no_mangle)]
        extern "C" fn $name(env: u64, _unused: u64, holder: u64, index: i32) -> $ty {
            match constant(env, holder, index) {
                Some($pattern) => $value,
                Some(_) => {
                    wrong(env);
                    <$ty>::default()
                }
                None => <$ty>::default(),
            }
        }
    };
}

scalar!(JVM_ConstantPoolGetIntAt, i32, Constant::Integer(value) => value);
scalar!(JVM_ConstantPoolGetLongAt, i64, Constant::Long(value) => value);
scalar!(JVM_ConstantPoolGetFloatAt, f32, Constant::Float(bits) => f32::from_bits(bits));
scalar!(JVM_ConstantPoolGetDoubleAt, f64, Constant::Double(bits) => f64::from_bits(bits));

#[unsafe(no_mangle)]
extern "C" fn JVM_ConstantPoolGetSize(env: u64, _unused: u64, holder: u64) -> i32 {
    class_of(env, holder).info.file.constants.count() as i32
}

#[unsafe(no_mangle)]
extern "C" fn JVM_ConstantPoolGetUTF8At(env: u64, _unused: u64, holder: u64, index: i32) -> u64 {
    let thread = &*of(env);
    match constant(env, holder, index) {
        Some(Constant::Utf8(bytes)) => {
            outcome(string::intern_mutf8(thread, bytes).map(|text| thread.new_local(text)))
        }
        Some(_) => {
            wrong(env);
            0
        }
        None => 0,
    }
}

#[unsafe(no_mangle)]
extern "C" fn JVM_ConstantPoolGetStringAt(env: u64, _unused: u64, holder: u64, index: i32) -> u64 {
    let thread = &*of(env);
    let class = class_of(env, holder);
    outcome(
        resolve::string_at(thread, Holds::Any, class, index as u16)
            .map(|text| thread.new_local(text)),
    )
}

#[unsafe(no_mangle)]
extern "C" fn JVM_ConstantPoolGetClassAt(env: u64, _unused: u64, holder: u64, index: i32) -> u64 {
    let thread = &*of(env);
    let class = class_of(env, holder);
    let found = resolve::class_at(thread, class, index as u16);
    outcome(found.map(|class| thread.new_local(class.mirror())))
}
