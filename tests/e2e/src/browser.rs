// SPDX-License-Identifier: Apache-2.0
//! Headless Chromium over its DevTools protocol: [`Browser`]. What is done goes in as a person's
//! input does, and a page's state comes out of its own script.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::SyncSender;
use std::time::Duration;

use serde_json::{Value, json};
use tungstenite::protocol::Role;
use tungstenite::{Message, WebSocket};

use crate::bound;

/// For whatever a busy machine does.
const PATIENCE: Duration = Duration::from_secs(120);
/// Between two looks at a page.
const LOOK: Duration = Duration::from_millis(50);
/// So many looks.
const LOOKS_MAX: usize = 2400;
const PORT_LINE: &str = "DevTools listening on ws://";

/// A browser with one page.
pub struct Browser {
    child: Child,
    socket: WebSocket<TcpStream>,
    number: u64,
    _profile: tempfile::TempDir,
    _guard: SyncSender<()>,
}

impl Browser {
    /// Starts it and opens a page of so many columns and rows.
    pub fn open(url: &str, width: u32, height: u32) -> Self {
        use std::os::unix::process::CommandExt as _;
        let profile = tempfile::tempdir().expect("a temporary directory");
        let mut child = Command::new("chromium")
            .args([
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--no-first-run",
            ])
            .args([
                "--disable-background-networking",
                "--remote-debugging-port=0",
            ])
            .arg(format!("--window-size={width},{height}"))
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg("about:blank")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .expect("chromium starts: tools/setup installs it");
        let guard = bound::guard(child.id());
        let mut errors = BufReader::new(child.stderr.take().expect("a pipe"));
        let address = loop {
            let mut line = String::new();
            let size = errors.read_line(&mut line).expect("its errors");
            assert!(size > 0, "chromium has ended");
            if let Some(rest) = line.trim().strip_prefix(PORT_LINE) {
                break rest.split('/').next().expect("an address").to_owned();
            }
        };
        std::thread::Builder::new()
            .spawn(move || std::io::copy(&mut errors, &mut std::io::sink()))
            .expect("a thread");
        let path = page(&address);
        let mut browser = Self {
            child,
            socket: connect(&address, &path),
            number: 0,
            _profile: profile,
            _guard: guard,
        };
        browser.call("Page.enable", json!({}));
        browser.call("Page.navigate", json!({ "url": url }));
        browser
    }

    /// One command, and its answer.
    pub fn call(&mut self, method: &str, params: Value) -> Value {
        self.number += 1;
        let command = json!({ "id": self.number, "method": method, "params": params });
        self.socket
            .send(Message::text(command.to_string()))
            .expect("chromium listens");
        loop {
            let Message::Text(text) = self.socket.read().expect("chromium answers") else {
                continue;
            };
            let answer: Value = serde_json::from_str(&text).expect("JSON");
            if answer["id"] == self.number {
                assert!(answer["error"].is_null(), "{method}: {answer}");
                return answer["result"].clone();
            }
        }
    }

    /// What an expression of the page's script is.
    pub fn value(&mut self, expression: &str) -> Value {
        let asked = json!({ "expression": expression, "returnByValue": true });
        self.call("Runtime.evaluate", asked)["result"]["value"].clone()
    }

    /// Waits until an expression is true.
    pub fn await_true(&mut self, expression: &str) {
        for _ in 0..LOOKS_MAX {
            if self.value(expression) == true {
                return;
            }
            #[expect(
                clippy::disallowed_methods,
                reason = "a test's watch is no real-time thread"
            )]
            std::thread::sleep(LOOK);
        }
        let state = self.value("document.body.dataset.state");
        panic!("{expression} does not come true; the page says {state}");
    }

    /// The mouse clicks there, in the page.
    pub fn click(&mut self, x: u32, y: u32) {
        for kind in ["mousePressed", "mouseReleased"] {
            let event = json!({ "type": kind, "x": x, "y": y, "button": "left", "clickCount": 1,
                "buttons": u32::from(kind == "mousePressed") });
            self.call("Input.dispatchMouseEvent", event);
        }
    }

    /// Fingers at these places, as DevTools has it: `touchStart` and `touchMove` name all that are
    /// down, `touchEnd` those that go up, or none for all.
    pub fn fingers(&mut self, kind: &str, all: &[(u32, u32, u32)]) {
        let points: Vec<Value> = all
            .iter()
            .map(|(id, x, y)| json!({"id": id, "x": x, "y": y}))
            .collect();
        let event = json!({"type": kind, "touchPoints": points});
        self.call("Input.dispatchTouchEvent", event);
    }

    /// The wheel turns there, so many pixels down.
    pub fn wheel(&mut self, x: u32, y: u32, down: i32) {
        let event = json!({ "type": "mouseWheel", "x": x, "y": y, "deltaX": 0, "deltaY": down });
        self.call("Input.dispatchMouseEvent", event);
    }

    /// A key by its name, with its text if it has one.
    pub fn key(&mut self, name: &str, text: &str) {
        let down = json!({ "type": "keyDown", "key": name, "code": name, "text": text });
        self.call("Input.dispatchKeyEvent", down);
        let up = json!({ "type": "keyUp", "key": name, "code": name });
        self.call("Input.dispatchKeyEvent", up);
    }

    /// A PNG of the page, in base 64.
    pub fn screenshot(&mut self) -> String {
        let shot = self.call("Page.captureScreenshot", json!({ "format": "png" }));
        shot["data"].as_str().expect("a picture").to_owned()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        bound::end_group(&mut self.child);
    }
}

fn stream(address: &str) -> TcpStream {
    let stream = TcpStream::connect(address).expect("chromium listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a bound");
    stream
}

/// The path of the one page's socket.
fn page(address: &str) -> String {
    let mut stream = stream(address);
    let head = format!("GET /json/list HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).expect("chromium reads");
    let mut answer = String::new();
    let mut one = [0; 1];
    // Chromium keeps the connection: the list's end is the answer's.
    while !answer.ends_with(']') {
        stream.read_exact(&mut one).expect("a list");
        answer.push(char::from(one[0]));
    }
    let mark = "\"webSocketDebuggerUrl\":";
    let rest = answer.split(mark).nth(1).expect("a page");
    let url = rest.split('"').nth(1).expect("its address");
    url.strip_prefix(&format!("ws://{address}"))
        .expect("its path")
        .to_owned()
}

fn connect(address: &str, path: &str) -> WebSocket<TcpStream> {
    let mut stream = stream(address);
    let head = format!(
        "GET {path} HTTP/1.1\r\nHost: {address}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).expect("chromium reads");
    let mut answer = Vec::new();
    let mut one = [0; 1];
    while !answer.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut one).expect("a head");
        answer.extend(one);
    }
    assert!(answer.starts_with(b"HTTP/1.1 101 "));
    WebSocket::from_raw_socket(stream, Role::Client, None)
}
