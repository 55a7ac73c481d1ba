// SPDX-License-Identifier: Apache-2.0
//! [`File`]: a WAV file, written or read as fast as time passes or as fast as it goes.
//!
//! For tests and recordings. The driving thread itself writes through a buffer of the library's,
//! so it may wait for the disk: no device for real time. The file holds what the application
//! wrote, without the silence of an underrun. An input's end is a disconnect.

use std::fs;
use std::io::{BufReader, BufWriter};
use std::path::Path;

use hound::{SampleFormat, WavReader, WavSpec, WavWriter};
use rt::clock::{Clock as _, Monotonic};

use crate::device::pacer::Pacer;
use crate::device::{Device, DeviceError, Direction, Feature, Granted, Wanted};
use crate::format::{Format, convert};
use crate::published::Timestamp;

enum Content {
    Written(WavWriter<BufWriter<fs::File>>),
    /// With the frames that are left.
    Read(WavReader<BufReader<fs::File>>, u64),
}

enum Pace {
    Time(Pacer<Monotonic>),
    /// Whether it moves, and the pointer when it last stood.
    Fast {
        moves: bool,
        base: u64,
    },
}

pub(super) struct File {
    granted: Granted,
    content: Content,
    pace: Pace,
    /// Frames that the application wrote or read.
    moved: u64,
}

impl File {
    pub(super) fn open(
        path: &Path,
        is_paced: bool,
        plan: Granted,
        wanted: &Wanted,
    ) -> Result<Self, DeviceError> {
        let (content, granted) = match plan.direction {
            Direction::Output => (create(path, &plan)?, plan),
            Direction::Input => open_to_read(path, plan, wanted)?,
        };
        let pace = match is_paced {
            true => Pace::Time(Pacer::new(Monotonic, granted.rate)),
            false => Pace::Fast {
                moves: false,
                base: 0,
            },
        };
        Ok(Self {
            granted,
            content,
            pace,
            moved: 0,
        })
    }

    /// Where the pointer may not pass without an underrun.
    fn limit(&self) -> u64 {
        match self.content {
            Content::Written(_) => self.moved,
            Content::Read(..) => self.moved + u64::from(self.granted.capacity),
        }
    }

    /// Where the pointer ends: an input's frames do.
    fn end(&self) -> u64 {
        match self.content {
            Content::Written(_) => u64::MAX,
            Content::Read(_, left) => self.moved + left,
        }
    }
}

fn unavailable(path: &Path, error: &dyn std::fmt::Display) -> DeviceError {
    DeviceError::Unavailable(format!("{}: {error}", path.display()))
}

fn create(path: &Path, plan: &Granted) -> Result<Content, DeviceError> {
    let spec = WavSpec {
        channels: plan.channels as u16,
        sample_rate: plan.rate,
        bits_per_sample: plan.format.bits(),
        sample_format: match plan.format {
            Format::F32 => SampleFormat::Float,
            Format::I16 | Format::I24 | Format::I32 => SampleFormat::Int,
        },
    };
    WavWriter::create(path, spec)
        .map(Content::Written)
        .map_err(|error| unavailable(path, &error))
}

fn open_to_read(
    path: &Path,
    plan: Granted,
    wanted: &Wanted,
) -> Result<(Content, Granted), DeviceError> {
    let reader = WavReader::open(path).map_err(|error| unavailable(path, &error))?;
    let spec = reader.spec();
    let hardware_format = match (spec.sample_format, spec.bits_per_sample) {
        (SampleFormat::Int, 16) => Format::I16,
        (SampleFormat::Int, 24) => Format::I24,
        (SampleFormat::Int, 32) => Format::I32,
        (SampleFormat::Float, 32) => Format::F32,
        _ => return Err(DeviceError::Unsupported(Feature::Format)),
    };
    let (rate, channels) = (spec.sample_rate, u32::from(spec.channels));
    if wanted.rate.unwrap_or(rate) != rate || !super::RATES.contains(&rate) {
        return Err(DeviceError::Unsupported(Feature::Rate));
    }
    if wanted.channels.unwrap_or(channels) != channels || channels == 0 {
        return Err(DeviceError::Unsupported(Feature::Channels));
    }
    let granted = Granted {
        rate,
        channels,
        format: wanted.format.unwrap_or(hardware_format),
        hardware_format,
        ..plan
    };
    let left = reader.duration().into();
    Ok((Content::Read(reader, left), granted))
}

/// Appends samples: one step each.
fn append(
    writer: &mut WavWriter<BufWriter<fs::File>>,
    format: Format,
    bytes: &[u8],
) -> hound::Result<()> {
    let mut word = [0; 4];
    for sample in bytes.chunks_exact(format.bytes()) {
        match format {
            Format::F32 => {
                word.copy_from_slice(sample);
                writer.write_sample(f32::from_le_bytes(word))?;
            }
            Format::I16 => writer.write_sample(i16::from_le_bytes([sample[0], sample[1]]))?,
            Format::I24 | Format::I32 => {
                let wide = [0, sample[0], sample[1], sample[2]];
                match format {
                    Format::I24 => writer.write_sample(i32::from_le_bytes(wide) >> 8)?,
                    _ => {
                        word.copy_from_slice(sample);
                        writer.write_sample(i32::from_le_bytes(word))?;
                    }
                }
            }
        }
    }
    Ok(())
}

/// Fills `bytes` with the file's next samples: one step each.
fn take(
    reader: &mut WavReader<BufReader<fs::File>>,
    from: Format,
    to: Format,
    bytes: &mut [u8],
) -> Result<(), DeviceError> {
    let mut word = [0; 4];
    for sample in bytes.chunks_exact_mut(to.bytes()) {
        let found = match from {
            Format::F32 => {
                let next = reader.samples::<f32>().next();
                next.and_then(Result::ok).map(f32::to_le_bytes)
            }
            Format::I16 | Format::I24 | Format::I32 => {
                let next = reader.samples::<i32>().next();
                next.and_then(Result::ok).map(i32::to_le_bytes)
            }
        };
        // Shorter than its head says.
        word = found.ok_or(DeviceError::Disconnected)?;
        convert(from, &word[..from.bytes()], to, sample);
    }
    let _ = word;
    Ok(())
}

impl Device for File {
    fn granted(&self) -> Granted {
        self.granted
    }

    fn is_paced(&self) -> bool {
        matches!(self.pace, Pace::Time(_))
    }

    fn position(&mut self) -> Result<Timestamp, DeviceError> {
        let (limit, end) = (self.limit(), self.end());
        if end == self.moved {
            return Err(DeviceError::Disconnected);
        }
        match &mut self.pace {
            Pace::Time(pacer) => {
                // Past the end of the file nothing is recorded, and nothing runs over.
                let at = pacer.position(if end < limit { u64::MAX } else { limit })?;
                Ok(Timestamp {
                    frames: at.frames.min(end),
                    ..at
                })
            }
            Pace::Fast { moves, base } => Ok(Timestamp {
                frames: if *moves { limit.min(end) } else { *base },
                time_ns: Monotonic.now_ns(),
            }),
        }
    }

    fn run(&mut self) -> Result<bool, DeviceError> {
        let is_ready = self.position()?.frames < self.limit();
        match &mut self.pace {
            Pace::Time(pacer) if is_ready => pacer.run(),
            Pace::Fast { moves, .. } => {
                *moves |= is_ready;
                return Ok(*moves);
            }
            Pace::Time(_) => {}
        }
        Ok(is_ready)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<usize, DeviceError> {
        let fill = self.moved - self.position()?.frames;
        let room = u64::from(self.granted.capacity) - fill;
        let frame_bytes = self.granted.frame_bytes();
        let frames = (bytes.len() / frame_bytes).min(room as usize);
        let Content::Written(writer) = &mut self.content else {
            return Ok(0);
        };
        append(writer, self.granted.format, &bytes[..frames * frame_bytes])
            .map_err(|_| DeviceError::Disconnected)?;
        self.moved += frames as u64;
        Ok(frames)
    }

    fn read(&mut self, bytes: &mut [u8]) -> Result<usize, DeviceError> {
        let fill = self.position()?.frames - self.moved;
        let frame_bytes = self.granted.frame_bytes();
        let frames = (bytes.len() / frame_bytes).min(fill as usize);
        let Content::Read(reader, left) = &mut self.content else {
            return Ok(0);
        };
        let (from, to) = (self.granted.hardware_format, self.granted.format);
        take(reader, from, to, &mut bytes[..frames * frame_bytes])?;
        *left -= frames as u64;
        self.moved += frames as u64;
        Ok(frames)
    }

    fn halt(&mut self) {
        let frames = self.position().map_or(self.moved, |at| at.frames);
        match &mut self.pace {
            Pace::Time(pacer) => pacer.stand_at(frames),
            Pace::Fast { moves, base } => (*moves, *base) = (false, frames),
        }
    }

    fn discard(&mut self) -> u64 {
        self.halt();
        let moved = self.moved;
        // An input's frames stay in the file: none of them is lost.
        match &mut self.pace {
            Pace::Time(pacer) => pacer.stand_at(moved),
            Pace::Fast { base, .. } => *base = moved,
        }
        moved
    }

    fn wait(&mut self, frames: u64, due_ns: u64) {
        if let Pace::Time(pacer) = &self.pace {
            pacer.wait(frames, due_ns);
        }
    }
}
