// SPDX-License-Identifier: Apache-2.0
//! AOSP's native library for hosts, which android-all brings along: graphics, text, resources,
//! SQLite. [`load`] runs its JNI_OnLoad with a function table of ours, in which two functions
//! differ for that time.
//!
//! 1. FindClass does not initialise the class, as ART's does not. AOSP's classes ask for natives
//!    when they are initialised, which the library registers only afterwards.
//! 2. RegisterNatives leaves out what takes a parcel or a binder: ours are not the library's, which
//!    would take one for the other. A method that is left out says so by name when it is called.
#![allow(
    clippy::disallowed_types,
    reason = "the library is loaded once, before anything runs in real time"
)]

use std::ffi::{CStr, CString, c_char, c_void};
use std::sync::{Mutex, OnceLock, PoisonError};

use jni_sys::{
    JNI_OK, JNIEnv, JNINativeInterface_, JNINativeMethod, JavaVM, jclass, jint, jobject,
    jobjectArray, jstring,
};

use crate::env::{self, Env, Global};
use crate::screen;

/// What a native method of the library must not be given: it knows other ones under these names.
const OURS: [&str; 2] = ["Landroid/os/Parcel;", "Landroid/os/IBinder;"];

/// A method that the library has in a form that only ART calls: see `apk_assets`.
const OF_ART: (&str, &CStr) = ("android.content.res.ApkAssets", c"nativeIsUpToDate");

type OnLoad = unsafe extern "system" fn(*mut JavaVM, *mut c_void) -> jint;
/// Two tables of functions: the machine's, and its copy for the library.
struct Tables {
    machine: *const JNINativeInterface_,
    library: *const JNINativeInterface_,
}

// SAFETY:
// 1. Both tables stay for the life of the process, and nobody writes to them.
unsafe impl Send for Tables {}
// SAFETY: as above.
unsafe impl Sync for Tables {}

static TABLES: OnceLock<Tables> = OnceLock::new();
/// The class loader of AOSP's classes.
static LOADER: OnceLock<Global> = OnceLock::new();
/// What was registered, as "CLASS NAME DESCRIPTOR".
static REGISTERED: Mutex<Vec<String>> = Mutex::new(Vec::new());

#[unsafe(no_mangle)]
extern "system" fn Java_takt_framework_HostLibrary_load(
    env: Env,
    _: jclass,
    path: jstring,
    loader: jobject,
) {
    let path = env.text(path).unwrap_or_default();
    if let Err(fault) = load(env, &path, loader) {
        env.throw(
            "java/lang/UnsatisfiedLinkError",
            &format!("{path}: {fault}"),
        );
    }
}

#[unsafe(no_mangle)]
extern "system" fn Java_takt_framework_HostLibrary_registered(env: Env, _: jclass) -> jobjectArray {
    env.string_array(&REGISTERED.lock().unwrap_or_else(PoisonError::into_inner))
}

fn load(env: Env, path: &str, loader: jobject) -> Result<(), String> {
    let loader = Global::new(env, loader).ok_or("no class loader")?;
    LOADER.set(loader).map_err(|_| "it is loaded already")?;
    let on_load = on_load(path)?;
    let tables = TABLES.get_or_init(|| Tables::of(env));
    let machine = env::machine().ok_or("there is no machine")?;
    use_table(env, tables.library);
    // SAFETY:
    // 1. The function is a library's JNI_OnLoad, which is called so (JNI specification, "The
    //    Invocation API"), once: `LOADER` is set once.
    // 2. `machine` is valid: see `env`.
    let version = unsafe { on_load(machine, core::ptr::null_mut()) };
    use_table(env, tables.machine);
    match version {
        0.. => Ok(()),
        _ => Err("its JNI_OnLoad failed".to_owned()),
    }
}

/// Opens the library and finds its JNI_OnLoad.
fn on_load(path: &str) -> Result<OnLoad, String> {
    let path = CString::new(path).map_err(|it| it.to_string())?;
    // SAFETY:
    // 1. The path is a C string. The library's initialisers are its own business, as those of each
    //    library that Java loads.
    let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if library.is_null() {
        // SAFETY: 1. dlerror is null or a C string that stays until the thread's next call.
        let fault = unsafe { libc::dlerror().as_ref().map(|it| CStr::from_ptr(it)) };
        return Err(fault.map_or_else(String::new, |it| it.to_string_lossy().into_owned()));
    }
    // SAFETY: 1. The library was opened above. 2. The name is a C string.
    let found = unsafe { libc::dlsym(library, c"JNI_OnLoad".as_ptr()) };
    if found.is_null() {
        return Err("it has no JNI_OnLoad".to_owned());
    }
    // SAFETY: 1. By this name JNI knows a function of exactly this type.
    Ok(unsafe { core::mem::transmute::<*mut c_void, OnLoad>(found) })
}

impl Tables {
    fn of(env: Env) -> Self {
        // SAFETY:
        // 1. `env` is the calling thread's environment: it points to a pointer to the machine's
        //    table, which has the functions of version 1.6.
        let (machine, mut copy) = unsafe { (*env.as_raw(), (**env.as_raw()).v1_6) };
        copy.FindClass = find_class;
        copy.RegisterNatives = register_natives;
        // Its holder looks at its functions of version 1.6 only: the library asks for no more.
        let library = Box::leak(Box::new(copy)) as *const _ as *const JNINativeInterface_;
        Self { machine, library }
    }
}

/// Gives the calling thread another table.
fn use_table(env: Env, table: *const JNINativeInterface_) {
    // SAFETY:
    // 1. `env` is the calling thread's own environment, whose first word is the table's address;
    //    nobody else reads it.
    // 2. The table is the machine's or its copy: see `Tables`.
    unsafe { *env.as_raw() = table };
}

/// Runs something with the machine's own table, while the library has its copy.
fn with_machines_table<R>(env: *mut JNIEnv, run: impl FnOnce(Env) -> R) -> Option<R> {
    let tables = TABLES.get()?;
    // SAFETY: 1. The library calls with the environment that its JNI_OnLoad was called with.
    let env = unsafe { Env::from_raw(env) };
    use_table(env, tables.machine);
    let answer = run(env);
    use_table(env, tables.library);
    Some(answer)
}

/// FindClass for the library. Null, with an exception pending, if there is no such class.
unsafe extern "system" fn find_class(env: *mut JNIEnv, name: *const c_char) -> jclass {
    // SAFETY: 1. JNI's FindClass is called with a C string.
    let name = unsafe { CStr::from_ptr(name) }.to_string_lossy();
    let name = name.replace('/', ".");
    let found = with_machines_table(env, |env| {
        let loader = LOADER.get()?.local(env);
        Some(env.class_for_name(&name, loader))
    });
    found.flatten().unwrap_or(core::ptr::null_mut())
}

/// RegisterNatives for the library. Methods that the class does not declare are passed over: the
/// library is for several of AOSP's versions.
unsafe extern "system" fn register_natives(
    env: *mut JNIEnv,
    class: jclass,
    methods: *const JNINativeMethod,
    count: jint,
) -> jint {
    let count = usize::try_from(count).unwrap_or(0);
    // SAFETY: 1. JNI's RegisterNatives is called with so many methods, of C strings.
    let methods = unsafe { core::slice::from_raw_parts(methods, count) };
    with_machines_table(env, |env| {
        let owner = env.name_of(class);
        for method in methods {
            register(env, class, &owner, method);
        }
    });
    JNI_OK
}

fn register(env: Env, class: jclass, owner: &str, method: &JNINativeMethod) {
    // SAFETY: 1. See `register_natives`: both are C strings that outlive this call.
    let (name, signature) = unsafe {
        let signature = CStr::from_ptr(method.signature);
        (CStr::from_ptr(method.name), signature)
    };
    // ART's mark of a short method, which other machines do not know.
    let signature = signature.to_string_lossy();
    let signature = signature.trim_start_matches('!');
    if OURS.iter().any(|it| signature.contains(it)) || (owner, name) == OF_ART {
        return;
    }
    let function = screen::around(owner, name, method.fnPtr);
    if env.register_native(class, name, signature, function) {
        let line = format!("{owner} {} {signature}", name.to_string_lossy());
        let mut registered = REGISTERED.lock().unwrap_or_else(PoisonError::into_inner);
        registered.push(line.replace('.', "/"));
    }
}
