// SPDX-License-Identifier: Apache-2.0
//! A stream on PipeWire: its server has the card, mixes what all programs play, hands what is
//! recorded to all that want it, and resamples.
//!
//! A thread of ours runs PipeWire's loop; it hears states and faults. PipeWire's own data thread
//! takes frames from a [`queue`], or gives them to an [`inlet`], a quantum at a time. So the
//! pointer is the server's: what its graph has asked for, or given. The graph's buffers and the
//! card's come on top of what a stream's pointer says. The quantum is learned as the stream opens:
//! it is the burst.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use pipewire::channel;
use pipewire::context::Context;
use pipewire::main_loop::MainLoop;
use pipewire::properties::{Properties, properties};
use pipewire::spa::buffer::Data;
use pipewire::spa::param::ParamType;
use pipewire::spa::param::audio::{AudioFormat, AudioInfoRaw};
use pipewire::spa::pod::serialize::PodSerializer;
use pipewire::spa::pod::{Object, Pod, Value};
use pipewire::spa::utils::{Direction as Heading, SpaTypes};
use pipewire::stream::{Stream, StreamFlags, StreamRef, StreamState};
use rt::clock::{Clock as _, Monotonic};
use rt::policy::Policy;
use rt::sync::{Event, PiMutex};
use rt::thread::{Builder, Thread};

use crate::device::{Device, DeviceError, Direction, Granted, Wanted, inlet, queue};
use crate::format::Format;

/// The largest quantum of a server.
const QUANTUM_MAX: u64 = 8_192;
/// Quanta that a buffer holds at least.
const QUANTA_MIN: u32 = 4;
/// For the server's answer.
const OPEN_NS_MAX: u64 = 3_000_000_000;
/// For a session manager to give the stream a node, and for two quanta.
const LINK_NS_MAX: u64 = 1_000_000_000;
/// The first quantum may be that of before the stream came.
const CALLS_MIN: u64 = 3;
const SAMPLE_BYTES: usize = Format::F32.bytes();
/// What ends the name of a sink's monitor, as PulseAudio's programs have it.
const MONITOR: &str = ".monitor";

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

/// Between the data thread and a stream.
enum Way {
    Out(Arc<queue::Shared>),
    In(Arc<inlet::Shared>),
}

/// What the loop and the data thread tell.
struct Told {
    way: Way,
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
            match &self.way {
                Way::Out(shared) => shared.end(),
                Way::In(shared) => shared.end(),
            }
        }
        known.get_or_insert(outcome);
        drop(known);
        self.news.set();
    }

    fn outcome(&self) -> Option<Result<(), String>> {
        self.outcome.lock().clone()
    }
}

/// Opens a stream to or from the default node, or that of this name.
pub(super) fn open(
    node: Option<&str>,
    plan: &Granted,
    wanted: &Wanted,
) -> Result<Box<dyn Device>, DeviceError> {
    let channels = plan.channels as usize;
    let room = (plan.capacity as u64).max(u64::from(QUANTA_MIN) * QUANTUM_MAX) as usize;
    let grant = |quantum| grant(plan, wanted, quantum, room as u32);
    Ok(match plan.direction {
        Direction::Output => {
            let ends = queue::Ends::new(room, channels);
            let way = Way::Out(Arc::clone(&ends.shared));
            let (connection, quantum) = connect(way, node, plan)?;
            let granted = grant(quantum);
            Box::new(ends.kept(granted, granted.rate, None, connection))
        }
        Direction::Input => {
            let ends = inlet::Ends::new(room, channels);
            let way = Way::In(Arc::clone(&ends.shared));
            let (connection, quantum) = connect(way, node, plan)?;
            Box::new(ends.kept(grant(quantum), connection))
        }
    })
}

/// Waits for the server, and for a few quanta; how many frames one has, or 0 if none came.
fn connect(way: Way, node: Option<&str>, plan: &Granted) -> Result<(Connection, u32), DeviceError> {
    let told = Arc::new(Told {
        way,
        outcome: PiMutex::new(None),
        calls: AtomicU64::new(0),
        quantum: AtomicU64::new(0),
        news: Event::new(),
    });
    let connection = begin(&told, node, plan)?;
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
    Ok((
        connection,
        told.quantum.load(Relaxed).min(QUANTUM_MAX) as u32,
    ))
}

/// What a stream with this quantum has; its buffer has room for so many frames at most.
fn grant(plan: &Granted, wanted: &Wanted, quantum: u32, room: u32) -> Granted {
    let burst = if quantum == 0 { plan.burst } else { quantum };
    let capacity = plan
        .capacity
        .max(QUANTA_MIN * burst)
        .next_multiple_of(burst);
    Granted {
        burst,
        capacity: capacity.min(room / burst * burst),
        format: wanted.format.unwrap_or(Format::F32),
        hardware_format: Format::F32,
        ..*plan
    }
}

fn begin(told: &Arc<Told>, node: Option<&str>, plan: &Granted) -> Result<Connection, DeviceError> {
    let (quit, asked) = channel::channel();
    let (own, node, plan) = (Arc::clone(told), node.map(str::to_owned), *plan);
    let body = move || {
        let ended = run(&own, asked, node.as_deref(), &plan);
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
fn stream_properties(node: Option<&str>, plan: &Granted) -> Properties {
    let category = match plan.direction {
        Direction::Output => "Playback",
        Direction::Input => "Capture",
    };
    let mut all = properties! {
        *pipewire::keys::MEDIA_TYPE => "Audio",
        *pipewire::keys::MEDIA_CATEGORY => category,
        *pipewire::keys::MEDIA_ROLE => "Music",
        *pipewire::keys::NODE_NAME => "takt",
        *pipewire::keys::NODE_LATENCY => format!("{}/{}", plan.burst, plan.rate),
    };
    if let Some(node) = node {
        let sink = node
            .strip_suffix(MONITOR)
            .filter(|_| plan.direction == Direction::Input);
        if sink.is_some() {
            all.insert(*pipewire::keys::STREAM_CAPTURE_SINK, "true");
        }
        all.insert("target.object", sink.unwrap_or(node));
    }
    all
}

/// The loop's thread: from the connection to its end.
fn run(
    told: &Arc<Told>,
    asked: channel::Receiver<()>,
    node: Option<&str>,
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
    let stream = Stream::new(&core, "takt", stream_properties(node, plan))?;
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
    let process = move |stream: &StreamRef, (): &mut ()| pass(&own, stream, frame_bytes);
    let _listener = stream
        .add_local_listener()
        .state_changed(state_changed)
        .process(process)
        .register()?;
    let format = format(plan);
    let mut formats: Vec<&Pod> = Pod::from_bytes(&format).into_iter().collect();
    let flags = StreamFlags::AUTOCONNECT | StreamFlags::MAP_BUFFERS | StreamFlags::RT_PROCESS;
    let heading = match plan.direction {
        Direction::Output => Heading::Output,
        Direction::Input => Heading::Input,
    };
    stream.connect(heading, None, flags, &mut formats)?;
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

/// On PipeWire's data thread, each quantum. It takes no memory, and waits for nobody but a stream
/// that drops its frames.
fn pass(told: &Told, stream: &StreamRef, frame_bytes: usize) {
    let Some(mut buffer) = stream.dequeue_buffer() else {
        return;
    };
    let wanted = buffer.requested();
    let Some(data) = buffer.datas_mut().first_mut() else {
        return;
    };
    let frames = match &told.way {
        Way::Out(shared) => take(shared, data, wanted, frame_bytes),
        Way::In(shared) => give(shared, data, frame_bytes),
    };
    let Some(frames) = frames else {
        return;
    };
    told.quantum.store(frames, Relaxed);
    if told.calls.fetch_add(1, Release) < CALLS_MIN {
        told.news.set();
    }
}

/// Frames for the server, or silence; how many.
fn take(shared: &queue::Shared, data: &mut Data, wanted: u64, frame_bytes: usize) -> Option<u64> {
    let bytes = data.data()?;
    let room = (bytes.len() / frame_bytes) as u64;
    let frames = if wanted == 0 { room } else { room.min(wanted) };
    let bytes = &mut bytes[..frames as usize * frame_bytes];
    bytes.fill(0);
    if shared.is_moving() {
        shared.add(bytes, frames, Monotonic.now_ns());
    }
    let size = bytes.len();
    let chunk = data.chunk_mut();
    *chunk.offset_mut() = 0;
    *chunk.stride_mut() = frame_bytes as i32;
    *chunk.size_mut() = size as u32;
    Some(frames)
}

/// Frames from the server; how many. What the chunk says is the server's, so it is bounded here.
fn give(shared: &inlet::Shared, data: &mut Data, frame_bytes: usize) -> Option<u64> {
    let chunk = data.chunk();
    let (offset, size) = (chunk.offset() as usize, chunk.size() as usize);
    let bytes = data.data()?;
    let begin = offset.min(bytes.len());
    let end = begin.saturating_add(size).min(bytes.len());
    shared.give(&bytes[begin..end], Monotonic.now_ns());
    Some(((end - begin) / frame_bytes) as u64)
}
