// SPDX-License-Identifier: Apache-2.0
//! [`Still`]: what AudioTrack plays in MODE_STATIC: a buffer that is filled once, from its
//! beginning or a place on, with a loop in it.
//!
//! A callback's thread of the stream takes frames from it. The lock inherits, and covers a piece of
//! a write or a callback's frames.

use jni_sys::jint;
use rt::sync::PiMutex;
use sound::Flow;

/// AOSP's shortest loop, in frames.
const LOOP_MIN: usize = 16;
const FOR_EVER: jint = -1;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Loop {
    start: usize,
    end: usize,
    /// Times to go back; -1 for ever.
    left: jint,
}

struct Content {
    bytes: Box<[u8]>,
    /// The frame that is played next.
    at: usize,
    around: Option<Loop>,
}

pub(super) struct Still {
    frame_bytes: usize,
    frames: usize,
    content: PiMutex<Content>,
}

impl Still {
    /// Silence of so many frames; none without memory for them.
    pub(super) fn new(frames: usize, frame_bytes: usize) -> Option<Self> {
        let size = frames.checked_mul(frame_bytes)?;
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(size).ok()?;
        bytes.resize(size, 0);
        Some(Self {
            frame_bytes,
            frames,
            content: PiMutex::new(Content {
                bytes: bytes.into(),
                at: 0,
                around: None,
            }),
        })
    }

    pub(super) fn bytes(&self) -> usize {
        self.frames * self.frame_bytes
    }

    pub(super) fn frames(&self) -> usize {
        self.frames
    }

    /// Replaces bytes from an offset on; they must lie in the buffer.
    pub(super) fn write(&self, offset: usize, bytes: &[u8]) {
        self.content.lock().bytes[offset..offset + bytes.len()].copy_from_slice(bytes);
    }

    /// Plays from this frame on; whether it is in the buffer, or its end.
    pub(super) fn seek(&self, frame: usize) -> bool {
        if frame <= self.frames {
            self.content.lock().at = frame;
        }
        frame <= self.frames
    }

    /// From the beginning, without a loop: what a stop leaves.
    pub(super) fn rewind(&self) {
        let mut content = self.content.lock();
        (content.at, content.around) = (0, None);
    }

    /// Goes `count` times from `end` back to `start`; 0 times is none. Whether AOSP takes such a
    /// loop. Playing goes on at its start if it is past its end.
    pub(super) fn set_loop(&self, start: jint, end: jint, count: jint) -> bool {
        let mut content = self.content.lock();
        if count == 0 {
            content.around = None;
            return true;
        }
        let (Ok(start), Ok(end)) = (usize::try_from(start), usize::try_from(end)) else {
            return false;
        };
        if count < FOR_EVER || end > self.frames || end < start + LOOP_MIN {
            return false;
        }
        if content.at >= end {
            content.at = start;
        }
        content.around = Some(Loop {
            start,
            end,
            left: count,
        });
        true
    }

    /// Fills a callback's frames. Each step but the last is a loop's, of 16 frames at least. Past
    /// the end comes silence, and the stream stops.
    pub(super) fn play(&self, mut out: &mut [u8]) -> Flow {
        let content = &mut *self.content.lock();
        while !out.is_empty() {
            // A sound set past a loop plays to the end.
            let around = content.around.filter(|it| content.at <= it.end);
            let end = around.map_or(self.frames, |it| it.end);
            let count = (end - content.at).min(out.len() / self.frame_bytes);
            let first = content.at * self.frame_bytes;
            let (now, later) = out.split_at_mut(count * self.frame_bytes);
            now.copy_from_slice(&content.bytes[first..first + now.len()]);
            content.at += count;
            out = later;
            if content.at < end {
                break;
            }
            match around {
                Some(around) => {
                    content.at = around.start;
                    let left = around.left - jint::from(around.left != FOR_EVER);
                    content.around = (left != 0).then_some(Loop { left, ..around });
                }
                None => {
                    out.fill(0);
                    return Flow::Stop;
                }
            }
        }
        Flow::Continue
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a buffer of frames 0, 1, 2, ... gives, and whether it goes on.
    fn played(still: &Still, frames: usize) -> (Vec<u8>, Flow) {
        let mut out = vec![0xff; frames];
        let flow = still.play(&mut out);
        (out, flow)
    }

    fn numbered(frames: u8) -> Still {
        let still = Still::new(frames.into(), 1).expect("memory");
        still.write(0, &(0..frames).collect::<Vec<_>>());
        still
    }

    #[test]
    fn a_loop_is_gone_through_as_often_as_asked() {
        let still = numbered(40);
        assert!(still.set_loop(4, 20, 2));
        let (out, flow) = played(&still, 20 + 2 * 16 + 20);
        let wanted: Vec<u8> = (0..20).chain(4..20).chain(4..40).collect();
        assert_eq!((out, flow), (wanted, Flow::Stop));
        let (rest, flow) = played(&still, 3);
        assert_eq!(
            (rest, flow),
            (vec![0; 3], Flow::Stop),
            "it stays at its end"
        );
        assert!(still.seek(38) && !still.seek(41));
        assert_eq!(played(&still, 4).0, [38, 39, 0, 0]);
        assert!(still.set_loop(4, 20, 1) && still.seek(30));
        assert_eq!(
            played(&still, 10).0,
            (30..40).collect::<Vec<_>>(),
            "past the loop"
        );
        still.rewind();
        assert_eq!(played(&still, 2), (vec![0, 1], Flow::Continue));
    }

    #[test]
    fn a_buffer_beyond_all_memory_is_none() {
        assert!(Still::new(usize::MAX / 8, 8).is_none() && Still::new(usize::MAX, 2).is_none());
    }

    #[test]
    fn for_ever_is_for_ever_and_odd_loops_are_refused() {
        let still = numbered(32);
        for (start, end, count) in [(0, 15, 1), (0, 33, 1), (-1, 31, 1), (0, 32, -2)] {
            assert!(!still.set_loop(start, end, count), "{start} {end} {count}");
        }
        assert!(still.set_loop(16, 32, -1));
        assert!(still.seek(32) && still.set_loop(16, 32, -1));
        let (out, flow) = played(&still, 160);
        assert_eq!(flow, Flow::Continue);
        assert!(out.chunks(16).all(|it| it.iter().copied().eq(16..32)));
        assert!(still.set_loop(0, 0, 0));
        assert_eq!(played(&still, 17).1, Flow::Stop);
    }
}
