// SPDX-License-Identifier: Apache-2.0
//! [`Thread`]: a Java thread's native half, and calling Java from Rust.

use core::cell::{Cell, RefCell, UnsafeCell};
use core::mem::offset_of;
use core::ops::Deref;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use abi::context::MutatorContext;
use abi::object as header;
use compiler::machine_word;
use heap::Mutator;

use crate::classes::class::Method;
use crate::classes::object::ObjectRef;
use crate::memory;
use crate::memory::directory::Directory;
use crate::objects::heap_binding;
use crate::sync::lock::Lock;
use crate::sync::lock_word;
use crate::sync::park::Parker;
use crate::sync::waiters::Waiter;
use crate::threads::enter::{self, Resume};
use crate::threads::ledger::Ledger;
use crate::threads::lending::Lending;
use crate::threads::locals::{LOCALS_BYTES, LOCALS_GUARD_BYTES, LOCALS_RESERVE_BYTES};
use crate::threads::noted_locks::NotedLocks;
use crate::threads::real_time::RealTimeRecord;
use crate::threads::saved::Saved;
use crate::threads::waiting::Waiting;

/// An exception is pending in the current thread's context.
#[derive(Debug)]
#[must_use = "an exception is pending"]
pub(crate) struct Thrown(());

/// Where managed code was left when Rust called back into it.
#[repr(C)]
pub(crate) struct UpcallFrame {
    pub(crate) previous: *const UpcallFrame,
    pub(crate) last_frame: u64,
    pub(crate) last_method: u64,
    pub(crate) holds: Holds,
}

/// Whether the frames of Rust and native code between managed ones may hold references: see
/// `roots`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u64)]
pub(crate) enum Holds {
    /// None that is not in a local reference or in the thread's record.
    Nothing,
    /// Some, in any word or register that calls preserve.
    Any,
}

/// Stack below which managed code must not go: the compiler and native code run there.
pub(crate) const STACK_RESERVE_BYTES: u64 = 640 << 10;
/// Of the reserve, what is kept when an error about the stack itself is being made.
pub(crate) const STACK_LAST_BYTES: u64 = 256 << 10;
/// Values that a call passes at most: the class file format's limit, a receiver and 255 words.
const PARAMETERS_MAX: usize = 256;
/// What a thread that others made must have at least.
const STACK_BYTES_MIN: u64 = STACK_RESERVE_BYTES + (128 << 10);

/// One attached thread. Cells are touched by the thread itself only.
pub(crate) struct Thread {
    /// Lies in the heap's record of this thread, which lives until the thread detaches.
    context: *const MutatorContext,
    /// The heap's side; none once the thread has detached.
    mutator: UnsafeCell<Option<Mutator>>,
    /// The `java.lang.Thread`, for others to see; compiled code reads it from the context.
    object: AtomicU32,
    pub(crate) saved: Saved,
    pub(crate) locals_start: u64,
    /// Another one in a copy of the process.
    tid: AtomicU32,
    pub(crate) upcalls: Cell<*const UpcallFrame>,
    pub(crate) resume: Cell<Resume>,
    /// What runs is done early, for no program that asked: it may fail, and be tried again.
    pub(crate) is_ahead: Cell<bool>,
    /// An OutOfMemoryError is being made.
    pub(crate) is_out_of_memory: Cell<bool>,
    /// Marks of `PushLocalFrame`.
    pub(crate) local_frames: RefCell<Vec<u64>>,
    /// What frames without a proof of structured locking hold.
    pub(crate) noted_locks: NotedLocks,
    /// What native code has locked.
    pub(crate) native_locks: NotedLocks,
    pub(crate) parker: Parker,
    pub(crate) lending: Lending,
    /// Where this thread waits as a monitor's waiter.
    pub(crate) waiter: Waiter,
    pub(crate) waiting: Waiting,
    pub(crate) stack_low: AtomicU64,
    /// Of a real-time thread.
    real_time: Option<&'static RealTimeRecord>,
    /// When it was attached, on the monotonic clock.
    pub(crate) attached_ns: u64,
    crash_stack: u64,
    /// Under which its object finds it; 0 while it has none.
    number: AtomicU32,
}

// SAFETY: 1. Other threads touch atomics and parkers only; cells and what the heap knows are the
// thread's own, but for `waiter`'s, which belong to who holds the monitor in whose list it is.
// The collector reads `saved` and the context while the thread cannot change them.
unsafe impl Sync for Thread {}
// SAFETY: 1. A thread record is made by its own thread and never moves.
unsafe impl Send for Thread {}

/// Where each thread's way leads out of this room: to rooms above it, which `start` knows.
#[derive(Debug)]
pub(crate) struct Doors {
    /// Address of JNI's table of functions.
    pub(crate) jni_table: u64,
    /// Address of the table of functions that compiled code calls.
    pub(crate) entries: u64,
    /// Address of the code that has a method compiled at its first call.
    pub(crate) compile_stub: u64,
    /// Gives the calling thread a stack to report a crash on.
    pub(crate) attach_crash_stack: fn() -> u64,
    /// Takes back what `attach_crash_stack` gave.
    pub(crate) detach_crash_stack: fn(u64),
}

static DOORS: OnceLock<Doors> = OnceLock::new();

/// Before the first thread is attached.
pub(crate) fn open(doors: Doors) {
    let _ = DOORS.set(doors);
}

fn doors() -> &'static Doors {
    DOORS.get().expect("opened at start")
}

struct Records {
    /// Of attached threads.
    running: Vec<Arc<Thread>>,
    /// Of threads that have ended. A thread that holds one never holds it last: real-time threads
    /// free no memory.
    ended: Vec<Arc<Thread>>,
}

thread_local! {
    static CURRENT: Cell<Option<&'static Thread>> = const { Cell::new(None) };
}

/// Every record. One lock for both lists: were there one for the ended alone, threads that start
/// would not queue for it, and on a busy machine those that end would pile up there by the
/// thousand.
static THREADS: Lock<Records> = Lock::new(Records {
    running: Vec::new(),
    ended: Vec::new(),
});
/// By the numbers that thread objects hold.
static NUMBERED: Directory<Thread> = Directory::new();
/// Records that exist, and the most that there were.
static RECORDS: AtomicU32 = AtomicU32::new(0);
static RECORDS_MAX: AtomicU32 = AtomicU32::new(0);

/// Records that exist, of threads that run and threads that have ended, and the most that there
/// were.
pub(crate) fn record_counts() -> (u32, u32) {
    let count = |of: &AtomicU32| of.load(Ordering::Relaxed);
    (count(&RECORDS), count(&RECORDS_MAX))
}

/// Every attached thread.
pub(crate) fn all() -> Vec<Arc<Thread>> {
    THREADS.lock().running.clone()
}

/// The first attached thread that is wanted.
pub(crate) fn find(is_wanted: impl Fn(&Thread) -> bool) -> Option<Arc<Thread>> {
    let threads = THREADS.lock();
    let mut running = threads.running.iter();
    running.find(|thread| is_wanted(thread)).cloned()
}

/// Runs `work`, which neither waits nor reaches a safepoint, on the running thread whose object is
/// `object` and whose number was `number`; it does not end meanwhile.
pub(crate) fn with_numbered<T>(
    number: u32,
    object: ObjectRef,
    work: impl FnOnce(&Arc<Thread>) -> T,
) -> Option<T> {
    NUMBERED.with(number, object.0, work)
}

/// The calling thread, if attached.
pub(crate) fn current() -> Option<&'static Thread> {
    CURRENT.get()
}

/// The calling thread's stack: its lowest address and the first one behind it.
fn own_stack() -> (u64, u64) {
    let mut attributes = core::mem::MaybeUninit::<libc::pthread_attr_t>::uninit();
    let (mut low, mut size) = (core::ptr::null_mut(), 0);
    // SAFETY: 1. `attributes` is initialised by the first call, read by the second, destroyed by
    // the third.
    unsafe {
        if libc::pthread_getattr_np(libc::pthread_self(), attributes.as_mut_ptr()) != 0 {
            crate::console::fatal("the system does not say where a thread's stack lies");
        }
        libc::pthread_attr_getstack(attributes.as_ptr(), &mut low, &mut size);
        libc::pthread_attr_destroy(attributes.as_mut_ptr());
    }
    (low as u64, low as u64 + size as u64)
}

/// Whether the calling thread has stack enough to be attached; if not, what to tell the user.
pub(crate) fn check_own_stack() -> Result<(), String> {
    let (low, base) = own_stack();
    if base - low >= STACK_BYTES_MIN {
        return Ok(());
    }
    Err(format!(
        "The thread's stack of {}k is too small for Takt: give it 1024k (-Xss1m)",
        (base - low) >> 10
    ))
}

/// Attaches the calling thread to the machine, in managed state. `roots` are kept alive by somebody
/// else until then.
pub(crate) fn attach(roots: &[heap::ObjectRef]) -> &'static Thread {
    attach_as(roots, None)
}

/// As [`attach`]; a thread with a record is a real-time thread.
pub(crate) fn attach_as(
    roots: &[heap::ObjectRef],
    real_time: Option<&'static RealTimeRecord>,
) -> &'static Thread {
    if let Some(thread) = current() {
        return thread;
    }
    let doors = doors();
    let locals = memory::map_guarded(LOCALS_BYTES, LOCALS_GUARD_BYTES, "local references");
    let locals = locals.expect("room for a thread");
    let (low, base) = own_stack();
    let mutator = heap_binding::heap().attach(real_time.is_some(), roots);
    let shared = Arc::new(Thread {
        context: mutator.context(),
        mutator: UnsafeCell::new(Some(mutator)),
        object: AtomicU32::new(0),
        saved: Saved::new(base),
        locals_start: locals,
        tid: AtomicU32::new(crate::sync::lock::own_tid()),
        upcalls: Cell::new(core::ptr::null()),
        resume: Cell::new(Resume::default()),
        is_ahead: Cell::new(false),
        is_out_of_memory: Cell::new(false),
        local_frames: RefCell::new(Vec::new()),
        noted_locks: NotedLocks::default(),
        native_locks: NotedLocks::default(),
        parker: Parker::new(),
        lending: Lending::new(),
        waiter: Waiter::new(),
        waiting: Waiting::default(),
        stack_low: AtomicU64::new(low),
        real_time,
        attached_ns: crate::console::now_ns(),
        crash_stack: (doors.attach_crash_stack)(),
        number: AtomicU32::new(0),
    });
    let records = RECORDS.fetch_add(1, Ordering::Relaxed) + 1;
    RECORDS_MAX.fetch_max(records, Ordering::Relaxed);
    // SAFETY: 1. The thread's record is freed after `detach`; nobody calls that and goes on with
    // the record.
    let thread: &'static Thread = unsafe { &*Arc::as_ptr(&shared) };
    let context = thread.context();
    context
        .thread
        .store(core::ptr::from_ref(thread) as u64, Ordering::Relaxed);
    context.set_stack_limit(low + STACK_RESERVE_BYTES);
    let thin = lock_word::thin(thread.tid());
    context.thin_lock.store(thin, Ordering::Relaxed);
    thread.set_word(machine_word::JNI_TABLE, doors.jni_table);
    thread.set_word(machine_word::ENTRIES, doors.entries);
    thread.set_word(machine_word::LOCALS_TOP, locals);
    thread.set_word(
        machine_word::LOCALS_LIMIT,
        thread.locals_end() - LOCALS_RESERVE_BYTES as u64,
    );
    thread.set_word(crate::code::cache::COMPILE_STUB_WORD, doors.compile_stub);
    CURRENT.set(Some(thread));
    THREADS.lock().running.push(shared);
    thread
}

/// Takes the calling thread from the machine. The caller does not use the record afterwards.
pub(crate) fn detach(thread: &'static Thread) {
    let number = thread.number.load(Ordering::Relaxed);
    if number != 0 {
        NUMBERED.leave(number);
    }
    let own = {
        let running = &mut THREADS.lock().running;
        let at = running
            .iter()
            .position(|other| core::ptr::eq(Arc::as_ptr(other), thread));
        running.swap_remove(at.expect("it is attached"))
    };
    thread.set_object(ObjectRef::NULL);
    thread.set_word(machine_word::LOCALS_TOP, thread.locals_start);
    thread.saved.forget();
    // From here on neither the collector nor a visitor finds a thread behind the heap's record.
    thread.context().thread.store(0, Ordering::Relaxed);
    // SAFETY: 1. This is the thread itself, and no borrow of the mutator is alive.
    drop(unsafe { (*thread.mutator.get()).take() });
    memory::unmap(thread.locals_start, LOCALS_BYTES + LOCALS_GUARD_BYTES);
    CURRENT.set(None);
    (doors().detach_crash_stack)(thread.crash_stack);
    bury(own);
}

/// Frees the records of ended threads that nobody else holds, and notes `own` for the next thread
/// that ends.
///
/// A record among the ended has no number and is not among the running, and its thread is past its
/// last use: only who holds it could share it, so one that is held here alone stays so.
fn bury(own: Arc<Thread>) {
    let is_held = |record: &Arc<Thread>| Arc::strong_count(record) > 1;
    let unused = {
        let ended = &mut THREADS.lock().ended;
        let (held, unused) = ended.drain(..).partition(is_held);
        *ended = held;
        ended.push(own);
        unused
    };
    drop::<Vec<_>>(unused);
}

impl Drop for Thread {
    fn drop(&mut self) {
        RECORDS.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Thread {
    /// The thread behind a mutator's context.
    pub(crate) fn of_context(context: &MutatorContext) -> &'static Thread {
        let address = context.thread.load(Ordering::Relaxed);
        // SAFETY: 1. `attach` stored the address of a record that lives until the thread has ended;
        // `detach` takes the address away, and a context is used by its thread, or by who holds
        // that thread where it stands.
        unsafe { &*(address as *const Thread) }
    }

    /// The thread behind a `JNIEnv *`.
    pub(crate) fn of_env(env: u64) -> &'static Thread {
        let context = env - offset_of!(MutatorContext, machine) as u64;
        let address = memory::read::<u64>(context + offset_of!(MutatorContext, thread) as u64);
        // SAFETY: as in `of_context`; native code hands back the pointer it was given.
        unsafe { &*(address as *const Thread) }
    }

    /// The kernel's number.
    #[inline]
    pub(crate) fn tid(&self) -> u32 {
        self.tid.load(Ordering::Relaxed)
    }

    /// The calling thread is the only one of a copy of the process, and holds no lock.
    pub(crate) fn renumber(&self) {
        self.with_mutator(|mutator| mutator.note_fork());
        let tid = crate::sync::lock::own_tid();
        self.tid.store(tid, Ordering::Relaxed);
        let thin = lock_word::thin(tid);
        self.context().thin_lock.store(thin, Ordering::Relaxed);
    }

    /// Of a real-time thread.
    pub(crate) fn real_time(&self) -> Option<&'static RealTimeRecord> {
        self.real_time
    }

    /// The open ledger of a real-time thread.
    #[inline]
    pub(crate) fn ledger(&self) -> Option<&'static Ledger> {
        let ledger = &self.real_time?.ledger;
        ledger.is_open().then_some(ledger)
    }

    /// The record, to hold.
    pub(crate) fn shared(&self) -> Arc<Self> {
        let pointer = core::ptr::from_ref(self);
        // SAFETY: 1. `attach` makes every record in an `Arc`. 2. This one exists, so somebody holds
        // it.
        unsafe {
            Arc::increment_strong_count(pointer);
            Arc::from_raw(pointer)
        }
    }

    /// The calling thread can be found from here on by the number that this gives, with its object.
    pub(crate) fn enter_directory(&self) -> u32 {
        let number = NUMBERED.enter(self.object().0, self.shared());
        self.number.store(number, Ordering::Relaxed);
        number
    }

    pub(crate) fn env(&self) -> u64 {
        core::ptr::from_ref(&self.context().machine[machine_word::JNI_TABLE]) as u64
    }

    pub(crate) fn context(&self) -> &MutatorContext {
        // SAFETY: 1. The heap's record lives until `detach`, after which nobody asks.
        unsafe { &*self.context }
    }

    pub(crate) fn word(&self, word: usize) -> u64 {
        self.context().machine[word].load(Ordering::Relaxed)
    }

    pub(crate) fn set_word(&self, word: usize, value: u64) {
        self.context().machine[word].store(value, Ordering::Relaxed);
    }

    /// The `java.lang.Thread`. A root of this thread; others may read it.
    pub(crate) fn object(&self) -> ObjectRef {
        ObjectRef(self.object.load(Ordering::Acquire))
    }

    pub(crate) fn set_object(&self, object: ObjectRef) {
        // Another thread may have read the old one behind its own scan.
        let old = self.object().to_heap();
        self.with_mutator(|mutator| mutator.note_root(old));
        self.object.store(object.0, Ordering::Release);
        self.set_word(machine_word::THREAD_OBJECT, u64::from(object.0));
    }

    /// Lends the heap's side of this thread to `work`, which reaches no safepoint.
    #[inline]
    pub(crate) fn with_mutator<T>(&self, work: impl FnOnce(&mut Mutator) -> T) -> T {
        // SAFETY: 1. Only the thread itself calls. 2. `work` is the heap's, which calls nothing
        // that comes back here: scans of this thread's roots read its record and its context.
        let mutator = unsafe { &mut *self.mutator.get() };
        work(mutator.as_mut().expect("the thread is attached"))
    }

    /// As [`Self::with_mutator`], for work that may answer the collector: notes first where this
    /// stack ends.
    #[inline(never)]
    pub(crate) fn at_safepoint<T>(&self, work: impl FnOnce(&mut Mutator) -> T) -> T {
        self.saved.save();
        let result = self.with_mutator(work);
        // This frame holds registers of its caller's: it must not be gone before `work` ends.
        core::hint::black_box(&self.saved);
        result
    }

    /// As [`Self::at_safepoint`], where no Rust or native frame up to the last managed one holds a
    /// reference.
    pub(crate) fn at_managed_safepoint<T>(&self, work: impl FnOnce(&mut Mutator) -> T) -> T {
        self.save(Holds::Nothing);
        self.with_mutator(work)
    }

    /// Notes what the collector must look at of this stack.
    #[inline]
    fn save(&self, holds: Holds) {
        match holds {
            Holds::Any => self.saved.save(),
            Holds::Nothing => {
                let last_frame = self.context().last_frame.load(Ordering::Relaxed);
                self.saved.save_managed(last_frame);
            }
        }
    }

    /// Leaves managed state for native code, which holds local references only: the collector acts
    /// for this thread until it comes back.
    pub(crate) fn enter_native(&self) {
        self.at_managed_safepoint(Mutator::enter_native);
    }

    /// Comes back to managed state. What was saved on leaving it stays: the collector may be
    /// reading it, and no reference was touched since.
    pub(crate) fn leave_native(&self) {
        let held_ns = self.with_mutator(Mutator::leave_native);
        if held_ns > 0
            && let Some(ledger) = self.ledger()
        {
            ledger.handshakes.add(held_ns, None);
        }
    }

    /// Before it waits until `due_ns`, if there is such a time: see [`Mutator::expect_work`].
    pub(crate) fn expect_work(&self, due_ns: Option<u64>) {
        if let Some(due_ns) = due_ns {
            self.with_mutator(|mutator| mutator.expect_work(due_ns));
        }
    }

    /// Runs `work`, which may wait and touches no object, in native state. This frame stays
    /// meanwhile, with the registers that it saves of its caller's.
    #[inline(never)]
    pub(crate) fn outside<T>(&self, work: impl FnOnce() -> T) -> T {
        self.outside_holding(Holds::Any, work)
    }

    /// As [`Self::outside`]; `holds` says what the callers up to the last managed frame hold
    /// meanwhile.
    #[inline(never)]
    pub(crate) fn outside_holding<T>(&self, holds: Holds, work: impl FnOnce() -> T) -> T {
        if self.with_mutator(|mutator| mutator.is_native()) {
            return work();
        }
        self.save(holds);
        self.with_mutator(Mutator::enter_native);
        let result = work();
        self.leave_native();
        result
    }

    /// Runs `work`, which touches objects, in managed state: the way back for a while from within
    /// [`Self::outside`], whose `work` holds none.
    #[inline(never)]
    pub(crate) fn inside<T>(&self, work: impl FnOnce() -> T) -> T {
        if !self.with_mutator(|mutator| mutator.is_native()) {
            return work();
        }
        // Of the frame of `outside` and of its callers. Registers that they keep values in may lie
        // in frames of `work` now, and be registers again when those are gone.
        let noted = self.saved.noted();
        self.leave_native();
        let result = work();
        self.saved.put_back(&noted);
        self.with_mutator(Mutator::enter_native);
        result
    }

    /// Nanoseconds that it has run, in user code only or with the kernel's share.
    pub(crate) fn cpu_ns(&self, with_system: bool) -> Option<i64> {
        const USER: i32 = 1;
        const BOTH: i32 = 2;
        const OF_THREAD: i32 = 4;
        let kind = if with_system { BOTH } else { USER };
        // The kernel's own encoding of a thread's clock (`man clock_getres`,
        // CLOCK_THREAD_CPUTIME_ID of another thread).
        let clock = (!(self.tid() as i32) << 3) | kind | OF_THREAD;
        let mut time = libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        // SAFETY: 1. `time` is ours; a clock that is gone gives an error.
        let result = unsafe { libc::clock_gettime(clock, &mut time) };
        (result == 0).then_some(time.tv_sec * 1_000_000_000 + time.tv_nsec)
    }

    /// The pending exception or null.
    pub(crate) fn exception(&self) -> ObjectRef {
        ObjectRef(self.context().exception.load(Ordering::Relaxed))
    }

    pub(crate) fn take_exception(&self) -> ObjectRef {
        let exception = &self.context().exception;
        ObjectRef(exception.swap(header::NULL, Ordering::Relaxed))
    }

    pub(crate) fn set_exception(&self, exception: ObjectRef) -> Thrown {
        self.context()
            .exception
            .store(exception.0, Ordering::Relaxed);
        Thrown(())
    }

    /// The pending exception as an outcome.
    pub(crate) fn check(&self) -> Result<(), Thrown> {
        if self.exception().is_null() {
            Ok(())
        } else {
            Err(Thrown(()))
        }
    }

    /// Calls `method` as it is: no selection by the receiver.
    pub(crate) fn call(&self, method: &'static Method, args: &[u64]) -> Result<u64, Thrown> {
        self.call_holding(Holds::Any, method, args)
    }

    /// As [`Self::call`]; `holds` says what the caller and its callers, up to the last managed
    /// frame, hold meanwhile besides `args`, which are the callee's.
    pub(crate) fn call_holding(
        &self,
        holds: Holds,
        method: &'static Method,
        args: &[u64],
    ) -> Result<u64, Thrown> {
        debug_assert_eq!(
            args.len(),
            method.shape.parameters.len(),
            "{}",
            method.full_name()
        );
        let adapter = match method.adapter.load(Ordering::Acquire) {
            0 => self.adapter_for(method, args),
            adapter => adapter,
        };
        let frame = UpcallFrame {
            previous: self.upcalls.get(),
            last_frame: self.context().last_frame.load(Ordering::Relaxed),
            last_method: self.word(machine_word::LAST_METHOD),
            holds,
        };
        self.upcalls.set(&frame);
        let code = method.entry.load(Ordering::Acquire);
        let value = enter::enter(adapter, code, args, self.context());
        self.upcalls.set(frame.previous);
        self.context()
            .last_frame
            .store(frame.last_frame, Ordering::Relaxed);
        self.set_word(machine_word::LAST_METHOD, frame.last_method);
        self.check()?;
        Ok(value)
    }

    /// The adapter for `method`, found or made. No scan looks at where `args` may lie: meanwhile
    /// they are here too.
    #[cold]
    #[inline(never)]
    fn adapter_for(&self, method: &'static Method, args: &[u64]) -> u64 {
        let mut held = [0; PARAMETERS_MAX];
        held[..args.len()].copy_from_slice(args);
        let adapter = self.outside(|| crate::code::cache::adapter_for(method));
        core::hint::black_box(&held);
        adapter
    }

    /// Whether Java code called what runs now.
    pub(crate) fn has_java_frames(&self) -> bool {
        self.context().last_frame.load(Ordering::Relaxed) != 0
    }
}

/// Managed state for a while: native code called the machine. Ends in the state that it found.
pub(crate) struct Managed {
    thread: &'static Thread,
    was_native: bool,
}

impl Managed {
    pub(crate) fn enter(thread: &'static Thread) -> Self {
        let was_native = thread.with_mutator(|mutator| mutator.is_native());
        if was_native {
            thread.leave_native();
        }
        Self { thread, was_native }
    }

    /// Stays managed for good.
    pub(crate) fn for_good(mut self) -> &'static Thread {
        self.was_native = false;
        self.thread
    }
}

impl Deref for Managed {
    type Target = Thread;

    fn deref(&self) -> &Thread {
        self.thread
    }
}

impl Drop for Managed {
    /// What the function that native code called still knows of objects is a local reference.
    fn drop(&mut self) {
        if self.was_native {
            self.thread.enter_native();
        }
    }
}
