// SPDX-License-Identifier: Apache-2.0
//! [`Screen`]: the windows of a display in their order, who has the focus, where touches go.

use std::collections::VecDeque;

use rt::shared::SharedError;

use crate::buffers::Frame;
use crate::channel::{Carrier, Channel, ChannelId, Input, POINTERS_MAX, Pointer, Pointers};
use crate::channel::{Reader, Touch, Unsent};
use crate::display::{Display, SIDE_MAX};
use crate::geometry::Rect;
use crate::layers::{self, Change, LayerId, LayerKind, Layers, Owner, Side};
use crate::picture::Picture;
use crate::placement::{Frames, Wish};
use crate::vsync::Vsync;
use crate::window::{Window, WindowId, WindowKind};

/// Windows of one display: an application that opens more has lost count.
const WINDOWS_MAX: usize = 64;

/// Why something is not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// There are too many windows.
    #[error("there are {WINDOWS_MAX} windows already")]
    TooManyWindows,
    /// There is no such window.
    #[error("there is no such window")]
    NoWindow,
    /// No window lies there.
    #[error("no window takes a touch there")]
    NoTarget,
    /// No window has the focus.
    #[error("no window has the focus")]
    NoFocus,
    /// A gesture has so many fingers at most.
    #[error("there are {POINTERS_MAX} fingers already")]
    TooManyFingers,
    /// The window does not read its input.
    #[error("the window does not read its input: its channel is full")]
    Full,
    /// The window wrote nonsense into its channel.
    #[error("the window's input channel is broken: its application wrote what is no count")]
    Broken,
    /// There are too many layers, or layers of layers.
    #[error("there are too many layers")]
    TooManyLayers,
    /// There is no such layer.
    #[error("there is no such layer")]
    NoLayer,
    /// A surface has a side of 1 to 16384 pixels.
    #[error("a surface of this size cannot be made")]
    Size,
    /// The system gives no memory.
    #[error("{0}")]
    Memory(SharedError),
}

/// Fingers that are down: all of their touches go to one window.
#[derive(Clone, Copy, Debug)]
struct Gesture {
    window: WindowId,
    down_ns: u64,
    pointers: Pointers,
    /// The name of each finger, by its number.
    names: [Option<FingerId>; POINTERS_MAX],
}

impl Gesture {
    /// Where a finger stands among those that are down.
    fn index_of(&self, finger: FingerId) -> Option<usize> {
        let id = self.names.iter().position(|it| *it == Some(finger))?;
        let mut pointers = self.pointers.as_slice().iter();
        pointers.position(|it| usize::from(it.id) == id)
    }

    /// Another one comes down; where it stands, or none if there are too many.
    fn insert(&mut self, finger: FingerId, (x, y): (f32, f32)) -> Option<usize> {
        let free = self.names.iter().position(Option::is_none)?;
        let id = free as u8;
        let place = self.pointers.insert(Pointer { id, x, y })?;
        self.names[free] = Some(finger);
        Some(place)
    }

    /// The one that stands there has gone up; false if it was the last.
    fn remove(&mut self, index: usize) -> bool {
        let id = self.pointers.as_slice()[index].id;
        self.names[usize::from(id)] = None;
        self.pointers.remove(index);
        !self.pointers.as_slice().is_empty()
    }
}

/// A finger's name, given by who has it: a back end's own count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FingerId(pub u32);

/// The state of one display.
#[derive(Debug)]
pub struct Screen {
    display: Display,
    /// From the lowest to the highest.
    windows: Vec<Window>,
    layers: Layers,
    vsync: Vsync,
    focus: Option<WindowId>,
    gesture: Option<Gesture>,
    carrier: Carrier,
    /// Channels whose loopers must be woken, once each.
    told: VecDeque<ChannelId>,
    key_down_ns: u64,
    names: u32,
    /// Counts what may change the picture.
    revision: u64,
}

impl Screen {
    /// A display without windows.
    pub fn new(display: Display) -> Self {
        Self::carried_by(display, Carrier::Ring)
    }

    /// The same, with input carried to windows by this.
    pub fn carried_by(display: Display, carrier: Carrier) -> Self {
        Self {
            display,
            carrier,
            windows: Vec::with_capacity(WINDOWS_MAX),
            layers: Layers::default(),
            vsync: Vsync::new(display.refresh_hz),
            focus: None,
            gesture: None,
            told: VecDeque::with_capacity(WINDOWS_MAX),
            key_down_ns: 0,
            names: 0,
            revision: 0,
        }
    }

    /// Another size: windows are placed anew as they ask for it. What is down goes nowhere.
    pub fn resize(&mut self, width: u32, height: u32, now_ns: u64) -> Result<(), Refusal> {
        let is_size = |it: u32| (1..=SIDE_MAX).contains(&it);
        if !is_size(width) || !is_size(height) {
            return Err(Refusal::Size);
        }
        if let Some(lost) = self.gesture.take() {
            let _ = self.send_touch(&lost, Touch::Cancel, 0, now_ns);
        }
        (self.display.width, self.display.height) = (width, height);
        self.revision += 1;
        Ok(())
    }

    /// A number that changes whenever the picture may have.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// The display.
    pub fn display(&self) -> Display {
        self.display
    }

    /// Its beat.
    pub fn vsync(&mut self) -> &mut Vsync {
        &mut self.vsync
    }

    /// A new window, not visible yet, above those of its kind.
    pub fn add(&mut self, kind: WindowKind, has_input: bool) -> Result<WindowId, Refusal> {
        if self.windows.len() == WINDOWS_MAX {
            return Err(Refusal::TooManyWindows);
        }
        let place = self.place_of(kind)?;
        let channel = ChannelId(self.names + 1);
        let channel = has_input.then(|| Channel::new(channel, self.carrier));
        let channel = channel.transpose().map_err(Refusal::Memory)?;
        self.names += 1;
        let id = WindowId(self.names);
        let window = Window {
            id,
            kind,
            channel,
            frames: Frames::default(),
            insets: Rect::default(),
            flags: 0,
            alpha: 1.0,
            dim: 0.0,
            is_visible: false,
            is_opaque: false,
            buffers: None,
        };
        self.windows.insert(place, window);
        Ok(id)
    }

    fn place_of(&self, kind: WindowKind) -> Result<usize, Refusal> {
        let is_system = |it: &Window| it.kind == WindowKind::System;
        match kind {
            WindowKind::System => Ok(self.windows.len()),
            WindowKind::Application => Ok(self
                .windows
                .iter()
                .position(is_system)
                .unwrap_or(self.windows.len())),
            WindowKind::Media(parent) => self.index_of(parent),
            WindowKind::Panel(parent) => {
                let parent_index = self.index_of(parent)?;
                let above = &self.windows[parent_index + 1..];
                let children = above
                    .iter()
                    .take_while(|it| self.is_above(it, parent))
                    .count();
                Ok(parent_index + 1 + children)
            }
        }
    }

    /// Is a window one of `parent`, or of one of these?
    fn is_above(&self, window: &Window, parent: WindowId) -> bool {
        let mut kind = window.kind;
        // A window is younger than its parent, so this ends.
        while let WindowKind::Panel(id) | WindowKind::Media(id) = kind {
            if id == parent {
                return true;
            }
            let Ok(index) = self.index_of(id) else {
                return false;
            };
            kind = self.windows[index].kind;
        }
        false
    }

    /// The name of a window's channel.
    pub fn channel_of(&self, id: WindowId) -> Option<ChannelId> {
        let index = self.index_of(id).ok()?;
        Some(self.windows[index].channel.as_ref()?.id)
    }

    /// Places a window anew. `insets` is how far its surface reaches beyond its frame.
    pub fn place(&mut self, id: WindowId, wish: &Wish, insets: Rect) -> Result<Frames, Refusal> {
        let index = self.index_of(id)?;
        let attached = match self.windows[index].kind {
            WindowKind::Panel(parent) | WindowKind::Media(parent) => {
                Some(self.windows[self.index_of(parent)?].frames.frame)
            }
            _ => None,
        };
        let frames = wish.place(self.display.bounds(), attached);
        self.revision += 1;
        let window = &mut self.windows[index];
        window.frames = frames;
        window.insets = insets;
        window.flags = wish.flags;
        Ok(frames)
    }

    /// How it looks as a whole: its own alpha, and how dark it is behind it.
    pub fn shade(&mut self, id: WindowId, alpha: f32, dim: f32) -> Result<(), Refusal> {
        let index = self.index_of(id)?;
        self.revision += 1;
        let window = &mut self.windows[index];
        window.alpha = alpha;
        window.dim = dim;
        Ok(())
    }

    /// Does nothing shine through it?
    pub fn set_opaque(&mut self, id: WindowId, is_opaque: bool) -> Result<(), Refusal> {
        let index = self.index_of(id)?;
        self.windows[index].is_opaque = is_opaque;
        self.revision += 1;
        Ok(())
    }

    /// Shows or hides it; one that is hidden has no pixels any longer.
    pub fn set_visible(
        &mut self,
        id: WindowId,
        is_visible: bool,
        now_ns: u64,
    ) -> Result<(), Refusal> {
        let index = self.index_of(id)?;
        let window = &mut self.windows[index];
        window.is_visible = is_visible;
        self.revision += 1;
        if !is_visible {
            window.buffers = None;
        }
        self.look_for_focus(now_ns);
        Ok(())
    }

    /// Takes a window away, with those of its own.
    pub fn remove(&mut self, id: WindowId, now_ns: u64) -> Result<(), Refusal> {
        self.index_of(id)?;
        let gone: Vec<WindowId> = self
            .windows
            .iter()
            .filter(|it| it.id == id || self.is_above(it, id))
            .map(|it| it.id)
            .collect();
        self.windows.retain(|it| !gone.contains(&it.id));
        self.layers.remove_of(&gone);
        self.revision += 1;
        self.gesture = self.gesture.filter(|it| !gone.contains(&it.window));
        self.told
            .retain(|it| !gone.iter().any(|gone| gone.0 == it.0));
        self.focus = self.focus.filter(|it| !gone.contains(it));
        self.look_for_focus(now_ns);
        Ok(())
    }

    /// Who has the focus.
    pub fn focus(&self) -> Option<WindowId> {
        self.focus
    }

    /// The highest window that can have it; both who loses and who gains it hears of it.
    fn look_for_focus(&mut self, now_ns: u64) {
        let highest = self.windows.iter().rev().find(|it| it.can_have_focus());
        let next = highest.map(|it| it.id);
        if next == self.focus {
            return;
        }
        if let Some(loser) = self.focus {
            // A channel that is full belongs to an application that will be told of as stuck.
            let _ = self.send(loser, Input::Focus(false), now_ns);
        }
        self.focus = next;
        if let Some(winner) = next {
            let _ = self.send(winner, Input::Focus(true), now_ns);
        }
    }

    /// The one finger of a script, at a place of the display.
    pub fn touch(
        &mut self,
        touch: Touch,
        x: f32,
        y: f32,
        now_ns: u64,
    ) -> Result<WindowId, Refusal> {
        self.finger(FingerId(0), touch, (x, y), now_ns)
    }

    /// One of several fingers. A finger that comes down beside others joins their gesture.
    pub fn finger(
        &mut self,
        finger: FingerId,
        touch: Touch,
        place: (f32, f32),
        now_ns: u64,
    ) -> Result<WindowId, Refusal> {
        if touch == Touch::Down {
            return self.finger_down(finger, place, now_ns);
        }
        let mut gesture = self.gesture.ok_or(Refusal::NoTarget)?;
        let index = gesture.index_of(finger).ok_or(Refusal::NoTarget)?;
        gesture.pointers.move_to(index, place);
        let all = gesture;
        let touch = match touch {
            Touch::Up => {
                let has_more = gesture.remove(index);
                self.gesture = has_more.then_some(gesture);
                if has_more {
                    Touch::PointerUp
                } else {
                    Touch::Up
                }
            }
            Touch::Cancel => {
                self.gesture = None;
                Touch::Cancel
            }
            _ => {
                self.gesture = Some(gesture);
                Touch::Move
            }
        };
        self.send_touch(&all, touch, index, now_ns)
    }

    fn finger_down(
        &mut self,
        finger: FingerId,
        place: (f32, f32),
        now_ns: u64,
    ) -> Result<WindowId, Refusal> {
        // One that is down already has lost its end: what it did is over.
        let known = self.gesture.filter(|it| it.index_of(finger).is_some());
        if let Some(lost) = known {
            self.gesture = None;
            let _ = self.send_touch(&lost, Touch::Cancel, 0, now_ns);
        }
        let (mut gesture, touch) = match self.gesture {
            Some(gesture) => (gesture, Touch::PointerDown),
            None => (self.begin(place, now_ns)?, Touch::Down),
        };
        let index = gesture.insert(finger, place);
        let index = index.ok_or(Refusal::TooManyFingers)?;
        // One that the window does not hear of is not down.
        let window = self.send_touch(&gesture, touch, index, now_ns)?;
        self.gesture = Some(gesture);
        Ok(window)
    }

    fn send_touch(
        &mut self,
        gesture: &Gesture,
        touch: Touch,
        index: usize,
        now_ns: u64,
    ) -> Result<WindowId, Refusal> {
        let input = Input::Touch {
            touch,
            index: index as u8,
            pointers: gesture.pointers,
            corner: self.corner_of(gesture.window)?,
            down_ns: gesture.down_ns,
        };
        self.send(gesture.window, input, now_ns)?;
        Ok(gesture.window)
    }

    /// Finds whose touches these are; who watches what lies outside hears of it.
    fn begin(&mut self, (x, y): (f32, f32), now_ns: u64) -> Result<Gesture, Refusal> {
        let touched = self.windows.iter().rposition(|it| it.is_touched(x, y));
        let index = touched.ok_or(Refusal::NoTarget)?;
        let window = self.windows[index].id;
        let above = &self.windows[index + 1..];
        let watchers: Vec<WindowId> = above
            .iter()
            .filter(|it| it.watches())
            .map(|it| it.id)
            .collect();
        for watcher in watchers {
            let input = Input::Touch {
                touch: Touch::Outside,
                index: 0,
                pointers: Pointers::one(Pointer { id: 0, x, y }),
                corner: self.corner_of(watcher)?,
                down_ns: now_ns,
            };
            let _ = self.send(watcher, input, now_ns);
        }
        Ok(Gesture {
            window,
            down_ns: now_ns,
            pointers: Pointers::default(),
            names: [None; POINTERS_MAX],
        })
    }

    /// A wheel turns over a place of the display: so many notches to the right and up.
    pub fn scroll(
        &mut self,
        (x, y): (f32, f32),
        (right, up): (f32, f32),
        now_ns: u64,
    ) -> Result<WindowId, Refusal> {
        let touched = self.windows.iter().rfind(|it| it.is_touched(x, y));
        let window = touched.ok_or(Refusal::NoTarget)?.id;
        let input = Input::Scroll {
            place: (x, y),
            corner: self.corner_of(window)?,
            right,
            up,
        };
        self.send(window, input, now_ns)?;
        Ok(window)
    }

    fn corner_of(&self, id: WindowId) -> Result<(f32, f32), Refusal> {
        let frame = self.windows[self.index_of(id)?].frames.frame;
        Ok((frame.left as f32, frame.top as f32))
    }

    /// A key, for who has the focus. `meta` says which keys are held meanwhile, as KeyEvent does.
    pub fn key(
        &mut self,
        code: i32,
        meta: i32,
        is_down: bool,
        now_ns: u64,
    ) -> Result<WindowId, Refusal> {
        let focus = self.focus.ok_or(Refusal::NoFocus)?;
        if is_down {
            self.key_down_ns = now_ns;
        }
        let down_ns = self.key_down_ns;
        let key = Input::Key {
            code,
            meta,
            is_down,
            down_ns,
        };
        self.send(focus, key, now_ns)?;
        Ok(focus)
    }

    fn send(&mut self, id: WindowId, input: Input, now_ns: u64) -> Result<(), Refusal> {
        let index = self.index_of(id)?;
        let channel = self.windows[index]
            .channel
            .as_mut()
            .ok_or(Refusal::NoTarget)?;
        let sent = channel.send(input, now_ns);
        let wakes = sent.map_err(|it| match it {
            Unsent::Full => Refusal::Full,
            Unsent::Broken => Refusal::Broken,
        })?;
        let id = channel.id;
        self.tell(id, wakes);
        Ok(())
    }

    fn tell(&mut self, id: ChannelId, wakes: bool) {
        if wakes && !self.told.contains(&id) {
            self.told.push_back(id);
        }
    }

    /// A channel whose looper must be woken.
    pub fn next_told(&mut self) -> Option<ChannelId> {
        self.told.pop_front()
    }

    /// The window's end of a channel; none if it has that already.
    pub fn open_reader(&mut self, id: ChannelId) -> Option<Reader> {
        self.channel(id)?.take_reader()
    }

    /// The window reads no longer. Another receiver may.
    pub fn give_back(&mut self, reader: Reader) {
        if let Some(channel) = self.channel(reader.id()) {
            channel.give_back(reader);
        }
    }

    /// A reader says that there is room: what waits is sent.
    pub fn hear(&mut self, id: ChannelId) {
        let wakes = self.channel(id).is_some_and(Channel::flush);
        self.tell(id, wakes);
    }

    /// A window with input from before this time that is not finished.
    pub fn overdue(&mut self, before_ns: u64) -> Option<WindowId> {
        let is_late = |it: &mut Window| {
            let oldest = it.channel.as_mut().and_then(Channel::oldest_ns);
            oldest.is_some_and(|at_ns| at_ns < before_ns)
        };
        let mut windows = self.windows.iter_mut();
        windows.find_map(|it| is_late(it).then_some(it.id))
    }

    /// Is nothing on its way? No beat is asked for, all input is finished, and every visible window
    /// is drawn.
    pub fn is_quiet(&mut self) -> bool {
        let is_done = |it: &mut Window| {
            let has_drawn = !it.is_visible || it.has_frame();
            has_drawn && it.channel.as_mut().is_none_or(Channel::is_quiet)
        };
        self.vsync.is_quiet() && self.windows.iter_mut().all(is_done)
    }

    /// Does any window show something?
    pub fn has_picture(&self) -> bool {
        self.windows
            .iter()
            .any(|it| it.is_visible && it.has_frame())
    }

    /// The size of a window's surface.
    pub fn surface_size(&self, id: WindowId) -> Result<(u32, u32), Refusal> {
        let surface = self.windows[self.index_of(id)?].surface();
        Ok((surface.width() as u32, surface.height() as u32))
    }

    /// A window has drawn a frame of so many columns and rows.
    pub fn post(
        &mut self,
        id: WindowId,
        (width, height): (u32, u32),
        pixels: &[u8],
    ) -> Result<Frame, Refusal> {
        let index = self.index_of(id)?;
        let frame = layers::post(&mut self.windows[index].buffers, (width, height), pixels)?;
        self.revision += u64::from(!frame.damage.is_empty());
        Ok(frame)
    }

    /// A new layer, shown from its first frame on.
    pub fn add_layer(&mut self, kind: LayerKind, owner: Owner) -> Result<LayerId, Refusal> {
        if let Owner::Window(id) = owner {
            self.index_of(id)?;
        }
        self.revision += 1;
        self.layers.add(kind, owner)
    }

    /// Changes a layer.
    pub fn change_layer(&mut self, id: LayerId, change: Change) -> Result<(), Refusal> {
        self.revision += 1;
        self.layers.change(id, change)
    }

    /// Takes a layer away, with those of its own.
    pub fn remove_layer(&mut self, id: LayerId) {
        self.revision += 1;
        self.layers.remove(id);
    }

    /// Is it there?
    pub fn has_layer(&self, id: LayerId) -> bool {
        self.layers.has(id)
    }

    /// A layer has a frame of so many columns and rows.
    pub fn post_layer(
        &mut self,
        id: LayerId,
        size: (u32, u32),
        pixels: &[u8],
    ) -> Result<Frame, Refusal> {
        let frame = self.layers.post(id, size, pixels)?;
        self.revision += u64::from(!frame.damage.is_empty());
        Ok(frame)
    }

    /// What the display shows.
    pub fn compose(&self) -> Picture {
        let mut picture = Picture::black(self.display.width, self.display.height);
        let mut row = Vec::new();
        for window in self.windows.iter().filter(|it| it.is_visible) {
            let Some(buffers) = &window.buffers else {
                continue;
            };
            if window.darkness() > 0.0 {
                picture.darken(window.darkness());
            }
            let (width, height) = buffers.size();
            let corner = window.surface();
            let (layers, id) = (&self.layers, window.id);
            layers.draw(id, corner, Side::Under, &mut picture);
            let place = Rect::of_size(width as i32, height as i32).moved(corner.left, corner.top);
            for index in 0..height as usize {
                if buffers.row(index, &mut row) {
                    if window.is_opaque {
                        Picture::make_opaque(&mut row);
                    }
                    picture.lay(index, &row, place, window.alpha);
                }
            }
            layers.draw(id, corner, Side::Over, &mut picture);
        }
        picture
    }

    fn index_of(&self, id: WindowId) -> Result<usize, Refusal> {
        let found = self.windows.iter().position(|it| it.id == id);
        found.ok_or(Refusal::NoWindow)
    }

    fn channel(&mut self, id: ChannelId) -> Option<&mut Channel> {
        let mut channels = self.windows.iter_mut().filter_map(|it| it.channel.as_mut());
        channels.find(|it| it.id == id)
    }
}
