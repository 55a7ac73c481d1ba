// SPDX-License-Identifier: Apache-2.0
//! One client: [`run`] reads what it says, a second thread writes what it sees.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;

use rt::clock::{Clock as _, Monotonic};
use rt::sync::PiMutex;
use screen::back_end::{Deed, Frame, LOOK_NS, Seat, thread};
use tungstenite::protocol::{Role, WebSocketConfig};
use tungstenite::{Bytes, Message as Packet, WebSocket};

use crate::rfb::{self, Heard, Message, Parser};
use crate::server::Shared;

/// Of one WebSocket message: a text of the clipboard, and what stands around it.
const PACKET_BYTES_MAX: usize = 2 * rfb::CLIP_BYTES_MAX;
/// Messages a second that a client may send: fast mice and ten fingers have a quarter.
const RATE: u64 = 4000;
/// Resizes and texts a second: each has the application do something large.
const RATE_LARGE: u64 = 20;
/// What a wheel's notch is, up, down, left, right.
const WHEELS: [(u8, (f32, f32)); 4] = [
    (0x08, (0.0, 1.0)),
    (0x10, (0.0, -1.0)),
    (0x20, (-1.0, 0.0)),
    (0x40, (1.0, 0.0)),
];

/// Why a client's connection is over.
enum Over {
    /// It ended it, or the network did.
    Gone,
    /// It sent what nobody may.
    Fault,
}

impl From<tungstenite::Error> for Over {
    fn from(_: tungstenite::Error) -> Self {
        Self::Gone
    }
}

impl From<rfb::Fault> for Over {
    fn from(_: rfb::Fault) -> Self {
        Self::Fault
    }
}

/// Serves a client until it is over.
pub(crate) fn run(shared: &Arc<Shared>, stream: &TcpStream) {
    let Some(name) = shared.enter() else {
        let _ = stream.shutdown(Shutdown::Both);
        return;
    };
    let mut reader = Reader {
        shared,
        name,
        parser: Parser::default(),
        seat: Seat::new(Arc::clone(&shared.stage), name),
        wheels: 0,
        messages: Rate::new(RATE),
        large: Rate::new(RATE_LARGE),
    };
    if let Ok(out) = stream.try_clone().map(PiMutex::new).map(Arc::new) {
        let _ = reader.serve(stream, &out);
    }
    drop(reader);
    shared.with(name, |it| it.is_over = true);
    let _ = stream.shutdown(Shutdown::Both);
    shared.leave(name);
}

/// A WebSocket on one half of a connection: bytes that go out are whole packets, since both
/// threads send some.
struct Half {
    stream: TcpStream,
    out: Arc<PiMutex<TcpStream>>,
    packet: Vec<u8>,
}

impl Half {
    fn socket(stream: &TcpStream, out: &Arc<PiMutex<TcpStream>>) -> io::Result<WebSocket<Self>> {
        let half = Self {
            stream: stream.try_clone()?,
            out: Arc::clone(out),
            packet: Vec::new(),
        };
        let config = WebSocketConfig::default()
            .read_buffer_size(4 << 10)
            .write_buffer_size(0)
            .max_message_size(Some(PACKET_BYTES_MAX))
            .max_frame_size(Some(PACKET_BYTES_MAX));
        Ok(WebSocket::from_raw_socket(half, Role::Server, Some(config)))
    }
}

impl Read for Half {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.stream.read(into)
    }
}

impl Write for Half {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.packet.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let packet = std::mem::take(&mut self.packet);
        self.out.lock().write_all(&packet)
    }
}

fn send(socket: &mut WebSocket<Half>, bytes: Vec<u8>) -> Result<(), Over> {
    Ok(socket.send(Packet::Binary(Bytes::from(bytes)))?)
}

/// So many a second, and as many at once.
struct Rate {
    each_second: u64,
    left: u64,
    since_ns: u64,
}

impl Rate {
    fn new(each_second: u64) -> Self {
        Self {
            each_second,
            left: each_second,
            since_ns: Monotonic.now_ns(),
        }
    }

    fn spend(&mut self) -> Result<(), Over> {
        let now_ns = Monotonic.now_ns();
        if now_ns - self.since_ns >= 1_000_000_000 {
            (self.left, self.since_ns) = (self.each_second, now_ns);
        }
        self.left = self.left.checked_sub(1).ok_or(Over::Fault)?;
        Ok(())
    }
}

struct Reader<'a> {
    shared: &'a Arc<Shared>,
    name: u32,
    parser: Parser,
    seat: Seat,
    /// Buttons of the wheel that are down.
    wheels: u8,
    messages: Rate,
    large: Rate,
}

impl Reader<'_> {
    fn serve(&mut self, stream: &TcpStream, out: &Arc<PiMutex<TcpStream>>) -> Result<(), Over> {
        let gone = |_: io::Error| Over::Gone;
        let mut socket = Half::socket(stream, out).map_err(gone)?;
        send(&mut socket, rfb::VERSION.to_vec())?;
        loop {
            match socket.read()? {
                Packet::Binary(bytes) => self.parser.push(&bytes),
                Packet::Ping(_) | Packet::Pong(_) => {
                    self.messages.spend()?;
                    continue;
                }
                _ => return Err(Over::Gone),
            }
            while let Some(heard) = self.parser.next()? {
                self.messages.spend()?;
                match heard {
                    Heard::Version => send(&mut socket, rfb::security_kinds())?,
                    Heard::Security => send(&mut socket, rfb::security_result())?,
                    Heard::Init => {
                        let size = self.shared.stage.size();
                        send(&mut socket, rfb::init(size, &self.shared.name))?;
                        self.start_writer(stream, out, size)?;
                    }
                    Heard::Message(message) => self.take(message)?,
                }
            }
        }
    }

    fn start_writer(
        &self,
        stream: &TcpStream,
        out: &Arc<PiMutex<TcpStream>>,
        size: (u32, u32),
    ) -> Result<(), Over> {
        let socket = Half::socket(stream, out).map_err(|_| Over::Gone)?;
        let mut writer = Writer {
            shared: Arc::clone(self.shared),
            name: self.name,
            socket,
            size,
            sent: 0,
            clips: 0,
        };
        let started = thread("web-write").spawn(move || {
            let _ = writer.serve();
            // The one that reads ends with it.
            let _ = writer.socket.get_ref().stream.shutdown(Shutdown::Both);
        });
        started.map(drop).map_err(|_| Over::Gone)
    }

    fn take(&mut self, message: Message) -> Result<(), Over> {
        match message {
            Message::PixelFormat => {}
            Message::Encodings { has_desktop_size } => self.shared.with(self.name, |it| {
                it.has_desktop_size = has_desktop_size;
            }),
            Message::Update { is_incremental } => self.shared.with(self.name, |it| {
                it.is_waiting = true;
                it.wants_all |= !is_incremental;
            }),
            Message::Key { keysym, is_down } => self.seat.key(keysym, is_down),
            Message::Pointer { buttons, x, y } => self.pointer(buttons, (x.into(), y.into())),
            Message::Touch {
                touch,
                finger,
                x,
                y,
            } => self.seat.finger(finger, touch, (x.into(), y.into())),
            Message::Clip(text) => {
                self.large.spend()?;
                self.tell(Deed::Clip(text));
            }
            Message::Resize { width, height } => {
                self.large.spend()?;
                self.tell(Deed::Resize(width, height));
            }
            Message::Rotate => {
                self.large.spend()?;
                self.tell(Deed::Rotate);
            }
        }
        Ok(())
    }

    fn tell(&self, deed: Deed) {
        self.shared.stage.take(deed);
    }

    /// A wheel's notch is a button that is pressed.
    fn pointer(&mut self, buttons: u8, place: (f32, f32)) {
        self.seat.mouse(buttons, place);
        let pressed = buttons & !self.wheels;
        self.wheels = buttons;
        for (_, notch) in WHEELS.iter().filter(|it| pressed & it.0 != 0) {
            self.seat.wheel(place, *notch);
        }
    }
}

struct Writer {
    shared: Arc<Shared>,
    name: u32,
    socket: WebSocket<Half>,
    /// The display, as the client knows it.
    size: (u32, u32),
    /// The number of the frame that it has.
    sent: u64,
    /// Texts that it has.
    clips: u64,
}

/// What there is to write.
enum Work {
    Frame(Arc<Frame>),
    Clip(Arc<str>),
}

impl Writer {
    fn serve(&mut self) -> Result<(), Over> {
        loop {
            let bytes = match self.next()? {
                Work::Clip(text) => rfb::clip_text(&text),
                Work::Frame(frame) if frame.size() != self.size => {
                    (self.size, self.sent) = (frame.size(), 0);
                    rfb::desktop_size(self.size)
                }
                Work::Frame(frame) => {
                    let rects = frame.since(self.sent);
                    self.sent = frame.number();
                    rfb::update(self.size.0, frame.bytes(), &rects)
                }
            };
            send(&mut self.socket, bytes)?;
        }
    }

    /// Waits for something; one picture for each request, whatever has happened meanwhile.
    fn next(&mut self) -> Result<Work, Over> {
        let mut state = self.shared.state.lock();
        loop {
            if self.clips != state.clips {
                self.clips = state.clips;
                if let Some(text) = &state.clip {
                    return Ok(Work::Clip(Arc::clone(text)));
                }
            }
            let frame = state.frame.clone();
            let mut clients = state.clients.iter_mut();
            let client = clients.find(|it| it.name == self.name && !it.is_over);
            let client = client.ok_or(Over::Gone)?;
            if let Some(frame) = frame.filter(|_| client.is_waiting) {
                if frame.size() != self.size && !client.has_desktop_size {
                    return Err(Over::Fault);
                }
                if client.wants_all {
                    (client.wants_all, self.sent) = (false, 0);
                }
                if frame.number() > self.sent {
                    client.is_waiting = false;
                    return Ok(Work::Frame(frame));
                }
            }
            let due_ns = Monotonic.now_ns() + LOOK_NS;
            let _ = self.shared.changed.wait_until(&mut state, due_ns);
        }
    }
}
