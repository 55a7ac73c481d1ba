// SPDX-License-Identifier: Apache-2.0
//! A desktop without a screen: [`Desktop`] is sway, headless. What a person does goes in by its
//! protocols for virtual devices, and what is seen comes out by grim.

use std::fs::Permissions;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::SyncSender;
use std::time::Duration;

use wayland_client::protocol::wl_pointer::{Axis, AxisSource, ButtonState};
use wayland_client::protocol::wl_registry::{self, WlRegistry};
use wayland_client::{Connection, Dispatch, EventQueue, QueueHandle, delegate_noop};
use wayland_protocols_wlr::virtual_pointer::v1::client::zwlr_virtual_pointer_manager_v1::ZwlrVirtualPointerManagerV1;
use wayland_protocols_wlr::virtual_pointer::v1::client::zwlr_virtual_pointer_v1::ZwlrVirtualPointerV1;

use crate::apps::{Picture, picture};
use crate::{NOBODY, bound, is_root};

/// The desktop's columns and rows.
const WIDTH: u32 = 1000;
const HEIGHT: u32 = 600;
/// Where a window's corner is.
pub const CORNER: (u32, u32) = (100, 50);
/// Of linux/input-event-codes.h.
const BTN_LEFT: u32 = 0x110;
/// Longer than any test.
const LONG_MILLIS: &str = "3600000";
const LOOK: Duration = Duration::from_millis(20);
/// So many looks: with what each takes, a busy machine has two minutes.
const LOOKS_MAX: usize = 1200;

/// A compositor.
pub struct Desktop {
    folder: tempfile::TempDir,
    child: Child,
    /// A keyboard that nobody types on. Without one a seat has no keys, and the first that is
    /// pressed on a new one is lost: it was down before a window could hear of the keyboard.
    keyboard: Option<Child>,
    /// Plugged in all the while, for the same reason.
    mouse: Option<Mouse>,
    _guard: SyncSender<()>,
}

impl Desktop {
    /// Starts one; its windows have the size that they choose, and no frame.
    pub fn start() -> Self {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let config = format!(
            "xwayland disable\n\
             output HEADLESS-1 resolution {WIDTH}x{HEIGHT} background #204060 solid_color\n\
             default_border none\n\
             default_floating_border none\n\
             for_window [app_id=\".*\"] floating enable, move absolute position {} {}\n\
             exec echo $WAYLAND_DISPLAY > {}/display\n",
            CORNER.0,
            CORNER.1,
            folder.path().display(),
        );
        let mut file = std::fs::File::create(folder.path().join("config")).expect("ours");
        file.write_all(config.as_bytes()).expect("it has room");
        let (child, guard) = sway(folder.path());
        let mut desktop = Self {
            folder,
            child,
            keyboard: None,
            mouse: None,
            _guard: guard,
        };
        desktop.plug();
        desktop
    }

    fn plug(&mut self) {
        use std::os::unix::process::CommandExt as _;
        let mut command = self.program("wtype");
        let command = command.args(["-s", LONG_MILLIS]).process_group(0);
        self.keyboard = Some(command.spawn().expect("wtype starts"));
        self.mouse = Some(Mouse::new(&self.socket()));
    }

    /// Another one at the same address, once this one is gone.
    pub fn again(&mut self) {
        let _ = std::fs::remove_file(self.folder.path().join("display"));
        let before = self.socket();
        (self.child, self._guard) = sway(self.folder.path());
        assert_eq!(self.socket(), before, "another address");
        self.plug();
    }

    /// What finds it.
    pub fn variables(&self) -> [(&'static str, PathBuf); 2] {
        let socket = self.socket();
        let name = socket.file_name().expect("a name").into();
        [
            ("XDG_RUNTIME_DIR", self.folder.path().into()),
            ("WAYLAND_DISPLAY", name),
        ]
    }

    fn socket(&self) -> PathBuf {
        let mut names = std::fs::read_dir(self.folder.path()).expect("ours");
        let is_socket = |name: &str| name.starts_with("wayland-") && !name.ends_with(".lock");
        let found = names.find_map(|it| {
            let path = it.ok()?.path();
            is_socket(path.file_name()?.to_str()?).then_some(path)
        });
        found.expect("sway has a socket")
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: &str) {
        let group = format!("-{}", self.child.id());
        let sent = Command::new("kill").args([signal, "--", &group]).status();
        assert!(sent.expect("kill").success());
    }

    /// Ends it at once.
    pub fn kill(&mut self) {
        bound::end_group(&mut self.child);
        if let Some(keyboard) = &mut self.keyboard {
            bound::end_group(keyboard);
        }
    }

    /// A command of sway's own, such as `resize set 500 400`.
    pub fn command(&self, words: &str) {
        let mut command = self.program("swaymsg");
        command.arg("--socket").arg(self.folder.path().join("ipc"));
        let output = bound::output(command.arg("--").arg(words)).expect("swaymsg");
        assert!(output.status.success(), "{words}: {output:?}");
    }

    /// Types a text, then a key.
    pub fn write(&self, text: &str, key: &str) {
        let mut command = self.program("wtype");
        let output = bound::output(command.args([text, "-k", key])).expect("wtype");
        assert!(output.status.success(), "{text}: {output:?}");
    }

    /// What is seen of a window of this size.
    pub fn see(&self, (width, height): (u32, u32)) -> Picture {
        let file = self.folder.path().join("seen.png");
        let place = format!("{},{} {width}x{height}", CORNER.0, CORNER.1);
        let mut command = self.program("grim");
        let output = bound::output(command.args(["-g", &place]).arg(&file)).expect("grim");
        assert!(output.status.success(), "{output:?}");
        picture(&file)
    }

    /// Waits until a window of this picture's size shows it, to the last byte.
    pub fn await_picture(&self, wanted: &Picture) {
        let size = (wanted.width as u32, wanted.height as u32);
        let mut last = None;
        for _ in 0..LOOKS_MAX {
            let seen = self.see(size);
            if seen.bytes == wanted.bytes {
                return;
            }
            last = Some(seen);
            pause();
        }
        let places = last.map(|it| it.differing(wanted)).unwrap_or_default();
        let (count, some) = (places.len(), &places[..places.len().min(40)]);
        panic!("{count} pixels differ: {some:?}");
    }

    /// Waits until a window of this size looks so.
    pub fn await_seen(&self, size: (u32, u32), is_so: impl Fn(&Picture) -> bool) -> Picture {
        for _ in 0..LOOKS_MAX {
            let seen = self.see(size);
            if is_so(&seen) {
                return seen;
            }
            pause();
        }
        panic!("it never looks so");
    }

    fn program(&self, name: &str) -> Command {
        let mut command = Command::new(name);
        command.envs(self.variables());
        command
    }

    /// Its mouse.
    pub fn mouse(&mut self) -> &mut Mouse {
        self.mouse.as_mut().expect("it is plugged in at the start")
    }
}

impl Drop for Desktop {
    fn drop(&mut self) {
        self.kill();
    }
}

fn sway(folder: &Path) -> (Child, SyncSender<()>) {
    use std::os::unix::process::CommandExt as _;
    let log = std::fs::File::create(folder.join("log")).expect("ours");
    let mut command = Command::new("sway");
    if is_root() {
        // Sway does not run as root.
        std::os::unix::fs::chown(folder, Some(NOBODY), Some(NOBODY)).expect("ours");
        command.uid(NOBODY).gid(NOBODY);
    }
    let mut child = command
        .arg("--config")
        .arg(folder.join("config"))
        .env("XDG_RUNTIME_DIR", folder)
        .env("SWAYSOCK", folder.join("ipc"))
        .envs([("WLR_BACKENDS", "headless"), ("WLR_RENDERER", "pixman")])
        .env("WLR_LIBINPUT_NO_DEVICES", "1")
        .env_remove("WAYLAND_DISPLAY")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log)
        .process_group(0)
        .spawn()
        .expect("sway starts: tools/setup installs it");
    let guard = bound::guard(child.id());
    for _ in 0..LOOKS_MAX {
        let display = std::fs::read_to_string(folder.join("display"));
        if let Ok(display) = display
            && let Some(socket) = display.strip_suffix('\n')
        {
            // An application of root's has no right to pass over another user's modes.
            for (path, mode) in [(folder.to_owned(), 0o711), (folder.join(socket), 0o777)] {
                std::fs::set_permissions(path, Permissions::from_mode(mode)).expect("ours");
            }
            return (child, guard);
        }
        pause();
    }
    bound::end_group(&mut child);
    let log = std::fs::read_to_string(folder.join("log"));
    panic!("sway is not there: {log:?}");
}

fn pause() {
    #[expect(
        clippy::disallowed_methods,
        reason = "a test's watch is no real-time thread"
    )]
    std::thread::sleep(LOOK);
}

/// A mouse that nobody holds.
pub struct Mouse {
    queue: EventQueue<Hand>,
    hand: Hand,
    millis: u32,
}

#[derive(Default)]
struct Hand {
    pointer: Option<ZwlrVirtualPointerV1>,
}

impl Mouse {
    fn new(socket: &Path) -> Self {
        let stream = UnixStream::connect(socket).expect("sway listens");
        let connection = Connection::from_socket(stream).expect("a connection");
        let queue = connection.new_event_queue();
        connection.display().get_registry(&queue.handle(), ());
        let mut mouse = Self {
            queue,
            hand: Hand::default(),
            millis: 0,
        };
        mouse.sync();
        assert!(mouse.hand.pointer.is_some(), "sway has virtual pointers");
        // Where its arrow covers no window.
        mouse.event(|it, at| it.motion_absolute(at, WIDTH - 1, HEIGHT - 1, WIDTH, HEIGHT));
        mouse
    }

    fn sync(&mut self) {
        self.queue.roundtrip(&mut self.hand).expect("sway answers");
    }

    /// One event, and the time goes on.
    fn event(&mut self, tell: impl FnOnce(&ZwlrVirtualPointerV1, u32)) {
        self.millis += 10;
        let pointer = self.hand.pointer.as_ref().expect("it was bound");
        tell(pointer, self.millis);
        pointer.frame();
        self.sync();
    }

    /// It is over this pixel of the window.
    pub fn point(&mut self, x: u32, y: u32) {
        let (x, y) = (CORNER.0 + x, CORNER.1 + y);
        self.event(|it, at| it.motion_absolute(at, x, y, WIDTH, HEIGHT));
    }

    /// Clicks there.
    pub fn click(&mut self, x: u32, y: u32) {
        self.point(x, y);
        for state in [ButtonState::Pressed, ButtonState::Released] {
            self.event(|it, at| it.button(at, BTN_LEFT, state));
        }
    }

    /// Turns its wheel so many notches down there.
    pub fn wheel(&mut self, x: u32, y: u32, notches: i32) {
        self.point(x, y);
        self.event(|it, at| {
            it.axis_source(AxisSource::Wheel);
            let length = f64::from(notches) * 15.0;
            it.axis_discrete(at, Axis::VerticalScroll, length, notches);
        });
    }
}

impl Dispatch<WlRegistry, ()> for Hand {
    fn event(
        hand: &mut Self,
        registry: &WlRegistry,
        event: wl_registry::Event,
        (): &(),
        _: &Connection,
        queue: &QueueHandle<Self>,
    ) {
        if let wl_registry::Event::Global {
            name, interface, ..
        } = event
            && interface == "zwlr_virtual_pointer_manager_v1"
        {
            let manager: ZwlrVirtualPointerManagerV1 = registry.bind(name, 1, queue, ());
            hand.pointer = Some(manager.create_virtual_pointer(None, queue, ()));
        }
    }
}

delegate_noop!(Hand: ZwlrVirtualPointerManagerV1);
delegate_noop!(Hand: ZwlrVirtualPointerV1);
