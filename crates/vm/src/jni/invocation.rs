// SPDX-License-Identifier: Apache-2.0
//! The invocation interface: how a launcher makes and ends the machine.

use core::sync::atomic::{AtomicBool, Ordering};

use super::{VERSION, c_text};
use crate::console;
use crate::memory;
use crate::monitors::java_thread;
use crate::objects::heap_binding;
use crate::options;
use crate::start::boot;
use crate::threads::thread::{self, Managed, Thread};

const OK: i32 = 0;
const ERROR: i32 = -1;
const EDETACHED: i32 = -2;
const EVERSION: i32 = -3;
const EEXIST: i32 = -5;

/// Versions of JNI that native code may ask for: 1.1, 1.2, 1.4, 1.6, 1.8, 9 and 10.
const VERSIONS: [i32; 7] = [
    0x0001_0001,
    0x0001_0002,
    0x0001_0004,
    0x0001_0006,
    0x0001_0008,
    0x0009_0000,
    VERSION,
];

pub(crate) fn is_known_version(version: i32) -> bool {
    VERSIONS.contains(&version)
}

/// Stack for the launcher's main thread.
const MAIN_STACK_BYTES: i32 = 8 << 20;

/// A function's address.
#[repr(transparent)]
struct Function(*const ());

// SAFETY: 1. Code addresses belong to no thread.
unsafe impl Sync for Function {}

static FUNCTIONS: [Function; 8] = [
    Function(core::ptr::null()),
    Function(core::ptr::null()),
    Function(core::ptr::null()),
    Function(destroy_java_vm as *const ()),
    Function(attach_current_thread as *const ()),
    Function(detach_current_thread as *const ()),
    Function(get_env as *const ()),
    Function(attach_current_thread_as_daemon as *const ()),
];

/// A `JavaVM`: the address of the table.
#[repr(transparent)]
struct Vm(*const Function);

// SAFETY: as for `Function`.
unsafe impl Sync for Vm {}

static VM: Vm = Vm(FUNCTIONS.as_ptr());
static IS_CREATED: AtomicBool = AtomicBool::new(false);

pub(crate) fn vm_address() -> u64 {
    core::ptr::from_ref(&VM) as u64
}

/// `JavaVMInitArgs`: version, count, options of two words each.
fn options_of(args: u64) -> Vec<String> {
    let count: i32 = memory::read(args + 4);
    let options: u64 = memory::read(args + 8);
    (0..count as u64)
        .map(|index| c_text(memory::read(options + index * 16)))
        .collect()
}

#[unsafe(no_mangle)]
extern "C" fn JNI_CreateJavaVM(vm: u64, env: u64, args: u64) -> i32 {
    if IS_CREATED.swap(true, Ordering::AcqRel) {
        return EEXIST;
    }
    // Behind version, count and the options' address.
    let ignores_unknown = memory::read::<u8>(args + 16) != 0;
    if let Err(error) = options::read(&options_of(args), ignores_unknown) {
        console::note(&error);
        return ERROR;
    }
    // A page that a copy of a template writes to is copied: no more of it than it needs.
    if !options::get().is_template {
        memory::ask_for_superpages();
    }
    match boot::create() {
        Ok(thread) => {
            let options = options::get();
            if let Some(list) = &options.compile_list {
                crate::start::ahead::run(thread, list, options.compile_package.as_deref());
            }
            memory::write(vm, vm_address());
            memory::write(env, thread.env());
            thread.enter_native();
            OK
        }
        Err(error) => {
            console::note(&error.to_string());
            ERROR
        }
    }
}

/// `javaStackSize` is all that launchers read.
#[unsafe(no_mangle)]
extern "C" fn JNI_GetDefaultJavaVMInitArgs(args: u64) -> i32 {
    memory::write(args + 4, 0_i32);
    // The old 1.1 form, which launchers use for the size: version, then properties, then
    // checkSource …
    let version: i32 = memory::read(args);
    if version == 0x0001_0001 {
        memory::write(args + 24, MAIN_STACK_BYTES);
    }
    OK
}

#[unsafe(no_mangle)]
extern "C" fn JNI_GetCreatedJavaVMs(vms: u64, room: i32, count: u64) -> i32 {
    let is_created = IS_CREATED.load(Ordering::Acquire);
    if is_created && room > 0 {
        memory::write(vms, vm_address());
    }
    if count != 0 {
        memory::write(count, i32::from(is_created));
    }
    OK
}

extern "C" fn destroy_java_vm(_vm: u64) -> i32 {
    match attach(true) {
        Some(env) => {
            boot::destroy(Managed::enter(Thread::of_env(env)).for_good());
            OK
        }
        None => ERROR,
    }
}

/// The environment of the calling thread, attached if need be.
fn attach(is_daemon: bool) -> Option<u64> {
    if let Some(thread) = thread::current() {
        return Some(thread.env());
    }
    if let Err(refusal) = thread::check_own_stack() {
        console::warn(&refusal);
        return None;
    }
    let thread = thread::attach(&[]);
    let adopted = java_thread::adopt(thread, None, is_daemon);
    thread.enter_native();
    match adopted {
        Ok(()) => Some(thread.env()),
        Err(_) => {
            thread.take_exception();
            None
        }
    }
}

fn attach_to(env: u64, is_daemon: bool) -> i32 {
    // Not for who ends the machine: it has had its place.
    let place = heap_binding::heap().place();
    if place.is_none() && thread::current().is_none() {
        console::warn("a thread cannot attach: there are as many as the heap has room for");
        return ERROR;
    }
    match attach(is_daemon) {
        Some(found) => {
            memory::write(env, found);
            OK
        }
        None => ERROR,
    }
}

extern "C" fn attach_current_thread(_vm: u64, env: u64, _args: u64) -> i32 {
    attach_to(env, false)
}

extern "C" fn attach_current_thread_as_daemon(_vm: u64, env: u64, _args: u64) -> i32 {
    attach_to(env, true)
}

extern "C" fn detach_current_thread(_vm: u64) -> i32 {
    if let Some(thread) = thread::current() {
        if thread.has_java_frames() {
            return ERROR;
        }
        let thread = Managed::enter(thread).for_good();
        if !thread.exception().is_null() {
            java_thread::uncaught(thread);
        }
        java_thread::exit(thread);
    }
    OK
}

extern "C" fn get_env(_vm: u64, env: u64, version: i32) -> i32 {
    match thread::current() {
        Some(thread) if is_known_version(version) => {
            memory::write(env, thread.env());
            OK
        }
        Some(_) => {
            memory::write(env, 0_u64);
            EVERSION
        }
        None => {
            memory::write(env, 0_u64);
            EDETACHED
        }
    }
}

/// The `jio_` functions are C's; Rust re-exports them under their public names.
mod jio {
    use core::arch::naked_asm;

    unsafe extern "C" {
        fn takt_jio_snprintf();
        fn takt_jio_vsnprintf();
        fn takt_jio_fprintf();
        fn takt_jio_vfprintf();
    }

    macro_rules! forward {
        ($($name:ident => $target:ident;)*) => {
            $(
                #[unsafe(naked)]
                #[unsafe(no_mangle)]
                extern "C" fn $name() {
                    naked_asm!("jmp {target}", target = sym $target)
                }
            )*
        };
    }

    forward! {
        jio_snprintf => takt_jio_snprintf;
        jio_vsnprintf => takt_jio_vsnprintf;
        jio_fprintf => takt_jio_fprintf;
        jio_vfprintf => takt_jio_vfprintf;
    }
}
