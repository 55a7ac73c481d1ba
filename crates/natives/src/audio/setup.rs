// SPDX-License-Identifier: Apache-2.0
//! [`Asked`]: what a track or a record asks for at its setup, and what Java hears of the grant.

use jni_sys::{jint, jintArray};
use sound::{Direction, Format, Granted, Wanted};

use super::{format_of, next_session, remember, say};
use crate::env::Env;

/// AudioTrack's and AudioRecord's results of a setup.
const CHANNELS: jint = -17;
const FORMAT: jint = -18;
pub(super) const FAILED: jint = -20;

/// See the module.
pub(super) struct Asked {
    direction: Direction,
    rate: u32,
    pub(super) channels: u32,
    pub(super) format: Format,
    /// Of the buffer.
    pub(super) frames: u32,
}

impl Asked {
    /// Of Java's numbers: a channel mask by position, or else by index.
    pub(super) fn of(
        env: Env,
        direction: Direction,
        rates: jintArray,
        masks: [jint; 2],
        encoding: jint,
        buffer_bytes: jint,
    ) -> Result<Self, jint> {
        let Some(format) = format_of(encoding) else {
            let does = match direction {
                Direction::Output => "plays",
                Direction::Input => "is recorded",
            };
            say(
                direction,
                &format!("only PCM of 16, 24, 32 bits and floats {does}"),
            );
            return Err(FORMAT);
        };
        let mask = masks.into_iter().find(|it| *it != 0);
        let channels = mask.ok_or(CHANNELS)?.count_ones();
        Ok(Self {
            direction,
            rate: env.ints(rates).first().map_or(0, |it| it.unsigned_abs()),
            channels,
            format,
            frames: u32::try_from(buffer_bytes).unwrap_or(0) / (channels * format.bytes() as u32),
        })
    }

    pub(super) fn wanted(&self, capacity: Option<u32>) -> Wanted {
        Wanted {
            direction: self.direction,
            rate: (self.rate > 0).then_some(self.rate),
            channels: Some(self.channels),
            format: Some(self.format),
            capacity,
        }
    }
}

/// What Java asks for by its arrays.
pub(super) fn settle(env: Env, granted: Granted, rates: jintArray, sessions: jintArray) {
    remember(granted);
    env.write_ints(rates, &[granted.rate.cast_signed()]);
    if env.ints(sessions).first() == Some(&0) {
        env.write_ints(sessions, &[next_session()]);
    }
}
