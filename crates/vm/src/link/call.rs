// SPDX-License-Identifier: Apache-2.0
//! Calling a static method of the class library by name.

use crate::console;
use crate::threads::thread::{Thread, Thrown};

/// Calls a static method of a class of the boot loader's, which must have it.
pub(crate) fn call_static(
    thread: &Thread,
    class: &str,
    name: &str,
    descriptor: &str,
    args: &[u64],
) -> Result<u64, Thrown> {
    let class = thread.boot_class(class)?;
    class.initialize(thread)?;
    match class.method_named(name, descriptor) {
        Some(method) => thread.call(method, args),
        None => console::fatal(&format!(
            "{}.{name}{descriptor} is missing",
            class.java_name()
        )),
    }
}
