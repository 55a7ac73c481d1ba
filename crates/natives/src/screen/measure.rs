// SPDX-License-Identifier: Apache-2.0
//! [`Measure`]: from an input to the frame after it, for `takt bench input`. It is there when it is
//! asked for; every store of it is made beforehand.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};

use jni_sys::{jclass, jint, jstring};

use super::{change, now_ns, state};
use crate::env::Env;
use crate::system_clock;

/// Inputs of one measurement: minutes of touches.
const INPUTS_MAX: usize = 20_000;
/// Frames of as long, and more than one for each beat.
const FRAMES_MAX: usize = 40_000;

/// An input's way; zero for what has not come.
#[derive(Clone, Copy, Default)]
struct Way {
    at_ns: u64,
    taken_ns: u64,
    finished_ns: u64,
    posted_ns: u64,
    /// Processor time of the process: when it came, and when the frame was posted.
    processor_at_ns: u64,
    processor_posted_ns: u64,
}

/// What is measured, in order.
pub(super) struct Measure {
    ways: Vec<Way>,
    /// Those before are posted.
    posted: usize,
    frames: Vec<u64>,
    is_full: bool,
}

/// Does anybody measure? Who takes and finishes input takes the display's lock for that alone.
static IS_MEASURED: AtomicBool = AtomicBool::new(false);

/// Runs if this is measured.
pub(super) fn while_measured(run: impl FnOnce(&mut Measure)) {
    // The lock orders what is kept: who sees this late misses an input of no measurement.
    if !IS_MEASURED.load(Ordering::Relaxed) {
        return;
    }
    if let Some(measure) = state().as_mut().and_then(|it| it.measure.as_mut()) {
        run(measure);
    }
}

fn processor_ns() -> u64 {
    system_clock::now_ns(libc::CLOCK_PROCESS_CPUTIME_ID).cast_unsigned()
}

impl Measure {
    fn new() -> Self {
        Self {
            ways: Vec::with_capacity(INPUTS_MAX),
            posted: 0,
            frames: Vec::with_capacity(FRAMES_MAX),
            is_full: false,
        }
    }

    /// An input came to the display.
    pub(super) fn came(&mut self, at_ns: u64) {
        if self.ways.len() == INPUTS_MAX {
            self.is_full = true;
            return;
        }
        self.ways.push(Way {
            at_ns,
            processor_at_ns: processor_ns(),
            ..Way::default()
        });
    }

    /// The looper has the input of that time.
    pub(super) fn taken(&mut self, at_ns: u64) {
        let open = self.ways[self.posted..].iter_mut();
        if let Some(way) = open
            .filter(|it| it.taken_ns == 0)
            .find(|it| it.at_ns == at_ns)
        {
            way.taken_ns = now_ns();
        }
    }

    /// The handler of the oldest input that was taken has returned.
    pub(super) fn finished(&mut self) {
        let mut open = self.ways[self.posted..].iter_mut();
        let is_next = |it: &&mut Way| it.taken_ns > 0 && it.finished_ns == 0;
        if let Some(way) = open.find(is_next) {
            way.finished_ns = now_ns();
        }
    }

    /// A frame is there: it shows what came of inputs that are finished.
    pub(super) fn posted(&mut self) {
        let at_ns = now_ns();
        match self.frames.len() < FRAMES_MAX {
            true => self.frames.push(at_ns),
            false => self.is_full = true,
        }
        while let Some(way) = self
            .ways
            .get_mut(self.posted)
            .filter(|it| it.finished_ns > 0)
        {
            way.posted_ns = at_ns;
            way.processor_posted_ns = processor_ns();
            self.posted += 1;
        }
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for way in &self.ways[..self.posted] {
            let processor_ns = way.processor_posted_ns - way.processor_at_ns;
            let numbers = [way.at_ns, way.taken_ns, way.finished_ns, way.posted_ns];
            let [at, taken, finished, posted] = numbers;
            // A string grows.
            let _ = writeln!(
                text,
                "input {at} {taken} {finished} {posted} {processor_ns}"
            );
        }
        for frame in &self.frames {
            let _ = writeln!(text, "frame {frame}");
        }
        text
    }
}

/// Measures from now on.
#[unsafe(no_mangle)]
extern "system" fn Java_takt_screen_Native_measure(env: Env, _: jclass) {
    change(env, |state| {
        state.measure = Some(Measure::new());
        IS_MEASURED.store(true, Ordering::Relaxed); // Read as in `while_measured`.
    });
}

/// How many inputs have a frame after them.
#[unsafe(no_mangle)]
extern "system" fn Java_takt_screen_Native_measuredCount(env: Env, _: jclass) -> jint {
    let count = change(env, |state| {
        state.measure.as_ref().map_or(0, |it| it.posted)
    });
    count.map_or(0, |it| it as jint)
}

/// Ends it, and writes its lines; null, or why they are not there.
#[unsafe(no_mangle)]
extern "system" fn Java_takt_screen_Native_measured(env: Env, _: jclass, path: jstring) -> jstring {
    let measure = change(env, |state| {
        IS_MEASURED.store(false, Ordering::Relaxed); // Read as in `while_measured`.
        state.measure.take()
    });
    let measure = measure.flatten();
    let path = env.text(path).unwrap_or_default();
    let outcome = match measure {
        None => Err("nothing was measured".to_owned()),
        Some(it) if it.is_full => Err("more came than is kept".to_owned()),
        Some(it) => {
            std::fs::write(&path, it.text()).map_err(|it| format!("cannot write {path}: {it}"))
        }
    };
    match outcome {
        Ok(()) => core::ptr::null_mut(),
        Err(fault) => env.string_of(&fault),
    }
}
