// SPDX-License-Identifier: Apache-2.0
//! A stream on PipeWire: its server has the card, mixes what all programs play, and resamples.
//!
//! A thread of ours runs PipeWire's loop; it hears states and faults. PipeWire's own data thread
//! takes frames from the [`Queue`], a quantum at a time. So the pointer is the server's: what its
//! graph has asked for. The graph's buffers and the card's come on top of what a stream's pointer
//! says. The quantum is learned as the stream opens: it is the burst.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use pipewire::channel;
use pipewire::context::Context;
use pipewire::main_loop::MainLoop;
use pipewire::properties::{Properties, properties};
use pipewire::spa::param::ParamType;
use pipewire::spa::param::audio::{AudioFormat, AudioInfoRaw};
use pipewire::spa::pod::serialize::PodSerializer;
use pipewire::spa::pod::{Object, Pod, Value};
use pipewire::spa::utils::{Direction as Way, SpaTypes};
use pipewire::stream::{Stream, StreamFlags, StreamRef, StreamState};
use rt::clock::{Clock as _, Monotonic};
use rt::policy::Policy;
use rt::sync::{Event, PiMutex};
use rt::thread::{Builder, Thread};

use crate::device::queue::{Ends, Queue, Shared};
use crate::device::{DeviceError, Direction, Granted, Wanted};
use crate::format::Format;

/// The largest quantum of a server.
const QUANTUM_MAX: u64 = 8_192;
/// Quanta that a buffer holds at least.
const QUANTA_MIN: u32 = 4;
/// For the server's answer.
const OPEN_NS_MAX: u64 = 3_000_000_000;
/// For a session manager to give the stream a sink, and for two quanta.
const LINK_NS_MAX: u64 = 1_000_000_000;
/// The first quantum may be that of before the stream came.
const CALLS_MIN: u64 = 3;
const SAMPLE_BYTES: usize = Format::F32.bytes();

/// What keeps the other end: a thread with PipeWire's loop.
pub(super) struct Connection {
    quit: channel::Sender<()>,
    thread: Option<Thread<()>>,
}

impl Drop for Connection {
    fn drop(&mut self) {
        // Refused only where the loop has ended.
        let _ = self.quit.send(());
        if let Some(thread) = self.thread.take() {
            thread.join();
        }
    }
}

/// What the loop and the data thread tell.
struct Told {
    shared: Arc<Shared>,
    outcome: PiMutex<Option<Result<(), String>>>,
    /// How often the data thread has come, and the last quantum.
    calls: AtomicU64,
    quantum: AtomicU64,
    news: Event,
}

impl Told {
    /// The first one stays.
    fn end(&self, outcome: Result<(), String>) {
        let mut known = self.outcome.lock();
        if outcome.is_err() {
            self.shared.end();
        }
        known.get_or_insert(outcome);
        drop(known);
        self.news.set();
    }

    fn outcome(&self) -> Option<Result<(), String>> {
        self.outcome.lock().clone()
    }
}

/// Opens a stream to the default sink, or to the one of this name.
pub(super) fn open(
    sink: Option<&str>,
    plan: &Granted,
    wanted: &Wanted,
) -> Result<Queue<Connection>, DeviceError> {
    if plan.direction == Direction::Input {
        let why = "pipewire records nothing yet: not supported";
        return Err(DeviceError::Unavailable(why.to_owned()));
    }
    let channels = plan.channels as usize;
    let room = (plan.capacity as u64).max(u64::from(QUANTA_MIN) * QUANTUM_MAX) as usize;
    let ends = Ends::new(room, channels);
    let told = Arc::new(Told {
        shared: Arc::clone(&ends.shared),
        outcome: PiMutex::new(None),
        calls: AtomicU64::new(0),
        quantum: AtomicU64::new(0),
        news: Event::new(),
    });
    let connection = begin(&told, sink, plan)?;
    let unavailable = |why: String| DeviceError::Unavailable(format!("pipewire: {why}"));
    let due_ns = Monotonic.now_ns() + OPEN_NS_MAX;
    while told.outcome().is_none() && Monotonic.now_ns() < due_ns {
        let _woken = told.news.wait_until(due_ns);
    }
    match told.outcome() {
        Some(Ok(())) => {}
        Some(Err(why)) => return Err(unavailable(why)),
        None => return Err(unavailable("the server does not answer".to_owned())),
    }
    let due_ns = Monotonic.now_ns() + LINK_NS_MAX;
    while told.calls.load(Acquire) < CALLS_MIN && Monotonic.now_ns() < due_ns {
        let _woken = told.news.wait_until(due_ns);
    }
    let quantum = told.quantum.load(Relaxed).min(QUANTUM_MAX) as u32;
    let burst = if quantum == 0 { plan.burst } else { quantum };
    let capacity = plan
        .capacity
        .max(QUANTA_MIN * burst)
        .next_multiple_of(burst);
    let granted = Granted {
        burst,
        capacity: capacity.min(room as u32 / burst * burst),
        format: wanted.format.unwrap_or(Format::F32),
        hardware_format: Format::F32,
        ..*plan
    };
    Ok(ends.kept(granted, granted.rate, None, connection))
}

fn begin(told: &Arc<Told>, sink: Option<&str>, plan: &Granted) -> Result<Connection, DeviceError> {
    let (quit, asked) = channel::channel();
    let (own, sink, plan) = (Arc::clone(told), sink.map(str::to_owned), *plan);
    let body = move || {
        let ended = run(&own, asked, sink.as_deref(), &plan);
        own.end(Err(ended.map_or_else(
            |error| error.to_string(),
            |()| "the connection has ended".to_owned(),
        )));
    };
    let builder = Builder::new("pipewire").policy(Policy::ordinary());
    let thread = builder
        .spawn(body)
        .map_err(|error| DeviceError::Unavailable(format!("pipewire: {error}")))?;
    Ok(Connection {
        quit,
        thread: Some(thread),
    })
}

/// What the server is to know of the stream.
fn stream_properties(sink: Option<&str>, plan: &Granted) -> Properties {
    let mut all = properties! {
        *pipewire::keys::MEDIA_TYPE => "Audio",
        *pipewire::keys::MEDIA_CATEGORY => "Playback",
        *pipewire::keys::MEDIA_ROLE => "Music",
        *pipewire::keys::NODE_NAME => "takt",
        *pipewire::keys::NODE_LATENCY => format!("{}/{}", plan.burst, plan.rate),
    };
    if let Some(sink) = sink {
        all.insert("target.object", sink);
    }
    all
}

/// The loop's thread: from the connection to its end.
fn run(
    told: &Arc<Told>,
    asked: channel::Receiver<()>,
    sink: Option<&str>,
    plan: &Granted,
) -> Result<(), pipewire::Error> {
    pipewire::init();
    let main = MainLoop::new(None)?;
    let context = Context::new(&main)?;
    let core = context.connect(None)?;
    let quit = {
        let main = main.clone();
        move || main.quit()
    };
    let end = quit.clone();
    let _asked = asked.attach(main.loop_(), move |()| end());
    let (own, end) = (Arc::clone(told), quit.clone());
    let fault = move |id, _, _, text: &str| {
        // Of the server itself: its end, as a rule.
        if id == pipewire::core::PW_ID_CORE {
            own.end(Err(text.to_owned()));
            end();
        }
    };
    let _faults = core.add_listener_local().error(fault).register();
    let stream = Stream::new(&core, "takt", stream_properties(sink, plan))?;
    let own = Arc::clone(told);
    let state_changed = move |_: &StreamRef, (): &mut (), _, new| match new {
        StreamState::Paused | StreamState::Streaming => own.end(Ok(())),
        StreamState::Error(text) => {
            own.end(Err(text));
            quit();
        }
        StreamState::Unconnected | StreamState::Connecting => {}
    };
    let own = Arc::clone(told);
    let frame_bytes = plan.channels as usize * SAMPLE_BYTES;
    let process = move |stream: &StreamRef, (): &mut ()| take(&own, stream, frame_bytes);
    let _listener = stream
        .add_local_listener()
        .state_changed(state_changed)
        .process(process)
        .register()?;
    let format = format(plan);
    let mut formats: Vec<&Pod> = Pod::from_bytes(&format).into_iter().collect();
    let flags = StreamFlags::AUTOCONNECT | StreamFlags::MAP_BUFFERS | StreamFlags::RT_PROCESS;
    stream.connect(Way::Output, None, flags, &mut formats)?;
    main.run();
    Ok(())
}

/// The one form that the stream has; the server converts.
fn format(plan: &Granted) -> Vec<u8> {
    let mut info = AudioInfoRaw::new();
    info.set_format(AudioFormat::F32LE);
    info.set_rate(plan.rate);
    info.set_channels(plan.channels);
    let object = Value::Object(Object {
        type_: SpaTypes::ObjectParamFormat.as_raw(),
        id: ParamType::EnumFormat.as_raw(),
        properties: info.into(),
    });
    let written = PodSerializer::serialize(std::io::Cursor::new(Vec::new()), &object);
    written.map_or_else(|_| Vec::new(), |(bytes, _)| bytes.into_inner())
}

/// On PipeWire's data thread: a quantum of frames, or silence. It takes no memory, and waits for
/// nobody but a stream that drops its frames.
fn take(told: &Told, stream: &StreamRef, frame_bytes: usize) {
    let Some(mut buffer) = stream.dequeue_buffer() else {
        return;
    };
    let wanted = buffer.requested();
    let Some(data) = buffer.datas_mut().first_mut() else {
        return;
    };
    let Some(bytes) = data.data() else {
        return;
    };
    let room = (bytes.len() / frame_bytes) as u64;
    let frames = if wanted == 0 { room } else { room.min(wanted) };
    let bytes = &mut bytes[..frames as usize * frame_bytes];
    bytes.fill(0);
    if told.shared.is_moving() {
        told.shared.add(bytes, frames, Monotonic.now_ns());
    }
    let size = bytes.len();
    let chunk = data.chunk_mut();
    *chunk.offset_mut() = 0;
    *chunk.stride_mut() = frame_bytes as i32;
    *chunk.size_mut() = size as u32;
    told.quantum.store(frames, Relaxed);
    if told.calls.fetch_add(1, Release) < CALLS_MIN {
        told.news.set();
    }
}
