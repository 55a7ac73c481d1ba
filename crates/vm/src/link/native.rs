// SPDX-License-Identifier: Apache-2.0
//! Finding the functions behind native methods.

use std::collections::HashMap;
use std::ffi::CString;
use std::sync::OnceLock;
use std::sync::atomic::Ordering;

use crate::classes::class::Method;
use crate::link::message;
use crate::link::resolve;
use crate::memory;
use crate::sync::lock::Lock;
use crate::threads::thread::{Thread, Thrown};

/// The machine's own native methods.
static OWN: OnceLock<fn(&'static Method) -> Option<u64>> = OnceLock::new();

/// `find` knows the machine's own native methods.
pub(crate) fn look_first_in(find: fn(&'static Method) -> Option<u64>) {
    let _ = OWN.set(find);
}

/// Finds the function of `method`: registered, the machine's own, or a library's.
pub(crate) fn bind(thread: &Thread, method: &'static Method) -> Result<u64, Thrown> {
    let known = method.native.load(Ordering::Acquire);
    if known != 0 {
        return Ok(known);
    }
    if method.flags.is_signature_polymorphic {
        // Compiled code never calls it: reflection and JNI do.
        let message = message::not_reflective(method);
        return Err(thread.throw("java/lang/UnsupportedOperationException", &message));
    }
    let found = match OWN.get().and_then(|find| find(method)) {
        Some(own) => Some(own),
        None => in_libraries(thread, method)?,
    };
    let Some(function) = found else {
        let message = message::method(method.class(), method.name, method.descriptor);
        return Err(thread.throw("java/lang/UnsatisfiedLinkError", &format!("'{message}'")));
    };
    method.native.store(function, Ordering::Release);
    Ok(function)
}

/// `Java_` and the escaped names, short or with the parameters' descriptor.
fn symbol_names(method: &'static Method) -> [String; 2] {
    let short = format!(
        "Java_{}_{}",
        escape(&method.class().name().to_string()),
        escape(&method.name.to_string())
    );
    let descriptor = method.descriptor.to_string();
    let parameters = descriptor[1..]
        .split(')')
        .next()
        .unwrap_or_default()
        .to_owned();
    let long = format!("{short}__{}", escape(&parameters));
    [short, long]
}

fn escape(name: &str) -> String {
    let mut escaped = String::new();
    for unit in name.encode_utf16() {
        match char::from_u32(u32::from(unit)) {
            Some('/') => escaped.push('_'),
            Some('_') => escaped.push_str("_1"),
            Some(';') => escaped.push_str("_2"),
            Some('[') => escaped.push_str("_3"),
            Some(c) if c.is_ascii_alphanumeric() => escaped.push(c),
            _ => escaped.push_str(&format!("_0{unit:04x}")),
        }
    }
    escaped
}

/// A symbol of a library loaded with `dlopen`.
pub(crate) fn symbol(library: u64, name: &str) -> Option<u64> {
    let name = CString::new(name).ok()?;
    // SAFETY: 1. The handle came from dlopen or is the default one. 2. `name` is a C string.
    let found = unsafe { libc::dlsym(library as *mut libc::c_void, name.as_ptr()) };
    (!found.is_null()).then_some(found as u64)
}

/// Takt's own library that an application's may ask for, by the name that it has on Android. It
/// lies beside the machine.
const AAUDIO: &str = "libaaudio.so";

/// Opens a library, and Takt's AAudio first if it asks for that; the message says why not.
pub(crate) fn open(path: &str) -> Result<u64, String> {
    match open_alone(path) {
        Err(error) if stumbled_over(&error) == AAUDIO => {
            // The loader finds it by its name once it is there.
            open_alone(&beside_machine(AAUDIO).ok_or(error)?)?;
            open_alone(path)
        }
        opened => opened,
    }
}

fn beside_machine(name: &str) -> Option<String> {
    let machine = memory::file_of(open as *const () as u64)?;
    Some(machine.parent()?.join(name).to_str()?.to_owned())
}

fn open_alone(path: &str) -> Result<u64, String> {
    let path = CString::new(path).map_err(|_| "path with a NUL".to_owned())?;
    // SAFETY: 1. `path` is a C string; initialisers of the library run, as the caller wants.
    let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_LAZY) };
    if library.is_null() {
        // SAFETY: 1. dlerror gives a C string after a failure.
        let text = unsafe { std::ffi::CStr::from_ptr(libc::dlerror()) };
        return Err(explained(text.to_string_lossy().into_owned()));
    }
    Ok(library as u64)
}

/// What a library for Android asks for: glibc's have a number behind them. Where compilers are
/// installed, the C library's plain names are scripts for the linker.
const ANDROIDS: [&str; 5] = [
    "libc.so",
    "libm.so",
    "libdl.so",
    "liblog.so",
    "libandroid.so",
];

/// The name of a file: the loader's words begin with the one that it stumbled over.
fn stumbled_over(error: &str) -> &str {
    let file = error.split(": ").next().unwrap_or_default();
    file.rsplit('/').next().unwrap_or_default()
}

fn explained(error: String) -> String {
    match ANDROIDS.contains(&stumbled_over(&error)) {
        true => format!(
            "{error} (it is built for Android's own C library: bionic is not supported by Takt yet)"
        ),
        false => error,
    }
}

/// Libraries that hold the natives of boot classes before Java code loads any.
static BOOT_LIBRARIES: OnceLock<Lock<HashMap<String, u64>>> = OnceLock::new();

/// Opens one of the JDK's own libraries for boot classes.
pub(crate) fn open_boot(name: &str) -> Result<(), String> {
    let path = format!("{}/lib/{name}", crate::options::get().java_home);
    let library = open(&path)?;
    let libraries = BOOT_LIBRARIES.get_or_init(|| Lock::new(HashMap::new()));
    libraries.lock().insert(name.to_owned(), library);
    Ok(())
}

fn in_libraries(thread: &Thread, method: &'static Method) -> Result<Option<u64>, Thrown> {
    let names = symbol_names(method);
    if resolve::is_boot(method.class()) {
        let libraries = BOOT_LIBRARIES.get_or_init(|| Lock::new(HashMap::new()));
        let handles: Vec<u64> = libraries.lock().values().copied().collect();
        for name in &names {
            if let Some(found) = handles.iter().find_map(|&library| symbol(library, name)) {
                return Ok(Some(found));
            }
        }
    }
    let class = thread.boot_class("java/lang/ClassLoader")?;
    let find = "(Ljava/lang/ClassLoader;Ljava/lang/String;)J";
    let Some(find) = class.method_named("findNative", find) else {
        return Ok(None);
    };
    for name in &names {
        let text = crate::objects::string::new_string(thread, name)?;
        let loader = method.class().info.loader.object();
        let found = thread.call(find, &[loader.0.into(), text.0.into()])?;
        if found != 0 {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_for_bionic_is_named() {
        for error in [
            "/usr/lib/x86_64-linux-gnu/libm.so: invalid ELF header",
            "libc.so: cannot open shared object file: No such file or directory",
        ] {
            let text = explained(error.to_owned());
            assert!(text.starts_with(error) && text.contains("bionic is not supported"));
        }
        let ours = "libaaudio.so: cannot open shared object file: No such file or directory";
        assert_eq!(stumbled_over(ours), AAUDIO);
        let other = "libfoo.so: cannot open shared object file: No such file or directory";
        assert_eq!(explained(other.to_owned()), other);
    }
}
