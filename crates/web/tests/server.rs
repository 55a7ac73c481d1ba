// SPDX-License-Identifier: Apache-2.0
//! The server as clients see it, hostile ones among them. No browser: WebSockets of our own.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use rt::clock::{Clock as _, Monotonic};
use rt::sync::{PiCondvar, PiMutex};
use screen::back_end::{Deed, Stage};
use screen::{Display, Picture, Rect, Screen, Touch, WindowId, WindowKind, Wish};
use tungstenite::protocol::Role;
use tungstenite::{Bytes, Message, WebSocket};
use web::{CLIENTS_MAX, Server};

const TOKEN: &str = "00112233445566778899aabbccddeeff";
const SECOND_NS: u64 = 1_000_000_000;
/// What a test waits for something that must come.
const PATIENCE: Duration = Duration::from_secs(60);
const DISPLAY: Display = Display {
    width: 200,
    height: 100,
    ..Display::PANEL
};

/// One window in white or black, and all that was done.
struct Wall {
    screen: PiMutex<Screen>,
    changed: PiCondvar,
    window: WindowId,
    deeds: PiMutex<Vec<Deed>>,
    done: PiCondvar,
}

impl Wall {
    fn new() -> Arc<Self> {
        let mut screen = Screen::new(DISPLAY);
        let window = screen.add(WindowKind::Application, true).unwrap();
        let wish = Wish {
            width: -1,
            height: -1,
            ..Wish::default()
        };
        screen.place(window, &wish, Rect::default()).unwrap();
        screen.set_visible(window, true, 0).unwrap();
        Arc::new(Self {
            screen: PiMutex::new(screen),
            changed: PiCondvar::new(),
            window,
            deeds: PiMutex::new(Vec::new()),
            done: PiCondvar::new(),
        })
    }

    fn paint(&self, grey: u8) {
        let mut screen = self.screen.lock();
        let (width, height) = screen.surface_size(self.window).unwrap();
        let count = (width * height) as usize;
        let pixels = [grey, grey, grey, 255].repeat(count);
        screen.post(self.window, (width, height), &pixels).unwrap();
        self.changed.notify_all(&screen);
    }

    /// Waits until something was done.
    fn await_deed(&self, deed: &Deed) {
        let due_ns = Monotonic.now_ns() + 60 * SECOND_NS;
        let mut deeds = self.deeds.lock();
        while !deeds.contains(deed) {
            assert!(Monotonic.now_ns() < due_ns, "{deed:?} among {:?}", *deeds);
            let _ = self.done.wait_until(&mut deeds, due_ns);
        }
    }
}

impl Stage for Wall {
    fn picture(&self, unlike: Option<u64>, due_ns: u64) -> Option<(u64, Picture)> {
        let mut screen = self.screen.lock();
        while Some(screen.revision()) == unlike {
            if Monotonic.now_ns() >= due_ns {
                return None;
            }
            let _ = self.changed.wait_until(&mut screen, due_ns);
        }
        Some((screen.revision(), screen.compose()))
    }

    fn size(&self) -> (u32, u32) {
        let display = self.screen.lock().display();
        (display.width, display.height)
    }

    fn take(&self, deed: Deed) {
        if let Deed::Resize(width, height) = deed {
            let mut screen = self.screen.lock();
            screen.resize(width, height, 0).unwrap();
            self.changed.notify_all(&screen);
        }
        let mut deeds = self.deeds.lock();
        deeds.push(deed);
        self.done.notify_all(&deeds);
    }

    fn say(&self, text: &str) {
        panic!("{text}");
    }
}

fn served() -> (Arc<Wall>, Server) {
    let wall = Wall::new();
    wall.paint(10);
    let loopback = SocketAddr::from(([127, 0, 0, 1], 0));
    let stage: Arc<dyn Stage> = wall.clone();
    let server = Server::start(loopback, TOKEN.to_owned(), "wall".to_owned(), stage).unwrap();
    (wall, server)
}

type Socket = WebSocket<TcpStream>;

fn stream(server: &Server) -> TcpStream {
    let stream = TcpStream::connect(server.address()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Asks for a socket; the status, and the connection behind its head.
fn ask(server: &Server, host: &str, origin: &str, token: &str) -> (String, TcpStream) {
    let mut stream = stream(server);
    let head = format!(
        "GET /rfb HTTP/1.1\r\nHost: {host}\r\nOrigin: {origin}\r\nUpgrade: websocket\r\n\
         Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: takt.rfb, {token}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = Vec::new();
    let mut one = [0; 1];
    while !answer.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut one).unwrap();
        answer.extend(one);
    }
    let text = String::from_utf8(answer).unwrap();
    (text.split(' ').nth(1).unwrap().to_owned(), stream)
}

fn send(socket: &mut Socket, bytes: &[u8]) {
    socket
        .send(Message::Binary(Bytes::copy_from_slice(bytes)))
        .unwrap();
}

fn receive(socket: &mut Socket) -> Option<Vec<u8>> {
    match socket.read() {
        Ok(Message::Binary(bytes)) => Some(bytes.to_vec()),
        _ => None,
    }
}

/// A client up to the end of the greetings.
fn client(server: &Server) -> Option<Socket> {
    let own = server.address().to_string();
    let (status, stream) = ask(server, &own, &format!("http://{own}"), TOKEN);
    assert_eq!(status, "101");
    let mut socket = WebSocket::from_raw_socket(stream, Role::Client, None);
    assert_eq!(receive(&mut socket)?, b"RFB 003.008\n");
    send(&mut socket, b"RFB 003.008\n");
    assert_eq!(receive(&mut socket)?, [1, 1]);
    send(&mut socket, &[1]);
    assert_eq!(receive(&mut socket)?, [0; 4]);
    send(&mut socket, &[1]);
    let init = receive(&mut socket)?;
    assert_eq!(init[..4], [0, 200, 0, 100]);
    assert_eq!(&init[24..], b"wall");
    send(&mut socket, &[2, 0, 0, 1, 0xff, 0xff, 0xff, 0x21]);
    Some(socket)
}

/// Asks for pictures until one has this grey in its first pixel.
fn await_grey(socket: &mut Socket, grey: u8) {
    for _ in 0..1000 {
        send(socket, &[3, 1, 0, 0, 0, 0, 0, 200, 0, 100]);
        let update = receive(socket).expect("a picture");
        assert_eq!(update[0], 0);
        if update[16..19] == [grey; 3] {
            return;
        }
    }
    panic!("{grey} does not come");
}

/// The connection is over: reading comes to an end.
fn assert_over(socket: &mut Socket) {
    while receive(socket).is_some() {}
    assert!(!socket.can_read());
}

#[test]
fn who_has_no_token_or_comes_from_elsewhere_is_refused() {
    let (_, server) = served();
    let own = server.address().to_string();
    let origin = format!("http://{own}");
    let status = |host: &str, origin: &str, token: &str| ask(&server, host, origin, token).0;
    assert_eq!(status(&own, &origin, TOKEN), "101");
    assert_eq!(
        status(&own, &origin, "00112233445566778899aabbccddeef0"),
        "403"
    );
    assert_eq!(status("evil.example", "http://evil.example", TOKEN), "403");
    assert_eq!(status(&own, "http://evil.example", TOKEN), "403");
}

#[test]
fn two_clients_see_the_same_and_one_that_never_reads_holds_up_nobody() {
    let (wall, server) = served();
    let (mut one, mut other) = (client(&server).unwrap(), client(&server).unwrap());
    let mut sleeper = client(&server).unwrap();
    // It asks for more than the network takes for it, and reads nothing.
    for _ in 0..64 {
        send(&mut sleeper, &[3, 0, 0, 0, 0, 0, 0, 200, 0, 100]);
    }
    for grey in 20..60 {
        wall.paint(grey);
        await_grey(&mut one, grey);
        await_grey(&mut other, grey);
    }
}

#[test]
fn what_a_person_does_arrives() {
    let (wall, server) = served();
    let mut socket = client(&server).unwrap();
    let up = [4, 0, 0, 0, 0, 0, 0, 0x61];
    let down = [4, 1, 0, 0, 0, 0, 0, 0x61];
    send(&mut socket, &[&down[..], &up].concat());
    wall.await_deed(&Deed::Text('a', Some(29)));
    send(&mut socket, &[5, 0x10, 0, 7, 0, 9]);
    wall.await_deed(&Deed::Scroll {
        place: (7.0, 9.0),
        right: 0.0,
        up: -1.0,
    });
    send(&mut socket, &[201, 0, 0, 0]);
    wall.await_deed(&Deed::Rotate);
    send(&mut socket, &[6, 0, 0, 0, 0, 0, 0, 1, b'x']);
    wall.await_deed(&Deed::Clip("x".to_owned()));
    await_grey(&mut socket, 10);
    send(&mut socket, &[251, 0, 0, 100, 0, 200, 0, 0]);
    wall.await_deed(&Deed::Resize(100, 200));
    send(&mut socket, &[3, 1, 0, 0, 0, 0, 0, 200, 0, 100]);
    let update = receive(&mut socket).expect("another size");
    assert_eq!(update[8..16], [0, 100, 0, 200, 0xff, 0xff, 0xff, 0x21]);
    server.clip("copied");
    let clip = receive(&mut socket).expect("a text");
    assert_eq!(clip, b"\x03\0\0\0\0\0\0\x06copied");
    // A finger that is down when its client goes is down no longer.
    send(&mut socket, &[200, 0, 3, 0, 0, 1, 0, 2]);
    drop(socket);
    let due_ns = Monotonic.now_ns() + 60 * SECOND_NS;
    let is_end = |it: &Deed| matches!(it, Deed::Finger { touch, .. } if *touch == Touch::Cancel);
    let mut deeds = wall.deeds.lock();
    while !deeds.iter().any(is_end) {
        assert!(Monotonic.now_ns() < due_ns, "{:?}", *deeds);
        let _ = wall.done.wait_until(&mut deeds, due_ns);
    }
}

#[test]
fn garbage_ends_its_own_connection_and_nothing_else() {
    let (wall, server) = served();
    let mut witness = client(&server).unwrap();
    let mut random = fastrand::Rng::with_seed(7);
    for _ in 0..40 {
        let mut socket = client(&server).unwrap();
        // The first byte is a message of no kind.
        let mut bytes: Vec<u8> = (0..random.usize(1..200)).map(|_| random.u8(..)).collect();
        bytes[0] = 99;
        send(&mut socket, &bytes);
        assert_over(&mut socket);
    }
    for _ in 0..40 {
        let mut raw = stream(&server);
        let bytes: Vec<u8> = (0..300).map(|_| random.u8(..)).collect();
        raw.write_all(&bytes).unwrap();
        raw.write_all(b"\r\n\r\n").unwrap();
        let mut answer = Vec::new();
        let _ = raw.read_to_end(&mut answer);
        assert!(answer.starts_with(b"HTTP/1.1 400 "), "{answer:?}");
    }
    wall.paint(77);
    await_grey(&mut witness, 77);
}

#[test]
fn clients_and_their_messages_are_bounded() {
    let (wall, server) = served();
    let mut clients: Vec<Socket> = (0..CLIENTS_MAX).map(|_| client(&server).unwrap()).collect();
    assert!(client(&server).is_none(), "there are enough");
    // More in a moment than any person does.
    let keys = [4, 1, 0, 0, 0, 0, 0xff, 0x0d].repeat(8000);
    let mut flood = clients.pop().unwrap();
    let _ = flood.send(Message::Binary(Bytes::from(keys)));
    assert_over(&mut flood);
    wall.paint(88);
    await_grey(&mut clients[0], 88);
}
