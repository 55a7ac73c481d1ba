// SPDX-License-Identifier: Apache-2.0
//! For which classes `assert` does something.

use super::class::class_of;
use crate::classes::known::{offset, primitive_by_name};
use crate::classes::object::ObjectRef;
use crate::jni::{of, outcome};
use crate::link::define;
use crate::objects::array;
use crate::objects::string;
use crate::options::{self, Directive};
use crate::threads::thread::{Thread, Thrown};

#[unsafe(no_mangle)]
extern "C" fn JVM_DesiredAssertionStatus(env: u64, _unused: u64, mirror: u64) -> u8 {
    let info = &class_of(env, mirror).info;
    let assertions = &options::get().assertions;
    u8::from(assertions.are_enabled(&info.name.to_string(), info.loader.is_boot()))
}

/// What class loaders start from when a program changes what they enable.
#[unsafe(no_mangle)]
extern "C" fn JVM_AssertionStatusDirectives(env: u64, _unused: u64) -> u64 {
    let thread = &*of(env);
    outcome(directives(thread).map(|object| thread.new_local(object)))
}

fn directives(thread: &Thread) -> Result<ObjectRef, Thrown> {
    let (is_enabled, directives) = options::get().assertions.directives();
    let class = thread.boot_class("java/lang/AssertionStatusDirectives")?;
    let result = thread.new_instance(class, None, &[])?;
    for (is_package, names, states) in [
        (false, "classes", "classEnabled"),
        (true, "packages", "packageEnabled"),
    ] {
        let is_it = |it: &&Directive| it.is_package == is_package;
        let of_kind: Vec<_> = directives.iter().filter(is_it).collect();
        let strings = define::array_of(thread, thread.boot_class("java/lang/String")?)?;
        let strings = array::new(thread, strings, of_kind.len() as i32)?;
        result.put_ref(offset(class, names), strings);
        let booleans = primitive_by_name("boolean").expect("a primitive type");
        let flags = define::array_of(thread, booleans)?;
        let flags = array::new(thread, flags, of_kind.len() as i32)?;
        result.put_ref(offset(class, states), flags);
        for (index, directive) in (0..).zip(of_kind) {
            strings.set_ref_element(index, string::new_string(thread, &directive.name)?);
            flags.set_element(index, u8::from(directive.is_enabled));
        }
    }
    result.put(offset(class, "deflt"), u8::from(is_enabled));
    Ok(result)
}
