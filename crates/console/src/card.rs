// SPDX-License-Identifier: Apache-2.0
//! [`Card`]: a monitor of a graphics card, and three buffers that it shows in turn.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

use drm::Device as _;
use drm::buffer::{Buffer as _, DrmFourcc};
use drm::control::dumbbuffer::{DumbBuffer, DumbMapping};
use drm::control::{
    Device as _, Event, Mode, ModeTypeFlags, PageFlipFlags, connector, crtc, framebuffer,
};
use screen::Rect;
use screen::back_end::{Arrow, Frame, size_within};

use crate::{Fault, Wish};

const FOLDER: &str = "/dev/dri";
/// Shown, about to be shown, being written.
const BUFFERS: usize = 3;
const PIXEL_BYTES: usize = 4;

/// The kernel's device.
struct Device(File);

impl AsFd for Device {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl drm::Device for Device {}
impl drm::control::Device for Device {}

/// Where a card shows something.
struct Output {
    connector: connector::Handle,
    crtc: crtc::Handle,
    mode: Mode,
}

impl Output {
    fn size(&self) -> (u32, u32) {
        let (width, height) = self.mode.size();
        (width.into(), height.into())
    }
}

/// Pixels that the card reads.
struct Buffer {
    frame: framebuffer::Handle,
    pixels: DumbMapping<'static>,
    stride: usize,
    /// The number of the frame that is in it; zero for none.
    holds: u64,
    /// Where the mouse's arrow is drawn in it.
    arrow: Rect,
}

/// A card that is ours. It is given up when this goes: the kernel shows its own console then.
pub(crate) struct Card {
    device: Device,
    path: PathBuf,
    output: Output,
    buffers: Vec<Buffer>,
    front: usize,
    /// The one that comes at the next beat.
    pending: Option<usize>,
    /// The number of the last beat.
    beat: Option<u32>,
}

/// What a card has told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Flip {
    /// It came at a later beat than the one before.
    pub(crate) is_later: bool,
}

/// The path and size that would be taken, if nobody else has it.
pub(crate) fn look(wish: &Wish) -> Result<(PathBuf, (u32, u32)), Fault> {
    let (device, path, output) = find(wish)?;
    own(&device, &path)?;
    Ok((path, output.size()))
}

fn find(wish: &Wish) -> Result<(Device, PathBuf, Output), Fault> {
    let mut first = Fault::NoCard;
    for path in paths(wish) {
        match open(&path).and_then(|device| {
            let output = output(&device, &path, wish.size)?;
            Ok((device, path, output))
        }) {
            Ok(found) => return Ok(found),
            Err(fault) if matches!(first, Fault::NoCard) => first = fault,
            Err(_) => {}
        }
    }
    Err(first)
}

fn paths(wish: &Wish) -> Vec<PathBuf> {
    if let Some(path) = &wish.card {
        return vec![path.clone()];
    }
    let entries = std::fs::read_dir(FOLDER).into_iter().flatten().flatten();
    let is_card = |it: &PathBuf| {
        let name = it.file_name().map(|it| it.to_string_lossy());
        name.is_some_and(|it| it.starts_with("card"))
    };
    let mut paths: Vec<PathBuf> = entries.map(|it| it.path()).filter(is_card).collect();
    paths.sort();
    paths
}

fn open(path: &Path) -> Result<Device, Fault> {
    let mut options = OpenOptions::new();
    let file = options.read(true).write(true).open(path);
    file.map(Device).map_err(|source| Fault::Open {
        path: path.to_owned(),
        source,
    })
}

/// One program at a time may say what a card shows.
fn own(device: &Device, path: &Path) -> Result<(), Fault> {
    device.acquire_master_lock().map_err(|_| Fault::Taken {
        path: path.to_owned(),
    })
}

/// The first monitor that is connected, in the mode that is wished for or else preferred.
fn output(device: &Device, path: &Path, wish: Option<(u32, u32)>) -> Result<Output, Fault> {
    let refused = |source| refused(path, "say what it has", source);
    let all = device.resource_handles().map_err(refused)?;
    for handle in all.connectors() {
        let monitor = device.get_connector(*handle, true).map_err(refused)?;
        if monitor.state() != connector::State::Connected {
            continue;
        }
        let Some(mode) = mode(monitor.modes(), wish) else {
            continue;
        };
        for encoder in monitor.encoders() {
            let encoder = device.get_encoder(*encoder).map_err(refused)?;
            let possible = all.filter_crtcs(encoder.possible_crtcs());
            if let Some(crtc) = encoder.crtc().or(possible.first().copied()) {
                return Ok(Output {
                    connector: *handle,
                    crtc,
                    mode,
                });
            }
        }
    }
    Err(Fault::NoMonitor {
        path: path.to_owned(),
    })
}

fn mode(modes: &[Mode], wish: Option<(u32, u32)>) -> Option<Mode> {
    let size = |it: &Mode| (u32::from(it.size().0), u32::from(it.size().1));
    let is_possible = |it: &&Mode| size_within(size(it).0, size(it).1) == size(it);
    let possible = || modes.iter().filter(is_possible);
    let wished = wish.and_then(|wish| possible().find(|it| size(it) == wish));
    let is_preferred = |it: &&Mode| it.mode_type().contains(ModeTypeFlags::PREFERRED);
    let mode = wished.or_else(|| possible().find(is_preferred));
    mode.or_else(|| possible().next()).copied()
}

fn refused(path: &Path, what: &'static str, source: io::Error) -> Fault {
    Fault::Refused {
        path: path.to_owned(),
        what,
        source,
    }
}

impl Card {
    /// Takes the card, and shows black.
    pub(crate) fn take(wish: &Wish) -> Result<Self, Fault> {
        let (device, path, output) = find(wish)?;
        own(&device, &path)?;
        let mut buffers = Vec::with_capacity(BUFFERS);
        for _ in 0..BUFFERS {
            let buffer = Buffer::new(&device, output.size());
            buffers.push(buffer.map_err(|it| refused(&path, "make a buffer", it))?);
        }
        let (first, connectors) = (buffers[0].frame, [output.connector]);
        device
            .set_crtc(
                output.crtc,
                Some(first),
                (0, 0),
                &connectors,
                Some(output.mode),
            )
            .map_err(|it| refused(&path, "set the mode", it))?;
        Ok(Self {
            device,
            path,
            output,
            buffers,
            front: 0,
            pending: None,
            beat: None,
        })
    }

    /// Columns and rows.
    pub(crate) fn size(&self) -> (u32, u32) {
        self.output.size()
    }

    /// Is the next beat taken?
    pub(crate) fn is_waiting(&self) -> bool {
        self.pending.is_some()
    }

    /// Shows a frame at the next beat, and an arrow where the mouse is.
    pub(crate) fn show(&mut self, frame: &Frame, mouse: Option<(i32, i32)>) -> Result<(), Fault> {
        let is_free = |it: &usize| *it != self.front && Some(*it) != self.pending;
        let Some(back) = (0..BUFFERS).find(is_free).filter(|_| !self.is_waiting()) else {
            return Ok(());
        };
        let size = self.size();
        let buffer = &mut self.buffers[back];
        buffer.fill(frame, size);
        buffer.draw(mouse, size);
        let (crtc, frame) = (self.output.crtc, buffer.frame);
        match self
            .device
            .page_flip(crtc, frame, PageFlipFlags::EVENT, None)
        {
            Ok(()) => self.pending = Some(back),
            // The mode was set a moment ago: there is another beat.
            Err(error) if error.kind() == ErrorKind::ResourceBusy => {}
            Err(error) => return Err(refused(&self.path, "show a buffer", error)),
        }
        Ok(())
    }

    /// Reads what the card tells; each flip once.
    pub(crate) fn hear(&mut self) -> Result<Vec<Flip>, Fault> {
        let events = self.device.receive_events();
        let events = events.map_err(|it| refused(&self.path, "tell of a beat", it))?;
        let mut flips = Vec::new();
        for event in events {
            let Event::PageFlip(event) = event else {
                continue;
            };
            if let Some(shown) = self.pending.take() {
                self.front = shown;
            }
            // The number goes round after years.
            let is_later = self
                .beat
                .is_none_or(|last| event.frame.wrapping_sub(last).cast_signed() > 0);
            self.beat = Some(event.frame);
            flips.push(Flip { is_later });
        }
        Ok(flips)
    }
}

impl AsFd for Card {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.device.as_fd()
    }
}

impl Buffer {
    fn new(device: &Device, size: (u32, u32)) -> io::Result<Self> {
        let buffer = device.create_dumb_buffer(size, DrmFourcc::Xrgb8888, 32)?;
        let frame = device.add_framebuffer(&buffer, 24, 32)?;
        // A leak: a mapping borrows the buffer's numbers. These few bytes stay for each time that a
        // card is taken; the buffer itself goes with the card.
        let numbers: &'static mut DumbBuffer = Box::leak(Box::new(buffer));
        let mut pixels = device.map_dumb_buffer(numbers)?;
        pixels.fill(0);
        Ok(Self {
            frame,
            pixels,
            stride: buffer.pitch() as usize,
            holds: 0,
            arrow: Rect::default(),
        })
    }

    /// Copies in what has changed since the frame that is there, and what the arrow covers.
    fn fill(&mut self, frame: &Frame, size: (u32, u32)) {
        let bounds = Rect::of_size(size.0 as i32, size.1 as i32);
        let (width, height) = frame.size();
        let bounds = bounds.intersection(Rect::of_size(width as i32, height as i32));
        if frame.size() != size {
            self.pixels.fill(0);
        }
        for rect in frame.since(self.holds) {
            self.copy(frame, rect.intersection(bounds));
        }
        self.copy(frame, self.arrow.intersection(bounds));
        self.arrow = Rect::default();
        self.holds = match frame.size() == size {
            true => frame.number(),
            false => 0,
        };
    }

    fn copy(&mut self, frame: &Frame, rect: Rect) {
        if rect.is_empty() {
            return;
        }
        for row in rect.top as usize..rect.bottom as usize {
            let start = row * frame.size().0 as usize;
            let from = (start + rect.left as usize) * 3;
            let to = (start + rect.right as usize) * 3;
            let place = row * self.stride + rect.left as usize * PIXEL_BYTES;
            let pixels = self.pixels[place..].chunks_exact_mut(PIXEL_BYTES);
            for (pixel, colour) in pixels.zip(frame.bytes()[from..to].chunks_exact(3)) {
                pixel.copy_from_slice(&[colour[2], colour[1], colour[0], u8::MAX]);
            }
        }
    }

    fn draw(&mut self, mouse: Option<(i32, i32)>, (width, height): (u32, u32)) {
        let Some((x, y)) = mouse else {
            return;
        };
        let bounds = Rect::of_size(width as i32, height as i32);
        let arrow = Rect::of_size(Arrow::WIDTH as i32, Arrow::HEIGHT as i32);
        self.arrow = arrow.moved(x, y).intersection(bounds);
        for row in self.arrow.top..self.arrow.bottom {
            for column in self.arrow.left..self.arrow.right {
                let place = row as usize * self.stride + column as usize * PIXEL_BYTES;
                if let Some(light) = Arrow::light((column - x) as u32, (row - y) as u32) {
                    self.pixels[place..place + 3].fill(light);
                }
            }
        }
    }
}
