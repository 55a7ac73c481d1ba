// SPDX-License-Identifier: Apache-2.0
//! RFB 3.8 as our page speaks it: [`Parser`] reads what a client sends, functions write what it
//! gets. RFC 6143 says what the messages are; three of them are our own or used in our own way.
//!
//! - [`Message::Touch`] and [`Message::Rotate`] have numbers that nobody else uses.
//! - Text of the clipboard is UTF-8.
//! - Pixels have one form: four bytes, red first. Their encoding is Raw.

use screen::back_end::{PIXELS_MAX, SIDE_MAX, SIDE_MIN};
use screen::{Rect, Touch};

/// What both sides say first.
pub const VERSION: &[u8; 12] = b"RFB 003.008\n";
/// Of text in one message of the clipboard.
pub const CLIP_BYTES_MAX: usize = 64 << 10;
/// Encodings that a client may name: all that are registered are fewer.
const ENCODINGS_MAX: usize = 256;
/// Screens in one SetDesktopSize: there is one display.
const SCREENS_MAX: usize = 16;
const SCREEN_BYTES: usize = 16;
/// Raw pixels.
const RAW: i32 = 0;
/// DesktopSize: the display has another size.
const DESKTOP_SIZE: i32 = -223;
const PIXEL_BYTES: usize = 4;
const TOUCH: u8 = 200;
const ROTATE: u8 = 201;
/// Our form of pixels, as ServerInit and SetPixelFormat have it: 32 bits, 24 of them colour, least
/// byte first, red in the first.
const PIXEL_FORMAT: [u8; 13] = [32, 24, 0, 1, 0, 255, 0, 255, 0, 255, 0, 8, 16];

/// What a client says once it is let in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// It takes pixels in our form.
    PixelFormat,
    /// What it understands.
    Encodings {
        /// Another size of the display among it.
        has_desktop_size: bool,
    },
    /// It wants a picture: what has changed, or all of it.
    Update {
        /// What has changed.
        is_incremental: bool,
    },
    /// A key, by X11's number.
    Key {
        /// X11's keysym.
        keysym: u32,
        /// Down, not up.
        is_down: bool,
    },
    /// A mouse: which buttons are down, and where it is.
    Pointer {
        /// A bit each button; wheels are buttons as well.
        buttons: u8,
        /// Column.
        x: u16,
        /// Row.
        y: u16,
    },
    /// Text of its clipboard.
    Clip(String),
    /// Its window has another size.
    Resize {
        /// Columns.
        width: u32,
        /// Rows.
        height: u32,
    },
    /// A finger.
    Touch {
        /// What it does.
        touch: Touch,
        /// The client's own name of it.
        finger: u8,
        /// Column.
        x: u16,
        /// Row.
        y: u16,
    },
    /// A quarter turn to the left.
    Rotate,
}

/// Why a connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// Another protocol, or another version.
    #[error("it does not speak RFB 3.8")]
    Version,
    /// There is one kind of security here: the token that it came with.
    #[error("it chose security of kind {0}")]
    Security(u8),
    /// A message that we do not know.
    #[error("it sent a message of kind {0}, which is not supported")]
    Kind(u8),
    /// Pixels of another form.
    #[error("it wants pixels of another form, which is not supported")]
    PixelFormat,
    /// Something is larger than it may be.
    #[error("it sent {what} beyond the bound")]
    Bound {
        /// What.
        what: &'static str,
    },
    /// A number that means nothing.
    #[error("it sent {what} that means nothing")]
    Value {
        /// What.
        what: &'static str,
    },
}

/// Where a conversation stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Version,
    Security,
    Shared,
    Messages,
}

/// What comes out of a client's bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heard {
    /// It speaks our version: it wants to know the kinds of security.
    Version,
    /// It chose the one kind.
    Security,
    /// It wants to know the display.
    Init,
    /// A message.
    Message(Message),
}

/// Takes bytes as they come, and gives what they mean.
#[derive(Debug)]
pub struct Parser {
    stage: Stage,
    /// What is not understood yet: less than one message, between calls.
    bytes: Vec<u8>,
}

impl Default for Parser {
    fn default() -> Self {
        Self {
            stage: Stage::Version,
            bytes: Vec::new(),
        }
    }
}

impl Parser {
    /// Takes what has come. Call [`Parser::next`] until it has no more.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// How many bytes wait: less than a message's bound, after [`Parser::next`] had no more.
    pub fn waiting(&self) -> usize {
        self.bytes.len()
    }

    /// The next thing that was said whole.
    #[expect(clippy::should_implement_trait, reason = "it goes on after None")]
    pub fn next(&mut self) -> Result<Option<Heard>, Fault> {
        let Some((heard, size)) = self.look()? else {
            return Ok(None);
        };
        self.bytes.drain(..size);
        self.stage = match self.stage {
            Stage::Version => Stage::Security,
            Stage::Security => Stage::Shared,
            Stage::Shared | Stage::Messages => Stage::Messages,
        };
        Ok(Some(heard))
    }

    fn look(&self) -> Result<Option<(Heard, usize)>, Fault> {
        let bytes = &self.bytes[..];
        match (self.stage, bytes) {
            (_, []) => Ok(None),
            (Stage::Version, _) => {
                let size = bytes.len().min(VERSION.len());
                if bytes[..size] != VERSION[..size] {
                    return Err(Fault::Version);
                }
                Ok((size == VERSION.len()).then_some((Heard::Version, size)))
            }
            (Stage::Security, [1, ..]) => Ok(Some((Heard::Security, 1))),
            (Stage::Security, [other, ..]) => Err(Fault::Security(*other)),
            (Stage::Shared, _) => Ok(Some((Heard::Init, 1))),
            (Stage::Messages, _) => {
                let found = message(bytes)?;
                Ok(found.map(|(message, size)| (Heard::Message(message), size)))
            }
        }
    }
}

/// The first message and its size; none if it is not whole.
fn message(bytes: &[u8]) -> Result<Option<(Message, usize)>, Fault> {
    let mut reader = Reader { bytes, place: 0 };
    let kind = bytes[0];
    let read = match kind {
        0 => pixel_format(&mut reader),
        2 => encodings(&mut reader),
        3 => fixed(&mut reader, 10, |it| {
            Ok(Message::Update {
                is_incremental: it[1] != 0,
            })
        }),
        4 => fixed(&mut reader, 8, |it| {
            Ok(Message::Key {
                keysym: u32::from_be_bytes([it[4], it[5], it[6], it[7]]),
                is_down: it[1] != 0,
            })
        }),
        5 => fixed(&mut reader, 6, |it| {
            Ok(Message::Pointer {
                buttons: it[1],
                x: u16::from_be_bytes([it[2], it[3]]),
                y: u16::from_be_bytes([it[4], it[5]]),
            })
        }),
        6 => clip(&mut reader),
        251 => resize(&mut reader),
        TOUCH => fixed(&mut reader, 8, touch),
        ROTATE => fixed(&mut reader, 4, |_| Ok(Message::Rotate)),
        _ => return Err(Fault::Kind(kind)),
    }?;
    Ok(read.map(|message| (message, reader.place)))
}

struct Reader<'a> {
    bytes: &'a [u8],
    place: usize,
}

impl<'a> Reader<'a> {
    /// The next bytes, if they are there.
    fn take(&mut self, size: usize) -> Option<&'a [u8]> {
        let end = self.place.checked_add(size)?;
        let taken = self.bytes.get(self.place..end)?;
        self.place = end;
        Some(taken)
    }
}

type Read = Result<Option<Message>, Fault>;

fn fixed(
    reader: &mut Reader<'_>,
    size: usize,
    make: impl FnOnce(&[u8]) -> Result<Message, Fault>,
) -> Read {
    reader.take(size).map(make).transpose()
}

fn pixel_format(reader: &mut Reader<'_>) -> Read {
    fixed(reader, 20, |it| {
        match it[4..4 + PIXEL_FORMAT.len()] == PIXEL_FORMAT {
            true => Ok(Message::PixelFormat),
            false => Err(Fault::PixelFormat),
        }
    })
}

fn encodings(reader: &mut Reader<'_>) -> Read {
    let Some(head) = reader.take(4) else {
        return Ok(None);
    };
    let count = usize::from(u16::from_be_bytes([head[2], head[3]]));
    if count > ENCODINGS_MAX {
        return Err(Fault::Bound { what: "encodings" });
    }
    let list = reader.take(count * 4);
    Ok(list.map(|list| {
        let mut numbers = list.chunks_exact(4);
        let is_desktop_size = |it: &[u8]| it == DESKTOP_SIZE.to_be_bytes();
        Message::Encodings {
            has_desktop_size: numbers.any(is_desktop_size),
        }
    }))
}

fn clip(reader: &mut Reader<'_>) -> Read {
    let Some(head) = reader.take(8) else {
        return Ok(None);
    };
    let size = u32::from_be_bytes([head[4], head[5], head[6], head[7]]) as usize;
    if size > CLIP_BYTES_MAX {
        return Err(Fault::Bound { what: "text" });
    }
    let Some(text) = reader.take(size) else {
        return Ok(None);
    };
    let text = core::str::from_utf8(text).map_err(|_| Fault::Value { what: "text" })?;
    Ok(Some(Message::Clip(text.to_owned())))
}

fn resize(reader: &mut Reader<'_>) -> Read {
    let Some(head) = reader.take(8) else {
        return Ok(None);
    };
    let width = u32::from(u16::from_be_bytes([head[2], head[3]]));
    let height = u32::from(u16::from_be_bytes([head[4], head[5]]));
    let screens = usize::from(head[6]);
    let is_side = |it: u32| (SIDE_MIN..=SIDE_MAX).contains(&it);
    let has_bounds = is_side(width) && is_side(height) && width * height <= PIXELS_MAX;
    if !has_bounds || screens > SCREENS_MAX {
        return Err(Fault::Bound { what: "a size" });
    }
    let rest = reader.take(screens * SCREEN_BYTES);
    Ok(rest.map(|_| Message::Resize { width, height }))
}

fn touch(bytes: &[u8]) -> Result<Message, Fault> {
    let touch = match bytes[1] {
        0 => Touch::Down,
        1 => Touch::Up,
        2 => Touch::Move,
        3 => Touch::Cancel,
        _ => return Err(Fault::Value { what: "a touch" }),
    };
    Ok(Message::Touch {
        touch,
        finger: bytes[2],
        x: u16::from_be_bytes([bytes[4], bytes[5]]),
        y: u16::from_be_bytes([bytes[6], bytes[7]]),
    })
}

/// One kind of security: none beside the token.
pub fn security_kinds() -> Vec<u8> {
    vec![1, 1]
}

/// It is let in.
pub fn security_result() -> Vec<u8> {
    vec![0; 4]
}

/// The display's size, its form of pixels, its name.
pub fn init((width, height): (u32, u32), name: &str) -> Vec<u8> {
    let mut bytes = side(width).to_vec();
    bytes.extend(side(height));
    bytes.extend(PIXEL_FORMAT);
    bytes.extend([0; 3]);
    bytes.extend((name.len() as u32).to_be_bytes());
    bytes.extend(name.as_bytes());
    bytes
}

/// Rectangles of a picture of three bytes a pixel.
pub fn update(width: u32, picture: &[u8], rects: &[Rect]) -> Vec<u8> {
    let pixels: usize = rects.iter().map(|it| area(*it)).sum();
    let mut bytes = Vec::with_capacity(4 + rects.len() * 12 + pixels * PIXEL_BYTES);
    bytes.extend([0, 0]);
    bytes.extend((rects.len() as u16).to_be_bytes());
    for rect in rects {
        head(&mut bytes, *rect, RAW);
        for row in rect.top..rect.bottom {
            let start = row as usize * width as usize;
            let from = (start + rect.left as usize) * 3;
            let to = (start + rect.right as usize) * 3;
            for pixel in picture[from..to].chunks_exact(3) {
                bytes.extend([pixel[0], pixel[1], pixel[2], u8::MAX]);
            }
        }
    }
    bytes
}

/// The display has another size: its client must ask for all of it.
pub fn desktop_size((width, height): (u32, u32)) -> Vec<u8> {
    let mut bytes = vec![0, 0, 0, 1];
    let rect = Rect::of_size(width as i32, height as i32);
    head(&mut bytes, rect, DESKTOP_SIZE);
    bytes
}

/// Text for the client's clipboard.
pub fn clip_text(text: &str) -> Vec<u8> {
    let mut bytes = vec![3, 0, 0, 0];
    bytes.extend((text.len() as u32).to_be_bytes());
    bytes.extend(text.as_bytes());
    bytes
}

fn head(bytes: &mut Vec<u8>, rect: Rect, encoding: i32) {
    let numbers = [rect.left, rect.top, rect.width(), rect.height()];
    for number in numbers {
        bytes.extend(side(number.cast_unsigned()));
    }
    bytes.extend(encoding.to_be_bytes());
}

fn area(rect: Rect) -> usize {
    rect.width() as usize * rect.height() as usize
}

/// A display's side has at most 16,384 pixels.
fn side(number: u32) -> [u8; 2] {
    (number as u16).to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(bytes: &[u8]) -> Result<Vec<Heard>, Fault> {
        let mut parser = Parser::default();
        let mut all = Vec::new();
        for byte in bytes {
            parser.push(&[*byte]);
            while let Some(one) = parser.next()? {
                all.push(one);
            }
        }
        assert_eq!(parser.waiting(), 0, "all of it was whole");
        Ok(all)
    }

    fn after_hello(rest: &[u8]) -> Result<Vec<Heard>, Fault> {
        let all = heard(&[&VERSION[..], &[1, 0], rest].concat())?;
        assert_eq!(all[..3], [Heard::Version, Heard::Security, Heard::Init]);
        Ok(all[3..].to_vec())
    }

    fn check(bytes: &[u8], expected: Message) {
        assert_eq!(after_hello(bytes), Ok(vec![Heard::Message(expected)]));
    }

    #[test]
    fn messages_come_byte_by_byte() {
        let is_incremental = true;
        check(
            &[3, 1, 0, 0, 0, 0, 9, 9, 9, 9],
            Message::Update { is_incremental },
        );
        let (keysym, is_down) = (0xff0d, true);
        check(
            &[4, 1, 0, 0, 0, 0, 0xff, 0x0d],
            Message::Key { keysym, is_down },
        );
        let (buttons, x, y) = (1, 258, 3);
        check(&[5, 1, 1, 2, 0, 3], Message::Pointer { buttons, x, y });
        check(
            &[6, 0, 0, 0, 0, 0, 0, 2, 0xc3, 0xa4],
            Message::Clip("ä".to_owned()),
        );
        let (width, height) = (256, 512);
        check(
            &[251, 0, 1, 0, 2, 0, 0, 0],
            Message::Resize { width, height },
        );
        let (touch, finger) = (Touch::Move, 7);
        let (x, y) = (1, 2);
        check(
            &[200, 2, 7, 0, 0, 1, 0, 2],
            Message::Touch {
                touch,
                finger,
                x,
                y,
            },
        );
        check(&[201, 0, 0, 0], Message::Rotate);
        let has_desktop_size = true;
        let named = [2, 0, 0, 1, 0xff, 0xff, 0xff, 0x21];
        check(&named, Message::Encodings { has_desktop_size });
        let format = [&[0, 0, 0, 0][..], &PIXEL_FORMAT, &[0, 0, 0]].concat();
        check(&format, Message::PixelFormat);
    }

    #[test]
    fn what_is_beyond_the_bounds_ends_it() {
        let refused = |bytes: &[u8], fault| assert_eq!(after_hello(bytes), Err(fault));
        refused(&[9], Fault::Kind(9));
        refused(&[2, 0, 0xff, 0xff], Fault::Bound { what: "encodings" });
        refused(&[6, 0, 0, 0, 0, 1, 0, 1], Fault::Bound { what: "text" });
        refused(
            &[6, 0, 0, 0, 0, 0, 0, 1, 0xff],
            Fault::Value { what: "text" },
        );
        refused(&[251, 0, 0, 1, 2, 0, 0, 0], Fault::Bound { what: "a size" });
        refused(
            &[251, 0, 16, 0, 16, 0, 0, 0],
            Fault::Bound { what: "a size" },
        );
        refused(
            &[200, 9, 0, 0, 0, 0, 0, 0],
            Fault::Value { what: "a touch" },
        );
        refused(&[0; 20], Fault::PixelFormat);
        assert_eq!(heard(b"GET /"), Err(Fault::Version));
        assert_eq!(heard(b"RFB 003.008\n\x02"), Err(Fault::Security(2)));
    }

    #[test]
    fn an_update_has_its_rectangles_only() {
        let picture: Vec<u8> = (0..18).collect();
        let bytes = update(3, &picture, &[Rect::new(1, 1, 2, 2)]);
        let expected = [
            0, 0, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 0, 0, 0, 12, 13, 14, 255,
        ];
        assert_eq!(bytes, expected);
        assert_eq!(desktop_size((8, 4))[12..], [0xff, 0xff, 0xff, 0x21]);
        assert_eq!(init((8, 4), "a")[..4], [0, 8, 0, 4]);
    }
}
