// SPDX-License-Identifier: Apache-2.0
//! [`Layout`]: which key of a keyboard is which character, by XKB.
//!
//! A compositor sends its keymap and says which modifiers hold ([`Layout::parse`],
//! [`Layout::hold`]). On a console the keymap comes from the system's files, and modifiers from the
//! keys themselves ([`Layout::of_names`], [`Layout::press`]).

use kbvm::lookup::LookupTable;
use kbvm::state_machine::{Direction, Event, State, StateMachine};
use kbvm::xkb::diagnostic::{Diagnostic, DiagnosticHandler, DiagnosticKind};
use kbvm::xkb::rmlvo::Group;
use kbvm::xkb::{Context, Keymap};
use kbvm::{Components, GroupIndex, Keycode, Keysym, ModifierMask};

/// Of a keymap: those of all layouts together have a tenth.
pub const KEYMAP_BYTES_MAX: usize = 1 << 20;
/// Keysyms that stand for characters in tables of their own; ours know Unicode alone.
const LEGACY: std::ops::Range<u32> = 0x100..0xfd00;
const UNICODE: u32 = 0x0100_0000;

/// Why there is no layout.
#[derive(Debug, thiserror::Error)]
pub enum LayoutFault {
    /// A keymap is larger than it may be.
    #[error("the keymap has more than {KEYMAP_BYTES_MAX} bytes")]
    Size,
    /// It is no keymap.
    #[error("the keymap is wrong: {0}")]
    Text(String),
}

/// A keymap, and what is held.
pub struct Layout {
    table: LookupTable,
    machine: StateMachine,
    state: State,
    held: Components,
}

impl std::fmt::Debug for Layout {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Layout").field("held", &self.held).finish()
    }
}

impl Layout {
    /// Of a keymap's text.
    pub fn parse(text: &[u8]) -> Result<Self, LayoutFault> {
        if text.len() > KEYMAP_BYTES_MAX {
            return Err(LayoutFault::Size);
        }
        let mut builder = Context::builder();
        // What a compositor sends is whole: it names no files.
        builder.clear();
        let text = text.strip_suffix(&[0]).unwrap_or(text);
        let keymap = builder.build().keymap_from_bytes(Silent, None, text);
        let keymap = keymap.map_err(|it| LayoutFault::Text(it.to_string()))?;
        Ok(Self::of(&keymap))
    }

    /// Of names as in XKB_DEFAULT_LAYOUT and XKB_DEFAULT_VARIANT; without a layout it is `us`.
    pub fn of_names(layouts: &str, variants: &str) -> Self {
        let layouts = if layouts.is_empty() { "us" } else { layouts };
        let groups: Vec<Group<'_>> = Group::from_layouts_and_variants(layouts, variants).collect();
        let context = Context::default();
        let keymap = context.keymap_from_names(Silent, None, None, Some(&groups), None);
        Self::of(&keymap)
    }

    fn of(keymap: &Keymap) -> Self {
        let builder = keymap.to_builder();
        let machine = builder.build_state_machine();
        Self {
            table: builder.build_lookup_table(),
            state: machine.create_state(),
            machine,
            held: Components::default(),
        }
    }

    /// What holds: pressed, latched and locked modifiers, and the group.
    pub fn hold(&mut self, [pressed, latched, locked]: [u32; 3], group: u32) {
        self.held.mods_pressed = ModifierMask(pressed);
        self.held.mods_latched = ModifierMask(latched);
        self.held.mods_locked = ModifierMask(locked);
        self.held.group_locked = GroupIndex(group);
        self.held.update_effective();
    }

    /// The keysym of a key, by the number that the kernel has for it.
    pub fn keysym(&self, key: u32) -> Option<u32> {
        let (group, mods) = (self.held.group, self.held.mods);
        let found = self.table.lookup(group, mods, Keycode::from_evdev(key));
        // Ctrl makes a command of a character; which one, an application says.
        let found = found.with_ctrl_transform(false);
        let keysym = found.into_iter().next()?.keysym();
        Some(unicode(keysym))
    }

    /// Does a key go on while it is held?
    pub fn repeats(&self, key: u32) -> bool {
        self.table.repeats(Keycode::from_evdev(key))
    }

    /// A key goes down or up. `told` hears of the keysyms that go down or up by that.
    pub fn press(&mut self, key: u32, is_down: bool, mut told: impl FnMut(u32, bool)) {
        let direction = match is_down {
            true => Direction::Down,
            false => Direction::Up,
        };
        let mut events = Vec::new();
        let key = Keycode::from_evdev(key);
        let (machine, state) = (&self.machine, &mut self.state);
        machine.handle_key(state, &mut events, key, direction);
        for event in events {
            self.held.apply_event(event);
            let (key, is_down) = match event {
                Event::KeyDown(key) => (key, true),
                Event::KeyUp(key) => (key, false),
                _ => continue,
            };
            if let Some(keysym) = self.keysym(key.to_evdev()) {
                told(keysym, is_down);
            }
        }
    }
}

/// Warnings of a keymap are its author's.
struct Silent;

impl DiagnosticHandler for Silent {
    fn filter(&self, _: DiagnosticKind, _: bool) -> bool {
        false
    }

    fn handle(&mut self, _: Diagnostic) {}
}

/// X11's older numbers of characters as those of Unicode.
fn unicode(keysym: Keysym) -> u32 {
    match keysym.char() {
        Some(character) if LEGACY.contains(&keysym.0) => UNICODE + u32::from(character),
        _ => keysym.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keys of linux/input-event-codes.h.
    const KEY_Q: u32 = 16;
    const KEY_Y: u32 = 21;
    const KEY_LEFTSHIFT: u32 = 42;

    fn typed(layout: &mut Layout, keys: &[(u32, bool)]) -> Vec<(u32, bool)> {
        let mut all = Vec::new();
        for (key, is_down) in keys {
            layout.press(*key, *is_down, |keysym, is_down| {
                all.push((keysym, is_down));
            });
        }
        all
    }

    #[test]
    fn a_key_is_what_its_layout_says() {
        let y = [(KEY_Y, true), (KEY_Y, false)];
        for name in ["us", ""] {
            let mut us = Layout::of_names(name, "");
            assert_eq!(
                typed(&mut us, &y),
                [(0x79, true), (0x79, false)],
                "{name:?}"
            );
        }
        let mut german = Layout::of_names("de", "");
        assert_eq!(typed(&mut german, &y), [(0x7a, true), (0x7a, false)]);
        let shifted = [(KEY_LEFTSHIFT, true), (KEY_Y, true), (KEY_LEFTSHIFT, false)];
        let expected = [(0xffe1, true), (0x5a, true), (0xffe1, false)];
        assert_eq!(typed(&mut german, &shifted), expected);
        let mut russian = Layout::of_names("ru", "");
        let q = [(KEY_Q, true)];
        assert_eq!(typed(&mut russian, &q), [(UNICODE + 0x439, true)]);
    }

    #[test]
    fn what_is_no_keymap_is_refused() {
        assert!(matches!(Layout::parse(b"no"), Err(LayoutFault::Text(_))));
        let large = vec![b' '; KEYMAP_BYTES_MAX + 1];
        assert!(matches!(Layout::parse(&large), Err(LayoutFault::Size)));
    }
}
