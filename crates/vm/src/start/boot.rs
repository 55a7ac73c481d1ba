// SPDX-License-Identifier: Apache-2.0
//! Bringing the class library up, in HotSpot's order, and down again.

use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};

use classfile::Jimage;

use crate::classes::known::{known, offset};
use crate::classes::object::ObjectRef;
use crate::classes::stage::{self, Stage};
use crate::code::cache;
use crate::console;
use crate::entry::trampolines;
use crate::inspect::backtrace;
use crate::inspect::crash;
use crate::inspect::figures;
use crate::invoke::method_handle;
use crate::link::boot_path;
use crate::link::call::call_static;
use crate::link::loader::{self, Loader};
use crate::link::mirror;
use crate::link::native;
use crate::memory;
use crate::monitors::java_thread;
use crate::monitors::monitor;
use crate::natives;
use crate::objects::heap_binding;
use crate::objects::string;
use crate::options;
use crate::start::agents;
use crate::sync::lock;
use crate::threads::lock_wait;
use crate::threads::thread::{self, Doors, Managed, Thread, Thrown};

static SYSTEM_LOADER: OnceLock<&'static Loader> = OnceLock::new();

/// The loader of the class path, once it is there.
pub(crate) fn system_loader() -> Option<&'static Loader> {
    SYSTEM_LOADER.get().copied()
}

/// Creates the machine and boots the class library on the calling thread.
pub(crate) fn create() -> Result<&'static Thread, Box<dyn std::error::Error>> {
    console::mark_start();
    console::tell_frames_by(backtrace::own_frames);
    lock::wait_by(lock_wait::run);
    native::look_first_in(natives::find);
    thread::open(Doors {
        jni_table: crate::jni::table_address(),
        entries: trampolines::entries_address(),
        compile_stub: trampolines::compile_stub_address(),
        attach_crash_stack: crash::attach,
        detach_crash_stack: crash::detach,
    });
    thread::check_own_stack()?;
    let options = options::get();
    memory::start(options.heap_bytes_max)?;
    cache::start()?;
    crash::start();
    heap_binding::start(monitor::sweep)?;
    let image = format!("{}/lib/modules", options.java_home);
    let image = memory::map_file(image.as_ref()).map_err(|error| format!("{image}: {error}"))?;
    loader::start(Jimage::parse(image)?);
    boot_path::start();
    monitor::prepare();
    let thread = thread::attach(&[]);
    if boot(thread).is_err() {
        let exception = thread.take_exception();
        print_uncaught(thread, exception);
        return Err("the class library did not start".into());
    }
    Ok(thread)
}

fn boot(thread: &'static Thread) -> Result<(), Thrown> {
    crate::link::start_known::start(thread)?;
    mirror::attach_early(thread)?;
    stage::reached(Stage::Classes);
    for library in ["libjava.so", "libzip.so", "libjimage.so"] {
        if let Err(error) = native::open_boot(library) {
            console::fatal(&format!("{library}: {error}"));
        }
    }
    let initialize = |name: &str| thread.boot_class(name)?.initialize(thread);
    initialize("java/lang/String")?;
    set_static(thread, "java/lang/String", "COMPACT_STRINGS", 1)?;
    initialize("java/lang/System")?;
    initialize("java/lang/Class")?;
    initialize("java/lang/ThreadGroup")?;
    initialize("java/lang/Thread")?;
    make_main_thread(thread)?;
    initialize("java/lang/Module")?;
    set_unsafe_constants(thread)?;
    initialize("java/lang/reflect/Method")?;
    // The finalizer's thread would do it, at any time from now on, and code would depend on when:
    // see `compile_run`.
    initialize("jdk/internal/misc/VM")?;
    initialize("java/lang/ref/Finalizer")?;
    call_static(thread, "java/lang/System", "initPhase1", "()V", &[])?;
    keep_out_of_memory_error(thread)?;
    method_handle::start(thread)?;
    // It says what is wrong itself, where HotSpot says it, without a trace.
    let phase2 = call_static(thread, "java/lang/System", "initPhase2", "(ZZ)I", &[0, 0])?;
    if phase2 as i32 != 0 {
        rt::lines::leave(1);
    }
    call_static(thread, "java/lang/System", "initPhase3", "()V", &[])?;
    let signature = "()Ljava/lang/ClassLoader;";
    let name = "getSystemClassLoader";
    let system = call_static(thread, "java/lang/ClassLoader", name, signature, &[])?;
    let _ = SYSTEM_LOADER.set(loader::of(ObjectRef(system as u32)));
    stage::reached(Stage::Ready);
    if !options::get().is_template {
        crate::inspect::signals::take_own();
        crate::inspect::listing::start();
    }
    figures::begin();
    agents::start(thread)?;
    Ok(())
}

fn set_static(thread: &Thread, class: &str, field: &str, value: u8) -> Result<(), Thrown> {
    let class = thread.boot_class(class)?;
    class.statics().put(offset(class, field), value);
    Ok(())
}

/// Thread groups, then a thread object that is current before its constructor runs.
fn make_main_thread(thread: &'static Thread) -> Result<(), Thrown> {
    let group_class = thread.boot_class("java/lang/ThreadGroup")?;
    let system =
        thread.new_instance(group_class, group_class.method_named("<init>", "()V"), &[])?;
    let main = string::new_string(thread, "main")?;
    let constructor =
        group_class.method_named("<init>", "(Ljava/lang/ThreadGroup;Ljava/lang/String;)V");
    let group = thread.new_instance(group_class, constructor, &[system.0.into(), main.0.into()])?;
    heap_binding::keep(group);
    java_thread::MAIN_GROUP.store(group.0, Ordering::Release);
    let class = thread.boot_class("java/lang/Thread")?;
    let object = heap_binding::new_object(thread, class)?;
    object.put(offset(class, "priority"), 5_i32);
    java_thread::bind(thread, object);
    let constructor = class.method_named("<init>", "(Ljava/lang/ThreadGroup;Ljava/lang/String;)V");
    let args = [object.0.into(), group.0.into(), main.0.into()];
    thread.call(constructor.expect("threads have names"), &args)?;
    Ok(())
}

fn set_unsafe_constants(thread: &Thread) -> Result<(), Thrown> {
    let class = thread.boot_class("jdk/internal/misc/UnsafeConstants")?;
    class.initialize(thread)?;
    let statics = class.statics();
    statics.put(offset(class, "ADDRESS_SIZE0"), 8_i32);
    statics.put(offset(class, "PAGE_SIZE"), 4096_i32);
    statics.put(offset(class, "BIG_ENDIAN"), 0_u8);
    statics.put(offset(class, "UNALIGNED_ACCESS"), 1_u8);
    statics.put(offset(class, "DATA_CACHE_LINE_FLUSH_SIZE"), 0_i32);
    Ok(())
}

fn keep_out_of_memory_error(thread: &Thread) -> Result<(), Thrown> {
    let class = thread.boot_class("java/lang/OutOfMemoryError")?;
    let message = string::new_string(thread, "Java heap space")?;
    let constructor = class.method_named("<init>", "(Ljava/lang/String;)V");
    let error = thread.new_instance(class, constructor, &[message.0.into()])?;
    heap_binding::keep(error);
    stage::OUT_OF_MEMORY.store(error.0, Ordering::Release);
    Ok(())
}

/// As the thread's group does with what nobody catches.
pub(crate) fn print_uncaught(thread: &Thread, exception: ObjectRef) {
    if !stage::is_up_to(Stage::Ready) {
        let message = exception
            .get_ref(known().throwable_message)
            .some()
            .map(string::text);
        console::warn(&format!("{}: {message:?}", exception.class().java_name()));
    }
    let print = exception.class().method_named("printStackTrace", "()V");
    if let Some(print) = print
        && thread.call_virtual(print, &[exception.0.into()]).is_err()
    {
        thread.take_exception();
    }
}

/// The end of `main`: waits for threads that are no daemons, runs the hooks. Then the calling
/// thread, which may end before the process does, is attached no more.
pub(crate) fn destroy(thread: &'static Thread) {
    let is_daemon = |other: &Arc<Thread>| {
        let Some(object) = other.object().some() else {
            return true;
        };
        object.get::<u8>(offset(object.class(), "daemon")) != 0
    };
    loop {
        let others = thread::all();
        let mut others = others
            .iter()
            .filter(|other| !core::ptr::eq(Arc::as_ptr(other), thread));
        if others.all(is_daemon) {
            break;
        }
        thread.outside(|| {
            thread
                .waiter
                .park_until(Some(console::now_ns() + 2_000_000))
        });
    }
    if call_static(thread, "java/lang/Shutdown", "shutdown", "()V", &[]).is_err() {
        thread.take_exception();
    }
    finish(Some(thread));
    thread::detach(thread);
}

/// What is left to do when the program is over.
fn finish(thread: Option<&'static Thread>) {
    if options::get().is_verifying
        && let Some(thread) = thread
    {
        heap_binding::verify(&Managed::enter(thread));
    }
    if options::get().is_compiling_loaded
        && let Some(thread) = thread
    {
        crate::start::ahead::compile_loaded(&Managed::enter(thread));
    }
    crate::realtime::profile::finish();
    crate::code::store::finish();
    crate::inspect::perf_map::finish();
    crate::inspect::attach::finish();
    crate::inspect::listing::finish();
    if options::get().is_reporting {
        // A real-time thread's lines are cut, and this is long.
        rt::lines::say_last(&figures::last_figures());
    }
    if let Some(file) = &options::get().report_file {
        figures::write(file);
    }
}

/// `Runtime.halt` and the end of `System.exit`.
pub(crate) fn leave(code: i32) -> ! {
    finish(thread::current());
    rt::lines::leave(code)
}
