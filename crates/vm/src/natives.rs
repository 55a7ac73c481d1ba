// SPDX-License-Identifier: Apache-2.0
//! Native methods that the machine itself implements.

mod dex_code;
mod method_handle;
mod object;
mod realtime;
mod unsafe_access;

use crate::class::Method;
use crate::resolve;

/// A native method by name and, where names are overloaded, descriptor.
type Row = (&'static str, *const ());

/// The function for `method`, if it is one of the machine's.
pub(crate) fn find(method: &'static Method) -> Option<u64> {
    if !resolve::is_boot(method.class()) {
        return None;
    }
    let name = method.name.to_string();
    if name == "registerNatives" && needs_no_registering(method) {
        return Some(nothing as *const () as u64);
    }
    let rows: &[Row] = match method.class().name().bytes() {
        b"java/lang/Object" => object::OBJECT,
        b"java/lang/invoke/MethodHandleNatives" => method_handle::NATIVES,
        b"jdk/internal/misc/VM" | b"jdk/internal/misc/ScopedMemoryAccess" => object::OTHERS,
        b"jdk/internal/misc/Unsafe" => {
            return unsafe_access::find(&name).map(|function| function as u64);
        }
        b"jdk/internal/perf/Perf" => object::PERF,
        b"jdk/internal/vm/vector/VectorSupport" => object::VECTOR,
        b"dalvik/system/DexCode" => dex_code::NATIVES,
        b"javax/realtime/Machine" => realtime::NATIVES,
        _ => return None,
    };
    rows.iter()
        .find(|(own, _)| *own == name)
        .map(|(_, function)| *function as u64)
}

/// Classes whose natives [`find`] knows without being told.
fn needs_no_registering(method: &'static Method) -> bool {
    let name = method.class().name();
    [
        "jdk/internal/misc/Unsafe",
        "java/lang/invoke/MethodHandleNatives",
        "jdk/internal/misc/ScopedMemoryAccess",
        "jdk/internal/invoke/NativeEntryPoint",
        "jdk/internal/perf/Perf",
        "jdk/internal/vm/vector/VectorSupport",
    ]
    .iter()
    .any(|own| name.is(own))
}

extern "C" fn nothing(_env: u64, _class: u64) {}
