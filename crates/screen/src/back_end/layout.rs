// SPDX-License-Identifier: Apache-2.0
//! [`Layout`]: which key of a keyboard is which character, by XKB.
//!
//! A compositor sends its keymap and says which modifiers hold.

use kbvm::lookup::LookupTable;
use kbvm::xkb::diagnostic::{Diagnostic, DiagnosticHandler, DiagnosticKind};
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

    fn of(keymap: &Keymap) -> Self {
        Self {
            table: keymap.to_builder().build_lookup_table(),
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
    use kbvm::xkb::rmlvo::Group;

    use super::*;

    /// Keys of linux/input-event-codes.h.
    const KEY_Q: u32 = 16;
    const KEY_Y: u32 = 21;
    /// XKB's bit of it.
    const SHIFT: u32 = 1;

    /// Of the system's files.
    fn named(layout: &str) -> Layout {
        let groups: Vec<Group<'_>> = Group::from_layouts_and_variants(layout, "").collect();
        let context = Context::default();
        Layout::of(&context.keymap_from_names(Silent, None, None, Some(&groups), None))
    }

    #[test]
    fn a_key_is_what_its_layout_says() {
        assert_eq!(named("us").keysym(KEY_Y), Some(0x79));
        let mut german = named("de");
        assert_eq!(german.keysym(KEY_Y), Some(0x7a));
        german.hold([SHIFT, 0, 0], 0);
        assert_eq!(german.keysym(KEY_Y), Some(0x5a));
        assert_eq!(named("ru").keysym(KEY_Q), Some(UNICODE + 0x439));
    }

    #[test]
    fn what_is_no_keymap_is_refused() {
        assert!(matches!(Layout::parse(b"no"), Err(LayoutFault::Text(_))));
        let large = vec![b' '; KEYMAP_BYTES_MAX + 1];
        assert!(matches!(Layout::parse(&large), Err(LayoutFault::Size)));
    }
}
