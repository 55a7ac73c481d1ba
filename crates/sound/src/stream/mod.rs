// SPDX-License-Identifier: Apache-2.0
//! [`Stream`]: a device, its state, and who drives it: a callback's thread, or the application's
//! own thread in [`Stream::write`] and [`Stream::read`].
//!
//! `drive` moves frames; here are the requests. A callback's thread lives from start to stop and
//! holds the drive all the while, so nobody waits for it but who joins it.
//!
//! Lock order: control, drive, state. All inherit. State is held for a few stores.

mod budget;
mod drive;
mod reserve;
mod watch;

use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicI32, AtomicU32};

use rt::clock::{Clock as _, Monotonic};
use rt::policy::{Policy, Tid};
use rt::sync::{PiCondvar, PiMutex, Wake};
use rt::thread::{Builder, SpawnError, Thread};

use crate::device::{Backend, Device, DeviceError, Direction, Feature, Granted, Wanted};
use crate::governor::Governor;
use crate::published::{Published, Timestamp};
use crate::state::{Refusal, Request, State};
use drive::Drive;
use reserve::{Counts, Reserving};
pub use reserve::{Model, Overruns};

/// How long a waiter for a state sleeps before it looks at a device that nobody drives.
const LOOK_NS: u64 = 1_000_000;

/// Whether a callback wants to be called again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Yes.
    Continue,
    /// No: what it wrote is still played, then the stream stops.
    Stop,
}

/// What a callback is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// Frames to fill or take.
    pub frames: u32,
    /// The work units that were announced, which this call's reservation is made for.
    pub units: u32,
}

/// Fills or takes frames. Runs in a real-time section: it takes no memory and waits for nobody.
pub type Callback = Box<dyn FnMut(&mut [u8], Call) -> Flow + Send>;

/// Hears that the device is gone, once. Runs on the thread that found out.
pub type OnDisconnect = Box<dyn Fn() + Send + Sync>;

/// What calls the application back.
pub struct Playback {
    /// What it calls.
    pub callback: Callback,
    /// Frames of each call; a burst unless said.
    pub frames: Option<u32>,
    /// The policy of its thread; the creator's unless said.
    pub policy: Option<Policy>,
    /// Who predicts its reservation, if it is to have one: SCHED_DEADLINE in place of that policy,
    /// as far as the kernel grants it.
    pub reserve: Option<Model>,
    /// Sets the processor's speed by what is reserved; it is the largest unless said.
    pub governor: Option<Arc<Governor>>,
}

/// The policy that a callback's thread got.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// What was asked for.
    pub asked: Option<Policy>,
    /// What it started under, before any reservation.
    pub started: Option<Policy>,
    /// What it runs under; `None` before the first start.
    pub granted: Option<Policy>,
    /// Why it is not what was asked for, and how to mend it.
    pub refusal: Option<String>,
}

/// Why a call on a stream failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StreamError {
    /// The state, or the kind of stream, does not take it.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The device.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The machine gave no thread.
    #[error("no thread for the callback: {0}")]
    Thread(String),
    /// It did not happen in time.
    #[error("it took too long")]
    TimedOut,
}

struct Core {
    granted: Granted,
    /// Frames of a callback, or a burst.
    chunk: u32,
    has_callback: bool,
    is_paced: bool,
    published: Published,
    /// Frames that may lie in the buffer: the latency that the application chose.
    size: AtomicU32,
    /// What the next call will have to do, in the application's own unit.
    units: AtomicU32,
    state: PiMutex<State>,
    /// The same, for who must not wait.
    state_seen: AtomicU32,
    changed: PiCondvar,
    drive: PiMutex<Drive>,
    /// The thread that runs a callback or the hook; 0 without one.
    caller: AtomicI32,
    grant: PiMutex<Grant>,
    overruns: Counts,
    on_disconnect: Option<OnDisconnect>,
}

/// An open stream. Closing is dropping it.
pub struct Stream {
    core: Arc<Core>,
    /// Held by who starts, stops or closes. Holds the callback's thread.
    control: PiMutex<Option<Thread<()>>>,
}

impl Stream {
    /// Opens a device and a stream on it.
    ///
    /// # Errors
    ///
    /// The device's.
    pub fn open(
        backend: &Backend,
        wanted: &Wanted,
        playback: Option<Playback>,
        on_disconnect: Option<OnDisconnect>,
    ) -> Result<Self, DeviceError> {
        let frames = playback.as_ref().and_then(|it| it.frames);
        // Two calls' frames at least: one plays while the other is made.
        let at_least = frames.map(|it| it.saturating_mul(2));
        let device = backend.open(&Wanted {
            capacity: wanted.capacity.max(at_least),
            ..*wanted
        })?;
        Self::on(device, playback, on_disconnect)
    }

    /// A stream on a device that is open.
    ///
    /// # Errors
    ///
    /// A callback wants more frames than half the buffer.
    pub fn on(
        device: Box<dyn Device>,
        playback: Option<Playback>,
        on_disconnect: Option<OnDisconnect>,
    ) -> Result<Self, DeviceError> {
        let granted = device.granted();
        let asked = playback.as_ref().and_then(|it| it.policy);
        let frames = playback.as_ref().and_then(|it| it.frames);
        let chunk = frames.unwrap_or(granted.burst);
        if chunk == 0 || chunk > granted.capacity / 2 {
            return Err(DeviceError::Unsupported(Feature::CallbackFrames));
        }
        let is_paced = device.is_paced();
        let period_ns = granted.duration_ns(chunk.into());
        let model = playback.as_ref().and_then(|it| it.reserve);
        // A thread that never sleeps has no period.
        let reserving = model.filter(|_| is_paced);
        let governor = playback.as_ref().and_then(|it| it.governor.clone());
        let reserving = reserving.map(|model| Reserving::new(model, period_ns, governor));
        let callback = playback.map(|it| it.callback);
        let core = Core {
            granted,
            chunk,
            has_callback: callback.is_some(),
            is_paced,
            published: Published::default(),
            size: AtomicU32::new(2 * granted.burst.max(chunk)),
            units: AtomicU32::new(0),
            state: PiMutex::new(State::Open),
            state_seen: AtomicU32::new(State::Open as u32),
            changed: PiCondvar::new(),
            drive: PiMutex::new(Drive::new(device, callback, reserving, chunk)),
            caller: AtomicI32::new(0),
            grant: PiMutex::new(Grant {
                asked,
                started: None,
                granted: None,
                refusal: None,
            }),
            overruns: Counts::default(),
            on_disconnect,
        };
        Ok(Self {
            core: Arc::new(core),
            control: PiMutex::new(None),
        })
    }

    /// What the device gives.
    pub fn granted(&self) -> Granted {
        self.core.granted
    }

    /// The policy of the callback's thread.
    pub fn grant(&self) -> Grant {
        self.core.grant.lock().clone()
    }

    /// Frames of a call back, or of a burst.
    pub fn chunk(&self) -> u32 {
        self.core.chunk
    }

    /// Looks at a device that no callback drives, unless somebody does: counts are of now then.
    pub fn look(&self) {
        self.core.look();
    }

    /// The state, without a wait.
    pub fn state(&self) -> State {
        self.core.state()
    }

    /// Times that the hardware ran dry, by its own pointer.
    pub fn xruns(&self) -> u32 {
        self.core.published.xruns.load(Relaxed)
    }

    /// Calls that did not fit their reservation.
    pub fn overruns(&self) -> Overruns {
        self.core.overruns.read()
    }

    /// Frames that went into the stream: from the application, or from the device.
    pub fn frames_written(&self) -> u64 {
        self.core.published.written.load(Acquire)
    }

    /// Frames that left it: to the device, or to the application.
    pub fn frames_read(&self) -> u64 {
        self.core.published.read.load(Acquire)
    }

    /// The hardware pointer and when it was there, as last seen by who drives; `None` unless it
    /// moves.
    pub fn timestamp(&self) -> Option<Timestamp> {
        self.core.look();
        match self.state() {
            State::Started => self.core.published.timestamp(),
            _ => None,
        }
    }

    /// Frames that may lie in the buffer.
    pub fn buffer_size(&self) -> u32 {
        self.core.size.load(Relaxed)
    }

    /// Sets that, from a call's frames to the capacity; returns what it became. From the next burst
    /// on.
    pub fn set_buffer_size(&self, frames: u32) -> u32 {
        let size = frames.clamp(self.core.chunk, self.core.granted.capacity);
        self.core.size.store(size, Relaxed);
        size
    }

    /// Says how much work the next call will have, in a unit of the application's own: the thread's
    /// reservation follows, before that call begins. From any thread, the callback too.
    pub fn set_work_units(&self, units: u32) {
        self.core.units.store(units, Relaxed);
    }

    /// Whether this thread runs the callback: such a one must not wait for itself.
    pub fn is_caller(&self) -> bool {
        self.core.caller.load(Relaxed) == Tid::current().raw()
    }

    /// Moves. With a callback: starts its thread, which fills the buffer first.
    ///
    /// # Errors
    ///
    /// Not in this state, not from the callback; no thread.
    pub fn start(&self) -> Result<(), StreamError> {
        let mut thread = self.control()?;
        // Asked for before the join: a stream that moves has a thread that does not end.
        self.core.state().after(Request::Start, self.direction())?;
        if let Some(old) = thread.take() {
            old.join();
        }
        self.core.request(Request::Start)?;
        if !self.core.has_callback {
            let moved = self.core.drive.lock().run(&self.core);
            self.core.settle(State::Starting);
            return moved.map(drop).map_err(StreamError::from);
        }
        match self.spawn() {
            Ok(new) => *thread = Some(new),
            Err(error) => {
                self.core.set(State::Stopped);
                return Err(StreamError::Thread(error.to_string()));
            }
        }
        Ok(())
    }

    /// Stands still and keeps what was written, where the hardware can.
    ///
    /// # Errors
    ///
    /// Not for an input, not in this state, not from the callback.
    pub fn pause(&self) -> Result<(), StreamError> {
        let _control = self.control()?;
        self.core.request(Request::Pause)?;
        if !self.core.has_callback {
            self.core.drive.lock().pause(&self.core);
        }
        Ok(())
    }

    /// Drops what was written and not played.
    ///
    /// # Errors
    ///
    /// Not for an input, not while it moves.
    pub fn flush(&self) -> Result<(), StreamError> {
        let mut thread = self.control()?;
        self.core.state().after(Request::Flush, self.direction())?;
        if let Some(old) = thread.take() {
            old.join();
        }
        self.core.request(Request::Flush)?;
        self.core.drive.lock().flush(&self.core);
        Ok(())
    }

    /// Plays what was written, and stands.
    ///
    /// # Errors
    ///
    /// Not in this state, not from the callback.
    pub fn stop(&self) -> Result<(), StreamError> {
        let _control = self.control()?;
        if self.core.request(Request::Stop)? == State::Stopping && !self.core.has_callback {
            let mut drive = self.core.drive.lock();
            let _gone = drive.run(&self.core);
            drive.look(&self.core);
        }
        Ok(())
    }

    /// Gives the device back. Queries still answer. Waits for the callback's present call.
    ///
    /// # Errors
    ///
    /// Not from the callback.
    pub fn release(&self) -> Result<(), StreamError> {
        let mut thread = self.control()?;
        self.core.request(Request::Release)?;
        if let Some(old) = thread.take() {
            old.join();
        }
        let device = self.core.drive.lock().release();
        drop(device);
        Ok(())
    }

    /// Waits until the state is another than `seen`, and returns it.
    ///
    /// # Errors
    ///
    /// It still was at `due_ns`.
    pub fn wait_for_change(&self, seen: State, due_ns: u64) -> Result<State, StreamError> {
        loop {
            self.core.look();
            let mut state = self.core.state.lock();
            if *state != seen {
                return Ok(*state);
            }
            let now_ns = Monotonic.now_ns();
            if now_ns >= due_ns {
                return Err(StreamError::TimedOut);
            }
            let look_ns = due_ns.min(now_ns + LOOK_NS);
            let (Wake::Notified | Wake::TimedOut) =
                self.core.changed.wait_until(&mut state, look_ns);
        }
    }

    /// Plays these frames, as many as find room before `due_ns`; returns how many.
    ///
    /// # Errors
    ///
    /// It has a callback, is closing, or its device is gone.
    pub fn write(&self, bytes: &[u8], due_ns: u64) -> Result<usize, StreamError> {
        self.blocking(Direction::Output)?;
        drive::write(&self.core, bytes, due_ns)
    }

    /// Records into these frames, as many as come before `due_ns`; returns how many.
    ///
    /// # Errors
    ///
    /// It has a callback, is closing, or its device is gone.
    pub fn read(&self, bytes: &mut [u8], due_ns: u64) -> Result<usize, StreamError> {
        self.blocking(Direction::Input)?;
        drive::read(&self.core, bytes, due_ns)
    }

    fn direction(&self) -> Direction {
        self.core.granted.direction
    }

    fn blocking(&self, direction: Direction) -> Result<(), StreamError> {
        let is_fit = !self.core.has_callback && self.direction() == direction;
        match self.state() {
            State::Disconnected => Err(Refusal::Disconnected.into()),
            State::Closing | State::Closed => Err(Refusal::WrongState.into()),
            _ if !is_fit => Err(Refusal::WrongState.into()),
            _ => Ok(()),
        }
    }

    /// The right to start and stop; never for the callback, which would wait for itself.
    fn control(&self) -> Result<rt::sync::PiMutexGuard<'_, Option<Thread<()>>>, Refusal> {
        match self.is_caller() {
            true => Err(Refusal::WrongState),
            false => Ok(self.control.lock()),
        }
    }

    /// The callback's thread, under the policy asked for; under the creator's if that is refused.
    fn spawn(&self) -> Result<Thread<()>, SpawnError> {
        let start = |policy: Option<Policy>| {
            let core = Arc::clone(&self.core);
            let mut builder = Builder::new("sound");
            if let Some(policy) = policy {
                builder = builder.policy(policy);
            }
            builder.spawn(move || drive::call_back(&core))
        };
        let asked = {
            let mut grant = self.core.grant.lock();
            (grant.started, grant.granted, grant.refusal) = (None, None, None);
            grant.asked
        };
        let (thread, refusal) = match start(asked.filter(|_| self.core.is_paced)) {
            Err(SpawnError::Policy { source, .. }) => (start(None)?, Some(source.to_string())),
            other => {
                let free = "nothing paces this device, so its thread never sleeps";
                let is_kept = asked.is_some() && !self.core.is_paced;
                (other?, is_kept.then(|| free.to_owned()))
            }
        };
        if refusal.is_some() {
            let mut grant = self.core.grant.lock();
            grant.refusal = grant.refusal.take().or(refusal);
        }
        Ok(thread)
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let released = self.release();
        debug_assert!(released.is_ok(), "a callback does not close its stream");
    }
}

impl std::fmt::Debug for Stream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stream")
            .field("granted", &self.core.granted)
            .field("state", &self.state())
            .finish_non_exhaustive()
    }
}

impl Core {
    fn state(&self) -> State {
        let number = self.state_seen.load(Acquire);
        State::from_number(number).unwrap_or_else(|| unreachable!("only states are stored"))
    }

    /// Takes a request; returns the state that it led to.
    fn request(&self, request: Request) -> Result<State, Refusal> {
        let mut state = self.state.lock();
        let next = state.after(request, self.granted.direction)?;
        self.store(&mut state, next);
        Ok(next)
    }

    /// Ends the way that began with `from`, unless another request came.
    fn settle(&self, from: State) {
        let mut state = self.state.lock();
        if *state == from {
            self.store(&mut state, from.settled());
        }
    }

    fn set(&self, next: State) {
        self.store(&mut self.state.lock(), next);
    }

    /// The device is gone: says so once.
    fn disconnect(&self) {
        let mut state = self.state.lock();
        if matches!(*state, State::Closing | State::Closed | State::Disconnected) {
            return;
        }
        self.store(&mut state, State::Disconnected);
        drop(state);
        if let Some(hook) = &self.on_disconnect {
            // Like a callback's, this thread must not end the stream that it is in.
            let caller = self.caller.swap(Tid::current().raw(), Relaxed);
            hook();
            self.caller.store(caller, Relaxed);
        }
    }

    fn store(&self, state: &mut rt::sync::PiMutexGuard<'_, State>, next: State) {
        **state = next;
        // Pairs with Acquire in `state`: who sees it sees what led there.
        self.state_seen.store(next as u32, Release);
        self.changed.notify_all(state);
    }

    /// Looks at a device that no callback drives, if nobody else does.
    fn look(&self) {
        if !self.has_callback
            && let Some(mut drive) = self.drive.try_lock()
        {
            drive.look(self);
        }
    }
}
