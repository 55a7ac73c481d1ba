// SPDX-License-Identifier: Apache-2.0
//! [`Drive`]: moves frames between the application and a device.
//!
//! Bounds of a callback's thread between two waits: as many calls as the buffer has room for, a
//! copy of each, three calls of the device. It takes the lock of the state when the state changes.

use std::sync::atomic::Ordering::{Relaxed, Release};

use rt::clock::{Clock as _, Monotonic};
use rt::policy::{Policy, Tid};
use rt::section::RtSection;

use crate::device::{Device, DeviceError, Direction};
use crate::state::{Refusal, Request, State};
use crate::stream::{Call, Callback, Core, Flow, Reserving, StreamError};

/// The shortest sleep of a blocking call: a device whose pointer jumps is not asked in a loop.
const SLEEP_NS_MIN: u64 = 100_000;
/// Beyond the time that a buffer plays: what a slow device may take to stand.
const DRAIN_SLACK_NS: u64 = 200_000_000;

pub(super) struct Drive {
    /// `None` once it is given back.
    device: Option<Box<dyn Device>>,
    callback: Option<Callback>,
    reserving: Option<Reserving>,
    /// A call's frames.
    scratch: Box<[u8]>,
    /// Frames that the application wrote or read.
    moved: u64,
}

impl Drive {
    pub(super) fn new(
        device: Box<dyn Device>,
        callback: Option<Callback>,
        reserving: Option<Reserving>,
        chunk: u32,
    ) -> Self {
        let bytes = chunk as usize * device.granted().frame_bytes();
        Self {
            device: Some(device),
            callback,
            reserving,
            scratch: vec![0; bytes].into(),
            moved: 0,
        }
    }

    pub(super) fn release(&mut self) -> Option<Box<dyn Device>> {
        let mut device = self.device.take();
        if let Some(device) = &mut device {
            device.discard();
        }
        device
    }

    fn device(&mut self) -> Result<&mut dyn Device, DeviceError> {
        match &mut self.device {
            Some(device) => Ok(device.as_mut()),
            None => Err(DeviceError::Disconnected),
        }
    }

    /// The hardware pointer, told to everybody; where it ran dry, that is counted.
    fn refresh(&mut self, core: &Core) -> Result<u64, DeviceError> {
        let device = self.device()?;
        let mut found = device.position();
        if found == Err(DeviceError::Xrun) {
            count_xrun(core);
            found = device.position();
        }
        let at = found?;
        core.published.stamp(at);
        self.publish(core, at.frames);
        Ok(at.frames)
    }

    fn publish(&self, core: &Core, pointer: u64) {
        let (written, read) = match core.granted.direction {
            Direction::Output => (self.moved, pointer),
            Direction::Input => (pointer, self.moved),
        };
        // Never back: at a stop the pointer of an input from a file does go back.
        core.published.written.fetch_max(written, Release);
        core.published.read.fetch_max(read, Release);
    }

    /// Moves the device; whether it moves. An underrun that shows only now is counted.
    pub(super) fn run(&mut self, core: &Core) -> Result<bool, DeviceError> {
        let device = self.device()?;
        match device.run() {
            Err(DeviceError::Xrun) => {
                count_xrun(core);
                device.run()
            }
            other => other,
        }
    }

    /// After so many frames of a blocking call: moves the device. What was moved is not lost to an
    /// error, which the next look finds again.
    fn keep_on(&mut self, core: &Core, count: usize) -> Result<usize, DeviceError> {
        if !core.state().is_active() {
            return Ok(count);
        }
        match self.run(core) {
            Err(error) if count == 0 => Err(error),
            Ok(_) | Err(_) => Ok(count),
        }
    }

    pub(super) fn pause(&mut self, core: &Core) {
        if let Ok(device) = self.device() {
            device.halt();
        }
        let _gone = self.refresh(core);
        core.settle(State::Pausing);
    }

    pub(super) fn flush(&mut self, core: &Core) {
        self.discard(core);
        core.settle(State::Flushing);
    }

    /// For a stream without a callback: the pointer now; a stream that stops, and has played all,
    /// stands.
    pub(super) fn look(&mut self, core: &Core) {
        let state = core.state();
        if !matches!(state, State::Started | State::Stopping) {
            return;
        }
        match self.refresh(core) {
            Ok(pointer) if state == State::Stopping => {
                let is_input = core.granted.direction == Direction::Input;
                if is_input || pointer >= self.moved {
                    self.stand(core);
                }
            }
            Ok(_) => {}
            Err(_) => core.disconnect(),
        }
    }

    /// All is played.
    fn stand(&mut self, core: &Core) {
        self.discard(core);
        core.settle(State::Stopping);
    }

    /// Both the pointer and the application move past what was not played, or not read.
    fn discard(&mut self, core: &Core) {
        if let Some(device) = &mut self.device {
            self.moved = device.discard();
            let _gone = self.refresh(core);
        }
    }

    /// Waits until what was written is played, at most for the buffer's time and some.
    fn drain(&mut self, core: &Core) {
        let size_ns = core.granted.duration_ns(core.granted.capacity.into());
        let due_ns = Monotonic.now_ns() + size_ns + DRAIN_SLACK_NS;
        let is_output = core.granted.direction == Direction::Output;
        while is_output && core.state() == State::Stopping && Monotonic.now_ns() < due_ns {
            let moved = self.moved;
            match self.refresh(core) {
                Ok(pointer) if pointer < moved => {}
                _ => break,
            }
            let Ok(device) = self.device() else { break };
            // A sound shorter than the buffer has not begun yet.
            match device.run() {
                Ok(_) => device.wait(moved, due_ns),
                Err(_) => break,
            }
        }
        self.stand(core);
    }

    /// One wake-up of a callback's thread: all calls that the buffer has room for, or frames for.
    fn burst(&mut self, core: &Core) -> Result<(), DeviceError> {
        if let Some(reserving) = &mut self.reserving {
            reserving.wake();
        }
        let pointer = self.refresh(core)?;
        let (size, chunk) = (u64::from(core.size.load(Relaxed)), u64::from(core.chunk));
        for _ in 0..core.granted.capacity / core.chunk {
            let is_due = match core.granted.direction {
                Direction::Output => self.moved - pointer + chunk <= size.max(chunk),
                Direction::Input => pointer >= self.moved + chunk,
            };
            if !is_due || !core.state().is_active() {
                break;
            }
            let units = core.units.load(Relaxed);
            if let Some(reserving) = &mut self.reserving {
                reserving.before(units, &core.overruns);
            }
            let flow = RtSection::enter(|rt| self.call(core, units, rt))?;
            if let Some(reserving) = &mut self.reserving {
                reserving.after(units, &core.overruns);
            }
            if flow == Flow::Stop {
                // Refused only if another request came first.
                let _ = core.request(Request::Stop);
                break;
            }
            self.publish(core, pointer);
        }
        self.publish(core, pointer);
        if let Some(reserving) = &mut self.reserving {
            reserving.settle(core.units.load(Relaxed), &core.grant);
        }
        Ok(())
    }

    /// One call: its frames in or out.
    fn call(&mut self, core: &Core, units: u32, _: &RtSection<'_>) -> Result<Flow, DeviceError> {
        let Some(device) = &mut self.device else {
            return Err(DeviceError::Disconnected);
        };
        let Some(callback) = &mut self.callback else {
            return Ok(Flow::Stop);
        };
        let bytes = &mut *self.scratch;
        let frames = core.chunk;
        let call = Call { frames, units };
        if core.granted.direction == Direction::Input {
            match device.read(bytes) {
                Ok(frames) => self.moved += frames as u64,
                // It ran over just now: these frames come with the next look.
                Err(DeviceError::Xrun) => {
                    count_xrun(core);
                    return Ok(Flow::Continue);
                }
                Err(error) => return Err(error),
            }
            return Ok(callback(bytes, call));
        }
        bytes.fill(0);
        let flow = callback(bytes, call);
        let written = match device.write(bytes) {
            // It ran dry during the call. It stands now, and takes these frames.
            Err(DeviceError::Xrun) => {
                count_xrun(core);
                device.write(bytes)
            }
            other => other,
        };
        self.moved += written? as u64;
        Ok(flow)
    }

    /// Sleeps until the next call is due.
    fn sleep(&mut self, core: &Core) -> Result<(), DeviceError> {
        let (size, chunk) = (u64::from(core.size.load(Relaxed)), u64::from(core.chunk));
        let target = match core.granted.direction {
            Direction::Output => (self.moved + chunk).saturating_sub(size.max(chunk)),
            Direction::Input => self.moved + chunk,
        };
        let longest_ns = core.granted.duration_ns(2 * core.granted.capacity as u64);
        let due_ns = Monotonic.now_ns() + longest_ns;
        self.device()?.wait(target, due_ns);
        Ok(())
    }
}

/// The hardware ran dry: a fault, unless the stream stops and wants just that.
fn count_xrun(core: &Core) {
    if core.granted.direction == Direction::Input || core.state() != State::Stopping {
        core.published.xruns.fetch_add(1, Relaxed);
    }
}

/// A callback's thread, from start to stop.
pub(super) fn call_back(core: &Core) {
    // Relaxed: only the thread itself must see its number.
    core.caller.store(Tid::current().raw(), Relaxed);
    let mut drive = core.drive.lock();
    let policy = Policy::of_current().ok();
    {
        let mut grant = core.grant.lock();
        (grant.started, grant.granted) = (policy, policy);
    }
    if let Some(reserving) = &mut drive.reserving {
        reserving.begin(policy);
    }
    let is_gone = loop {
        match core.state() {
            State::Starting | State::Started => {}
            State::Pausing => {
                drive.pause(core);
                break false;
            }
            State::Stopping => {
                drive.drain(core);
                break false;
            }
            _ => break false,
        }
        if step(&mut drive, core).is_err() {
            break true;
        }
    };
    if let Some(reserving) = &mut drive.reserving {
        reserving.end();
    }
    drop(drive);
    if is_gone {
        core.disconnect();
    }
    core.caller.store(0, Relaxed);
}

fn step(drive: &mut Drive, core: &Core) -> Result<(), DeviceError> {
    drive.burst(core)?;
    if drive.run(core)? {
        core.settle(State::Starting);
    }
    if core.state().is_active() {
        drive.sleep(core)?;
    }
    Ok(())
}

/// Plays frames for who waits. Bounds: the due time, and a sleep between two looks.
pub(super) fn write(core: &Core, bytes: &[u8], due_ns: u64) -> Result<usize, StreamError> {
    let frame_bytes = core.granted.frame_bytes();
    let total = bytes.len() / frame_bytes;
    transfer(core, total, due_ns, |drive, done| {
        let pointer = drive.refresh(core)?;
        let size = u64::from(core.size.load(Relaxed));
        let room = size.saturating_sub(drive.moved - pointer) as usize;
        let end = total.min(done + room);
        let device = drive.device()?;
        let count = device.write(&bytes[done * frame_bytes..end * frame_bytes])?;
        drive.moved += count as u64;
        drive.publish(core, pointer);
        drive.keep_on(core, count)
    })
}

/// Records frames for who waits. Bounds as in [`write`].
pub(super) fn read(core: &Core, bytes: &mut [u8], due_ns: u64) -> Result<usize, StreamError> {
    let frame_bytes = core.granted.frame_bytes();
    let total = bytes.len() / frame_bytes;
    transfer(core, total, due_ns, |drive, done| {
        let pointer = drive.refresh(core)?;
        let count = drive.device()?.read(&mut bytes[done * frame_bytes..])?;
        drive.moved += count as u64;
        drive.publish(core, pointer);
        drive.keep_on(core, count)
    })
}

fn transfer(
    core: &Core,
    total: usize,
    due_ns: u64,
    mut step: impl FnMut(&mut Drive, usize) -> Result<usize, DeviceError>,
) -> Result<usize, StreamError> {
    let mut done = 0;
    loop {
        let Ok(mut drive) = core.drive.lock_until(due_ns.max(Monotonic.now_ns())) else {
            return Ok(done);
        };
        match step(&mut drive, done) {
            Ok(count) => done += count,
            // It ran dry between two looks: the next one counts nothing twice.
            Err(DeviceError::Xrun) => count_xrun(core),
            Err(error) => {
                drop(drive);
                core.disconnect();
                // What was recorded before the end is the application's.
                return match (done, error) {
                    (0, _) => Err(Refusal::Disconnected.into()),
                    _ => Ok(done),
                };
            }
        }
        drop(drive);
        let now_ns = Monotonic.now_ns();
        let is_ending = matches!(core.state(), State::Closing | State::Closed);
        if done == total || now_ns >= due_ns || is_ending {
            return Ok(done);
        }
        let missing = (total - done).min(core.granted.burst as usize) as u64;
        let sleep_ns = core.granted.duration_ns(missing).max(SLEEP_NS_MIN);
        Monotonic.sleep_until(due_ns.min(now_ns + sleep_ns));
    }
}
