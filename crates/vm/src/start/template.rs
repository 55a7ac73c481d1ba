// SPDX-License-Identifier: Apache-2.0
//! A template (`-Xtakt:template`): a machine with one thread, whose process is copied. Each copy is
//! a machine of its own, which has started already.
//!
//! Native code asks for it by these functions, in this order:
//!
//! 1. [`Takt_isTemplate`];
//! 2. [`Takt_load`], for methods that all need;
//! 3. [`Takt_settle`], when all is loaded;
//! 4. [`Takt_copy`], as often as a copy is wanted;
//! 5. [`Takt_begin`], in a copy, when its files, user and environment are its own.
//!
//! Until then no other thread runs, but for the collector while it settles. What is a process's own
//! and no copy may share: thread numbers, the file of code that is written, the user's store, the
//! order of identity hashes. There is no template with `--realtime`: its heap is locked.

use rt::process::{Copied, copy_beside};

use crate::code::{space, store};
use crate::compile::method;
use crate::console;
use crate::inspect::{listing, signals};
use crate::link::resolve;
use crate::memory;
use crate::memory::symbol::Symbol;
use crate::monitors::{java_thread, monitor};
use crate::objects::heap_binding;
use crate::options;
use crate::start::boot;
use crate::threads::held;
use crate::threads::thread::{self, Managed, Thread};

/// The launcher's first thread waits for the one that runs Java.
const TASKS_MAX: usize = 2;
/// What the first finds dead that references others, the second finds without.
const COLLECTIONS: usize = 2;
/// In place of the copy's number.
const REFUSED: i32 = -1;

/// Whether this process may be copied: no thread starts in it.
#[unsafe(no_mangle)]
extern "C" fn Takt_isTemplate() -> i32 {
    i32::from(held::are_held())
}

/// Has a method's code in place before its first call, so that copies share its tables: 1 if it was
/// kept. The name, such as `java.lang.String.length()I`, is `bytes` long.
#[unsafe(no_mangle)]
extern "C" fn Takt_load(name: u64, bytes: u64) -> i32 {
    let Some(thread) = thread::current().filter(|_| held::are_held()) else {
        return refuse("this machine is no template");
    };
    let thread = Managed::enter(thread);
    let name = memory::bytes_at(name, bytes as usize);
    let name = String::from_utf8_lossy(&name);
    i32::from(load(&thread, &name).is_some_and(|it| it))
}

fn load(thread: &Thread, name: &str) -> Option<bool> {
    let (front, descriptor) = name.split_at(name.find('(')?);
    let (class, name) = front.rsplit_once('.')?;
    let symbol = |text: &str| Symbol::new(text.as_bytes());
    let loader = boot::system_loader()?;
    let class = resolve::class_by_name(thread, loader, symbol(&class.replace('.', "/")));
    let class = class.map_err(|_| thread.take_exception()).ok()?;
    let method = class.declared_method(symbol(name), symbol(descriptor))?;
    Some(method::load_early(thread, method))
}

/// Collects what the template has dropped, once, before it is copied: copies share what is left,
/// and their collectors have nothing to do with it. 0, or -1 and a line in the log.
#[unsafe(no_mangle)]
extern "C" fn Takt_settle() -> i32 {
    let Some(thread) = thread::current().filter(|_| held::are_held()) else {
        return refuse("this machine is no template");
    };
    let heap = heap_binding::heap();
    if let Err(error) = heap.begin() {
        return refuse(&error.to_string());
    }
    {
        let thread = Managed::enter(thread);
        for _ in 0..COLLECTIONS {
            heap_binding::collect(&thread);
        }
    }
    heap.rest();
    0
}

/// Copies the process, by its one Java thread, from native code: the copy's number, 0 in the copy,
/// or -1 and a line in the log.
#[unsafe(no_mangle)]
extern "C" fn Takt_copy() -> i32 {
    match thread::current() {
        Some(thread) if held::are_held() => copy(thread),
        _ => refuse("this machine is no template"),
    }
}

fn refuse(why: &str) -> i32 {
    console::warn(&format!("the process is not copied: {why}"));
    REFUSED
}

fn copy(thread: &'static Thread) -> i32 {
    let tasks = std::fs::read_dir("/proc/self/task").map_or(usize::MAX, Iterator::count);
    if tasks > TASKS_MAX || thread::all().len() != 1 {
        return refuse(&format!("it has {tasks} threads"));
    }
    space::close();
    // SAFETY: 1. The other thread is the launcher's, which waits for this one's end: `TASKS_MAX`.
    match unsafe { copy_beside() } {
        Ok(Copied::Original(pid)) => pid,
        Ok(Copied::Copy) => {
            thread.renumber();
            0
        }
        Err(error) => refuse(&error.to_string()),
    }
}

/// The copy becomes a machine with threads. 0, or -1 and a line in the log: then nothing runs that
/// needs them.
#[unsafe(no_mangle)]
extern "C" fn Takt_begin() -> i32 {
    let Some(thread) = thread::current() else {
        return refuse("no Java thread asks for it");
    };
    let thread = Managed::enter(thread);
    match space::draw() {
        Ok(seed) => monitor::seed_hashes(seed as u32),
        Err(error) => return refuse(&error.to_string()),
    }
    if options::get().code_root.is_some() {
        store::start_own(options::default_root().as_deref());
    }
    let objects = held::release();
    if let Err(error) = heap_binding::heap().begin() {
        return refuse(&error.to_string());
    }
    signals::take_over();
    listing::start();
    for object in objects {
        if java_thread::start(&thread, object).is_err() {
            thread.take_exception();
            return refuse("a thread of the class library does not start");
        }
    }
    0
}
