// SPDX-License-Identifier: Apache-2.0
//! [`Layers`]: what lies below or above a window's own drawing, such as a SurfaceView's pixels.
//!
//! A layer belongs to a window, or to another layer: it moves, is cut and hidden with that one.
//! Where it lies among what a window shows is said apart, by [`Change::Over`]. `screen` draws them.

use crate::buffers::{Buffers, Frame, PIXEL_BYTES};
use crate::display::SIDE_MAX;
use crate::geometry::Rect;
use crate::picture::Picture;
use crate::screen::Refusal;
use crate::window::WindowId;

/// Layers of one display: some four for each view with a surface of its own.
const LAYERS_MAX: usize = 256;
/// Layers of layers: AOSP makes three.
const DEPTH_MAX: usize = 16;
/// How large a crop is that cuts nothing.
const FAR: i32 = 1 << 20;

/// The name of a layer; never given again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LayerId(pub u32);

/// What a layer shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LayerKind {
    /// Only the layers of its own.
    Container,
    /// One colour, wherever it is not cut.
    Color,
    /// Frames that are posted.
    Pixels,
}

/// Whom a layer belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// A window's surface.
    Window(WindowId),
    /// Another layer.
    Layer(LayerId),
}

/// What becomes of a layer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Change {
    /// It belongs to another one.
    Owner(Owner),
    /// It lies over a window's own drawing, or under it if the number is negative.
    Over(WindowId, i32),
    /// Its order among its owner's.
    Order(i32),
    /// Where it begins, in its owner's pixels.
    Position(f32, f32),
    /// How its pixels are stretched.
    Scale(f32, f32),
    /// How much of it shines.
    Alpha(f32),
    /// What is seen of it, in its own pixels; an empty one cuts nothing.
    Crop(Rect),
    /// Is it shown?
    Visible(bool),
    /// Does nothing shine through?
    Opaque(bool),
    /// Its red, green and blue, up to 1.
    Color([f32; 3]),
}

#[derive(Debug)]
struct Layer {
    id: LayerId,
    kind: LayerKind,
    owner: Owner,
    over: Option<WindowId>,
    order: i32,
    position: (f32, f32),
    scale: (f32, f32),
    alpha: f32,
    crop: Rect,
    is_visible: bool,
    is_opaque: bool,
    color: [u8; 3],
    buffers: Option<Buffers>,
}

/// Which of a window's layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Under,
    Over,
}

/// Where a layer lies on the display.
#[derive(Clone, Copy, Debug)]
struct Place {
    x: f32,
    y: f32,
    scale: (f32, f32),
    clip: Rect,
    alpha: f32,
}

/// All layers of a display.
#[derive(Debug, Default)]
pub(crate) struct Layers {
    layers: Vec<Layer>,
    names: u32,
}

impl Layers {
    pub(crate) fn add(&mut self, kind: LayerKind, owner: Owner) -> Result<LayerId, Refusal> {
        if self.layers.len() == LAYERS_MAX {
            return Err(Refusal::TooManyLayers);
        }
        self.check(owner, None)?;
        self.names += 1;
        let id = LayerId(self.names);
        self.layers.push(Layer {
            id,
            kind,
            owner,
            over: None,
            order: 0,
            position: (0.0, 0.0),
            scale: (1.0, 1.0),
            alpha: 1.0,
            crop: Rect::default(),
            is_visible: true,
            is_opaque: false,
            color: [0; 3],
            buffers: None,
        });
        Ok(id)
    }

    /// Is an owner there, and is `of` none of those whom it belongs to?
    fn check(&self, owner: Owner, of: Option<LayerId>) -> Result<(), Refusal> {
        let mut next = owner;
        for _ in 0..DEPTH_MAX {
            let Owner::Layer(id) = next else {
                return Ok(());
            };
            if of == Some(id) {
                return Err(Refusal::NoLayer);
            }
            next = self.find(id).ok_or(Refusal::NoLayer)?.owner;
        }
        Err(Refusal::TooManyLayers)
    }

    fn find(&self, id: LayerId) -> Option<&Layer> {
        self.layers.iter().find(|it| it.id == id)
    }

    fn find_mut(&mut self, id: LayerId) -> Result<&mut Layer, Refusal> {
        let mut all = self.layers.iter_mut();
        all.find(|it| it.id == id).ok_or(Refusal::NoLayer)
    }

    pub(crate) fn has(&self, id: LayerId) -> bool {
        self.find(id).is_some()
    }

    pub(crate) fn change(&mut self, id: LayerId, change: Change) -> Result<(), Refusal> {
        if let Change::Owner(owner) = change {
            self.check(owner, Some(id))?;
        }
        let layer = self.find_mut(id)?;
        match change {
            Change::Owner(owner) => layer.owner = owner,
            Change::Over(window, order) => (layer.over, layer.order) = (Some(window), order),
            Change::Order(order) => (layer.over, layer.order) = (None, order),
            Change::Position(x, y) => layer.position = (x, y),
            Change::Scale(x, y) => layer.scale = (x, y),
            Change::Alpha(alpha) => layer.alpha = alpha.clamp(0.0, 1.0),
            Change::Crop(crop) => layer.crop = crop,
            Change::Visible(is_visible) => layer.is_visible = is_visible,
            Change::Opaque(is_opaque) => layer.is_opaque = is_opaque,
            Change::Color(color) => {
                layer.color = color.map(|it| (it.clamp(0.0, 1.0) * 255.0).round() as u8);
            }
        }
        Ok(())
    }

    /// Takes it away with those of its own.
    pub(crate) fn remove(&mut self, id: LayerId) {
        self.remove_all(|owner| owner == Owner::Layer(id));
        self.layers.retain(|it| it.id != id);
    }

    /// Takes away those of windows that are gone.
    pub(crate) fn remove_of(&mut self, gone: &[WindowId]) {
        self.remove_all(|owner| matches!(owner, Owner::Window(id) if gone.contains(&id)));
    }

    fn remove_all(&mut self, is_gone: impl Fn(Owner) -> bool) {
        let mut removed: Vec<LayerId> = Vec::new();
        // Layers of layers: as deep as `check` lets them be.
        for _ in 0..DEPTH_MAX {
            let belongs = |owner: Owner| {
                is_gone(owner) || matches!(owner, Owner::Layer(id) if removed.contains(&id))
            };
            let found = self.layers.iter().filter(|it| belongs(it.owner));
            let found: Vec<LayerId> = found.map(|it| it.id).collect();
            removed = found;
        }
        self.layers.retain(|it| !removed.contains(&it.id));
    }

    pub(crate) fn post(
        &mut self,
        id: LayerId,
        (width, height): (u32, u32),
        pixels: &[u8],
    ) -> Result<Frame, Refusal> {
        let layer = self.find_mut(id)?;
        post(&mut layer.buffers, (width, height), pixels)
    }

    /// Draws a window's layers of one side, from the lowest to the highest.
    pub(crate) fn draw(&self, window: WindowId, surface: Rect, side: Side, into: &mut Picture) {
        let is_root = |it: &&Layer| match it.over {
            Some(over) => over == window,
            None => it.owner == Owner::Window(window),
        };
        let mut roots: Vec<&Layer> = self.layers.iter().filter(is_root).collect();
        roots.retain(|it| (it.order < 0) == (side == Side::Under));
        roots.sort_by_key(|it| (it.order, it.id));
        for root in roots {
            self.draw_tree(root, surface, into, DEPTH_MAX);
        }
    }

    fn draw_tree(&self, layer: &Layer, surface: Rect, into: &mut Picture, depth: usize) {
        let Some(depth) = depth.checked_sub(1) else {
            return;
        };
        let Some(place) = self.place(layer, surface, into, DEPTH_MAX) else {
            return;
        };
        let is_own = |it: &&Layer| it.over.is_none() && it.owner == Owner::Layer(layer.id);
        let mut own: Vec<&Layer> = self.layers.iter().filter(is_own).collect();
        own.sort_by_key(|it| (it.order, it.id));
        let (below, above): (Vec<_>, Vec<_>) = own.into_iter().partition(|it| it.order < 0);
        for child in below {
            self.draw_tree(child, surface, into, depth);
        }
        layer.draw(place, into);
        for child in above {
            self.draw_tree(child, surface, into, depth);
        }
    }

    /// None if it or its owner is hidden.
    fn place(&self, layer: &Layer, surface: Rect, into: &Picture, depth: usize) -> Option<Place> {
        let depth = depth.checked_sub(1)?;
        let owner = match layer.owner {
            Owner::Window(_) => {
                let (width, height) = into.size();
                Place {
                    x: surface.left as f32,
                    y: surface.top as f32,
                    scale: (1.0, 1.0),
                    clip: Rect::of_size(width as i32, height as i32),
                    alpha: 1.0,
                }
            }
            Owner::Layer(id) => self.place(self.find(id)?, surface, into, depth)?,
        };
        let mut place = Place {
            x: owner.x + layer.position.0 * owner.scale.0,
            y: owner.y + layer.position.1 * owner.scale.1,
            scale: (owner.scale.0 * layer.scale.0, owner.scale.1 * layer.scale.1),
            alpha: owner.alpha * layer.alpha,
            ..owner
        };
        if !layer.crop.is_empty() {
            place.clip = place.clip.intersection(place.rect_of(layer.crop));
        }
        let is_seen = layer.is_visible && !place.clip.is_empty() && place.alpha > 0.0;
        is_seen.then_some(place)
    }
}

/// Puts a frame into a window's or a layer's buffers, which are made anew for another size.
pub(crate) fn post(
    slot: &mut Option<Buffers>,
    (width, height): (u32, u32),
    pixels: &[u8],
) -> Result<Frame, Refusal> {
    let is_size = |it: u32| (1..=SIDE_MAX).contains(&it);
    let bytes = width as usize * height as usize * PIXEL_BYTES;
    if !is_size(width) || !is_size(height) || pixels.len() < bytes {
        return Err(Refusal::Size);
    }
    let kept = slot.take().filter(|it| it.size() == (width, height));
    let buffers = slot.insert(kept.unwrap_or_else(|| Buffers::new(width, height)));
    let stride = width as usize * PIXEL_BYTES;
    buffers.post(pixels, stride).map_err(Refusal::Memory)
}

impl Place {
    /// A rectangle of the layer's pixels on the display.
    fn rect_of(&self, it: Rect) -> Rect {
        let edge = |start: f32, scale: f32, at: i32| {
            let place = (start + scale * at as f32).round();
            (place as i32).clamp(-FAR, FAR)
        };
        Rect::new(
            edge(self.x, self.scale.0, it.left),
            edge(self.y, self.scale.1, it.top),
            edge(self.x, self.scale.0, it.right),
            edge(self.y, self.scale.1, it.bottom),
        )
    }
}

impl Layer {
    fn draw(&self, place: Place, into: &mut Picture) {
        match self.kind {
            LayerKind::Container => {}
            LayerKind::Color => self.fill(place, into),
            LayerKind::Pixels => self.stretch(place, into),
        }
    }

    fn fill(&self, place: Place, into: &mut Picture) {
        let [red, green, blue] = self.color;
        let row = [blue, green, red, u8::MAX].repeat(place.clip.width() as usize);
        for y in place.clip.top..place.clip.bottom {
            let there = Rect::new(place.clip.left, y, place.clip.right, y + 1);
            into.lay(0, &row, there, place.alpha);
        }
    }

    /// Each pixel of the display shows the one below its middle.
    fn stretch(&self, place: Place, into: &mut Picture) {
        let Some(buffers) = &self.buffers else { return };
        let (width, height) = buffers.size();
        let whole = place.rect_of(Rect::of_size(width as i32, height as i32));
        let seen = place.clip.intersection(whole);
        if seen.is_empty() {
            return;
        }
        let source = |at: i32, start: i32, length: i32, count: u32| {
            let index =
                (i64::from(at - start) * 2 + 1) * i64::from(count) / (2 * i64::from(length));
            index.clamp(0, i64::from(count) - 1) as usize
        };
        let columns: Vec<usize> = (seen.left..seen.right)
            .map(|x| source(x, whole.left, whole.width(), width) * PIXEL_BYTES)
            .collect();
        let (mut row, mut shown) = (Vec::new(), Vec::with_capacity(columns.len() * PIXEL_BYTES));
        for y in seen.top..seen.bottom {
            if !buffers.row(source(y, whole.top, whole.height(), height), &mut row) {
                return;
            }
            shown.clear();
            for &column in &columns {
                shown.extend_from_slice(&row[column..column + PIXEL_BYTES]);
            }
            if self.is_opaque {
                Picture::make_opaque(&mut shown);
            }
            into.lay(
                0,
                &shown,
                Rect::new(seen.left, y, seen.right, y + 1),
                place.alpha,
            );
        }
    }
}
