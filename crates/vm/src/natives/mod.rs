// SPDX-License-Identifier: Apache-2.0
//! Native methods that the machine itself implements.

mod dex_code;
mod instrument;
mod method_handle;
mod object;
mod realtime;
mod unsafe_access;

use crate::classes::class::Method;
use crate::classes::library::Library as L;

/// A native method by name and, where names are overloaded, descriptor.
type Row = (&'static str, *const ());

/// The function for `method`, if it is one of the machine's.
pub(crate) fn find(method: &'static Method) -> Option<u64> {
    let class = method.class().info.library?;
    let name = method.name.to_string();
    if name == "registerNatives" && needs_no_registering(class) {
        return Some(nothing as *const () as u64);
    }
    let rows: &[Row] = match class {
        L::Object => object::OBJECT,
        L::MethodHandleNatives => method_handle::NATIVES,
        L::Vm | L::ScopedMemoryAccess => object::OTHERS,
        L::Unsafe => {
            return unsafe_access::find(&name).map(|function| function as u64);
        }
        L::Perf => object::PERF,
        L::VectorSupport => object::VECTOR,
        L::InstrumentationImpl => instrument::NATIVES,
        L::DexCode => dex_code::NATIVES,
        L::RealtimeMachine => realtime::NATIVES,
        _ => return None,
    };
    rows.iter()
        .find(|(own, _)| *own == name)
        .map(|(_, function)| *function as u64)
}

/// Classes whose natives [`find`] knows without being told.
const fn needs_no_registering(class: L) -> bool {
    matches!(
        class,
        L::Unsafe
            | L::MethodHandleNatives
            | L::ScopedMemoryAccess
            | L::NativeEntryPoint
            | L::Perf
            | L::VectorSupport
    )
}

extern "C" fn nothing(_env: u64, _class: u64) {}
