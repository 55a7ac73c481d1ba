// SPDX-License-Identifier: Apache-2.0
//! Methods with cold sites, linked again.
//!
//! Code that was made before the classes were there that it names asks by sites for ever, and holds
//! no body of theirs. One thread looks after such methods, in rounds. In a round it puts a stub in
//! the place of a method's entry. Who calls next puts the code back, and so says that the method is
//! called still. After [`CALLS_MIN`] such rounds the method gets new code, from the store or
//! compiled, if it would have fewer sites: by one store of its entry, which every call loads. Who
//! runs the older code finishes in it.
//!
//! A thread at SCHED_IDLE makes the new code, and ends. No caller waits for either thread: they
//! hold a method's turn for some stores alone, and a disk is left to others. What a real-time
//! thread runs stays as it is.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use rt::clock::{Clock, Monotonic};
use rt::policy::{Policy, PolicyError, Tid};

use crate::classes::class::Method;
use crate::classes::site::SiteKind;
use crate::code::cache::{self, CodeKind, run_apart, run_stored, with_compiler};
use crate::code::file::{Asked, Piece};
use crate::code::question::{Question, Validity};
use crate::code::store;
use crate::compile::answers::Cx;
use crate::compile::method::{key_of, tell};
use crate::compile::profile;
use crate::console;
use crate::options;
use crate::sync::lock::Lock;
use crate::sync::park::Parker;
use crate::threads::held;
use crate::threads::thread::Thread;

const THREAD: &str = "takt-again";
/// The thread that makes new code.
const LINKER: &str = "takt-link";

/// Rounds in which a method was called before it gets new code: what a start alone calls has fewer.
const CALLS_MIN: u32 = 3;
/// How often a method gets new code: by its classes, by its receivers.
const CODES_MAX: u32 = 2;
/// How often a method is tried whose classes are not there yet, with twice as many rounds each
/// time.
const TRIES_MAX: u32 = 6;
/// Methods that are looked after, at most: some megabytes.
const METHODS_MAX: usize = 1 << 14;
/// Bytes of new code in a process's life: code is never given back.
const BYTES_MAX: u64 = 16 << 20;
/// Rounds in which nobody called are up to so many times as far apart: an idle process sleeps.
const PAUSE_MAX: u64 = 64;

/// Methods that got new code.
pub(crate) static LINKED: AtomicU32 = AtomicU32::new(0);
/// Nanoseconds spent on that.
pub(crate) static LINK_NS: AtomicU64 = AtomicU64::new(0);
/// Methods that nobody looks after for want of room.
pub(crate) static DROPPED: AtomicU32 = AtomicU32::new(0);

static COUNT: AtomicU32 = AtomicU32::new(0);
static NEW: Lock<Vec<Candidate>> = Lock::new(Vec::new());
static WAKE: Parker = Parker::new();
static IS_STARTED: AtomicBool = AtomicBool::new(false);

/// A method that may win by new code.
struct Candidate {
    method: &'static Method,
    /// What its code asks by sites.
    sites: Vec<Question>,
    /// How many likely receivers its code was told, and of how many calls it counts them.
    told: usize,
    counted: usize,
    /// The stub that takes its entry's place, once made.
    stub: Option<u64>,
    /// Whether it lies there, or somebody has called since.
    is_watched: bool,
    /// Rounds in which it was called, since the last try.
    calls: u32,
    tries: u32,
    /// How often it got new code.
    codes: u32,
    /// How many sites had a better answer at the last look, and calls a likely receiver.
    answered: usize,
}

/// Has a method looked after whose new code is this, if there may be better code later. It was
/// linked again so often.
pub(crate) fn look_after(method: &'static Method, piece: &Piece, codes: u32) {
    if options::get().again_ms.is_none() || method.stays.load(Ordering::Relaxed) {
        return;
    }
    // A template's methods lie in memory that all copies share, until somebody writes there.
    if held::are_held() {
        return;
    }
    let sites: Vec<Question> = piece.asked.iter().filter_map(cold_site).collect();
    // A computed call is linked once: newer code would have another site for it.
    let is_computed = |it: &Asked| it.validity == Validity::Site(SiteKind::CallSite);
    let may_win = !sites.is_empty() || !piece.code.counted.is_empty();
    if !may_win || codes == CODES_MAX || piece.asked.iter().any(is_computed) {
        return;
    }
    if COUNT.fetch_add(1, Ordering::Relaxed) as usize >= METHODS_MAX {
        COUNT.fetch_sub(1, Ordering::Relaxed);
        DROPPED.fetch_add(1, Ordering::Relaxed);
        return;
    }
    NEW.lock().push(Candidate {
        method,
        sites,
        told: piece.classes.len(),
        counted: piece.code.counted.len(),
        stub: None,
        is_watched: false,
        calls: 0,
        tries: 0,
        codes,
        answered: 0,
    });
    start();
    WAKE.unpark();
}

/// The question, if its answer was a site and may be a better one later. Strings, computed
/// constants and calls are always asked by sites.
pub(super) fn cold_site(asked: &Asked) -> Option<Question> {
    let Validity::Site(kind) = asked.validity else {
        return None;
    };
    let is_lasting = matches!(
        kind,
        SiteKind::String | SiteKind::Computed | SiteKind::Handle | SiteKind::CallSite
    );
    (asked.scope == 0 && !is_lasting).then_some(asked.question)
}

/// Of a method that has code, which goes back to where its stub may lie.
pub(crate) fn called(thread: &Thread, method: &'static Method) -> Option<u64> {
    let entry = method.entry.load(Ordering::Relaxed);
    let code = method.compiled()?;
    if thread.real_time().is_some() {
        method.stays.store(true, Ordering::Relaxed);
    }
    if entry != code {
        // Another may have been faster, or newer code has come. Publishes nothing new: `compiled`
        // has the code, but who loads the entry pairs with this.
        let _ = method
            .entry
            .compare_exchange(entry, code, Ordering::Release, Ordering::Relaxed);
    }
    Some(code)
}

/// A method that a real-time thread will run: its entry stays from here on.
pub(crate) fn keep(method: &'static Method) {
    let _turn = method.turn.lock();
    method.stays.store(true, Ordering::Relaxed);
    if let Some(code) = method.compiled() {
        method.entry.store(code, Ordering::Release);
    }
}

/// Starts the thread once; a template's copies do.
fn start() {
    if held::are_held() || IS_STARTED.swap(true, Ordering::AcqRel) {
        return;
    }
    let spawned = std::thread::Builder::new().name(THREAD.into()).spawn(run);
    if let Err(error) = spawned {
        console::warn(&format!("no method is linked again: {error}"));
    }
}

/// What comes of a look at a method.
enum Next {
    /// Another look, in a round.
    Round,
    /// New code.
    Code,
    /// It stays as it is.
    Nothing,
}

fn run() {
    let round_ns = options::get().again_ms.unwrap_or(0) * 1_000_000;
    let (mut candidates, mut pause) = (Vec::new(), 1);
    loop {
        let next_ns = |rounds: u64| console::now_ns() + rounds * round_ns;
        if WAKE.park_until((!candidates.is_empty()).then(|| next_ns(pause))) {
            // More come one after the other. The permit that lies here keeps each of them from
            // waking this thread, which would cost who calls a method first a system call.
            WAKE.put_back();
            Monotonic.sleep_until(next_ns(1));
            WAKE.try_park();
        }
        let new = core::mem::take(&mut *NEW.lock());
        let mut is_busy = !new.is_empty();
        let (old, mut ready) = (core::mem::take(&mut candidates), Vec::new());
        for mut candidate in old.into_iter().chain(new) {
            let calls = candidate.calls;
            let next = candidate.look();
            is_busy |= candidate.calls != calls;
            match next {
                Next::Round => candidates.push(candidate),
                Next::Code => ready.push(candidate),
                Next::Nothing => {
                    COUNT.fetch_sub(1, Ordering::Relaxed);
                }
            }
        }
        if !ready.is_empty()
            && let Err(error) = link_all(ready)
        {
            return console::warn(&format!("no method is linked again: {error}"));
        }
        pause = if is_busy {
            1
        } else {
            (pause * 2).min(PAUSE_MAX)
        };
    }
}

/// Gives methods new code. The thread that does so is there for this alone: one at SCHED_IDLE that
/// only waits would hold up the end of its process while others have work.
fn link_all(ready: Vec<Candidate>) -> Result<(), String> {
    let work = move || {
        Policy::Idle.apply(Tid::current())?;
        for candidate in ready {
            candidate.link();
            COUNT.fetch_sub(1, Ordering::Relaxed);
        }
        Ok::<_, PolicyError>(())
    };
    let linker = std::thread::Builder::new().name(LINKER.into()).spawn(work);
    let done = linker.map_err(|error| error.to_string())?.join();
    let done = done.map_err(|_| "its thread has ended".to_owned())?;
    done.map_err(|error| error.to_string())
}

impl Candidate {
    /// One round.
    fn look(&mut self) -> Next {
        if self.is_watched {
            if Some(self.method.entry.load(Ordering::Relaxed)) == self.stub {
                return Next::Round;
            }
            self.calls += 1;
        }
        if self.calls < CALLS_MIN << self.tries {
            return self.watch();
        }
        let mut cx = self.context();
        let answered = self.sites.iter().filter(|&&it| cx.is_answered(it)).count();
        let answered = answered + profile::answered(self.method);
        if answered != self.answered {
            // Classes are coming: a thread that waits for one lets this one run.
            (self.calls, self.answered) = (self.calls - 1, answered);
            return self.watch();
        }
        if answered > 0 {
            return Next::Code;
        }
        (self.calls, self.tries) = (0, self.tries + 1);
        if self.tries == TRIES_MAX {
            return Next::Nothing;
        }
        self.watch()
    }

    fn context(&self) -> Cx<'static> {
        // What was told once counts no more.
        Cx::again(self.method, self.told == 0)
    }

    /// The next call says that it came, unless a real-time thread runs the method.
    fn watch(&mut self) -> Next {
        let stub = *self
            .stub
            .get_or_insert_with(|| cache::stub_for(self.method));
        let _turn = self.method.turn.lock();
        // Without code its first call is under way.
        let is_there = self.method.compiled().is_some();
        let stays = self.method.stays.load(Ordering::Relaxed);
        self.is_watched = is_there && !stays;
        if self.is_watched {
            self.method.entry.store(stub, Ordering::Release);
        }
        match stays {
            true => Next::Nothing,
            false => Next::Round,
        }
    }

    /// Gives the method new code, if that has fewer sites or is told more.
    fn link(&self) {
        if cache::is_full() {
            return;
        }
        let started_ns = console::now_ns();
        let mut cx = self.context();
        let stored = self.stored(&mut cx).map(|code| ("load again", code));
        let found = stored.or_else(|| Some(("compile again", self.compiled(&mut cx)?)));
        let Some((how, code)) = found else {
            return;
        };
        let turn = self.method.turn.lock();
        if self.method.stays.load(Ordering::Relaxed) {
            return;
        }
        self.method.install(code);
        drop(turn);
        LINKED.fetch_add(1, Ordering::Relaxed);
        LINK_NS.fetch_add(console::now_ns() - started_ns, Ordering::Relaxed);
        tell(how, self.method, code);
    }

    fn is_better(&self, piece: &Piece) -> bool {
        let sites = piece.asked.iter().filter_map(cold_site).count();
        let (told, counted) = (piece.classes.len(), piece.code.counted.len());
        let knows_more = told > self.told || told == self.told && counted < self.counted;
        sites < self.sites.len() || sites == self.sites.len() && knows_more
    }

    /// Code that another process has linked again.
    fn stored(&self, cx: &mut Cx<'_>) -> Option<u64> {
        let key = key_of(self.method)?;
        let mut all = store::find(&key);
        let found = all.find(|it| self.is_better(&it.piece) && cx.answers_as(&it.piece))?;
        let kind = CodeKind::Method(self.method);
        look_after(self.method, &found.piece, self.codes + 1);
        let named = cx.named(&found.piece);
        Some(run_stored(found, named, kind))
    }

    fn compiled(&self, cx: &mut Cx<'_>) -> Option<u64> {
        static BYTES: AtomicU64 = AtomicU64::new(0);
        if BYTES.load(Ordering::Relaxed) > BYTES_MAX {
            return None;
        }
        let function = self.method.translate().ok()?;
        cx.forget();
        let code = with_compiler(|compiler| compiler.method(&function, cx)).ok()?;
        let piece = cx.piece(code);
        if !self.is_better(&piece) {
            return None;
        }
        BYTES.fetch_add(piece.code.bytes.len() as u64, Ordering::Relaxed);
        let kind = CodeKind::Method(self.method);
        look_after(self.method, &piece, self.codes + 1);
        let named = cx.named(&piece);
        Some(run_apart(key_of(self.method), piece, named, kind))
    }
}
