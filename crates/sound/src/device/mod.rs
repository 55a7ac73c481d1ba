// SPDX-License-Identifier: Apache-2.0
//! [`Device`]: what plays or records; [`Backend`] opens one.
//!
//! A device counts frames since it was opened. For output `written` runs ahead of the hardware
//! pointer, for input the pointer runs ahead of what was read. Nothing here waits but
//! [`Device::wait`]. `stream` drives it and holds the states.

mod alsa;
mod file;
#[cfg(feature = "pipewire")]
mod inlet;
mod mixer;
mod null;
mod pacer;
#[cfg(feature = "pipewire")]
mod pipewire;
mod queue;
mod resample;

use std::path::PathBuf;

use crate::format::Format;
use crate::published::Timestamp;

/// The variable that names the device.
pub const VARIABLE: &str = "TAKT_SOUND";
/// The one that goes before it for what records.
pub const INPUT_VARIABLE: &str = "TAKT_SOUND_INPUT";
const DEFAULT: &str = "alsa:hw:0,0";

/// Which way the frames go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// To a loudspeaker.
    Output,
    /// From a microphone.
    Input,
}

/// What the application asks for; what it leaves open the device chooses.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// Which way.
    pub direction: Direction,
    /// Frames a second.
    pub rate: Option<u32>,
    /// Samples of a frame.
    pub channels: Option<u32>,
    /// A sample's form.
    pub format: Option<Format>,
    /// Frames that the buffer holds at least.
    pub capacity: Option<u32>,
}

/// What a device gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Granted {
    /// Which way.
    pub direction: Direction,
    /// Frames a second: those of the hardware, but in a mixer, which resamples.
    pub rate: u32,
    /// Samples of a frame, exactly those of the hardware.
    pub channels: u32,
    /// A sample's form as the stream takes it.
    pub format: Format,
    /// A sample's form as the hardware takes it.
    pub hardware_format: Format,
    /// Frames between two wake-ups.
    pub burst: u32,
    /// Frames that the buffer holds; a multiple of the burst.
    pub capacity: u32,
    /// Whether the application's frames go to memory that the hardware reads.
    pub is_mapped: bool,
}

impl Granted {
    /// Bytes of a frame as the stream takes it.
    pub const fn frame_bytes(&self) -> usize {
        self.channels as usize * self.format.bytes()
    }

    /// How long so many frames last.
    pub const fn duration_ns(&self, frames: u64) -> u64 {
        frames.saturating_mul(1_000_000_000) / self.rate as u64
    }
}

/// Why a device does not go on, or does not open.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeviceError {
    /// The hardware pointer reached the end of what was written, or of the room for input. The
    /// device stands there; [`Device::run`] moves it again.
    #[error("the hardware ran dry")]
    Xrun,
    /// It is gone, or its file has ended.
    #[error("the device is gone")]
    Disconnected,
    /// There is none of this name, or somebody else has it.
    #[error("no device: {0}")]
    Unavailable(String),
    /// It does not do what was asked for.
    #[error("the device does not offer {0}")]
    Unsupported(Feature),
}

/// What a device may lack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Feature {
    /// The frames a second.
    #[error("this rate")]
    Rate,
    /// The samples of a frame.
    #[error("so many channels")]
    Channels,
    /// The samples' form.
    #[error("samples of such a format")]
    Format,
    /// Frames of a call back: at most half a buffer.
    #[error("so many frames a callback")]
    CallbackFrames,
    /// A ring that is mapped.
    #[error("mapped memory")]
    Mapping,
}

/// What plays or records. One thread at a time drives it.
pub trait Device: Send {
    /// What it gives; does not change.
    fn granted(&self) -> Granted;

    /// Whether time carries its pointer. Without that a callback's thread stays ordinary: it would
    /// never sleep.
    fn is_paced(&self) -> bool {
        true
    }

    /// The hardware pointer as it is now, and when it was there. Frames of an output are counted as
    /// played, of an input as recorded.
    ///
    /// # Errors
    ///
    /// It ran dry, which is said once, or it is gone.
    fn position(&mut self) -> Result<Timestamp, DeviceError>;

    /// Moves it, if it stands and there is something to play; whether it moves now.
    ///
    /// # Errors
    ///
    /// It is gone.
    fn run(&mut self) -> Result<bool, DeviceError>;

    /// Takes whole frames to play, as many as fit; returns how many. Never waits.
    ///
    /// # Errors
    ///
    /// It ran dry or is gone.
    fn write(&mut self, bytes: &[u8]) -> Result<usize, DeviceError>;

    /// Gives whole frames that it recorded; returns how many. Never waits.
    ///
    /// # Errors
    ///
    /// It ran dry or is gone.
    fn read(&mut self, bytes: &mut [u8]) -> Result<usize, DeviceError>;

    /// Stands still. What was written stays where the hardware can; else it is dropped.
    fn halt(&mut self);

    /// Stands still and drops what was written or recorded. Returns the frame where pointer and
    /// application then both are.
    fn discard(&mut self) -> u64;

    /// Waits until the pointer reaches `frames`, at most until `due_ns`. May return early.
    fn wait(&mut self, frames: u64, due_ns: u64);
}

/// Frames of a burst unless said otherwise: 1.33 ms at 48 kHz.
pub const BURST_DEFAULT: u32 = 64;
/// Bursts that a buffer holds unless more are asked for: room to raise its size from two.
const BURSTS_DEFAULT: u32 = 8;
/// A second and more at the highest rate: what a buffer holds at most.
const CAPACITY_MAX: u32 = 1 << 18;
/// What a device of ours takes.
const RATES: std::ops::RangeInclusive<u32> = 8_000..=192_000;
const CHANNELS_MAX: u32 = 16;

/// Which device: `null`, `file:PATH`, `file-fast:PATH`, `alsa:NAME`, `pipewire`, `pipewire:NODE`,
/// `mix:` and one of them; `,burst=FRAMES` may follow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backend {
    kind: Kind,
    burst: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    Null,
    File {
        path: PathBuf,
        is_paced: bool,
    },
    Alsa {
        name: String,
    },
    /// A sink or source of PipeWire's, or its default one.
    PipeWire {
        node: Option<String>,
    },
    /// Shared by the streams of this process.
    Mixed(Box<Backend>),
}

impl Backend {
    /// The one that this process's environment names for a direction: [`INPUT_VARIABLE`] for what
    /// records, else [`VARIABLE`]; without either the first card, for one stream alone.
    ///
    /// # Errors
    ///
    /// What it names is none.
    pub fn of_environment(direction: Direction) -> Result<Self, DeviceError> {
        let named = |name: &str| std::env::var(name).ok();
        let own = match direction {
            Direction::Output => None,
            Direction::Input => named(INPUT_VARIABLE),
        };
        let name = own.or_else(|| named(VARIABLE));
        Self::parse(name.as_deref().unwrap_or(DEFAULT))
    }

    /// Reads its name.
    ///
    /// # Errors
    ///
    /// It is none.
    pub fn parse(text: &str) -> Result<Self, DeviceError> {
        let unknown = || DeviceError::Unavailable(format!("'{text}' names none"));
        if let Some(mixed) = text.strip_prefix("mix:") {
            let mixed = Self::parse(mixed)?;
            return match mixed.kind {
                Kind::Mixed(_) => Err(unknown()),
                _ => Ok(Self {
                    burst: mixed.burst,
                    kind: Kind::Mixed(Box::new(mixed)),
                }),
            };
        }
        let (name, burst) = match text.rsplit_once(",burst=") {
            Some((name, burst)) => (name, burst.parse().map_err(|_| unknown())?),
            None => (text, BURST_DEFAULT),
        };
        if !(16..=8_192).contains(&burst) {
            return Err(unknown());
        }
        let file = |path: &str, is_paced| Kind::File {
            path: path.into(),
            is_paced,
        };
        let kind = match name.split_once(':') {
            None if name == "null" => Kind::Null,
            None if name == "pipewire" => Kind::PipeWire { node: None },
            Some(("pipewire", node)) if is_word(node) => Kind::PipeWire {
                node: Some(node.into()),
            },
            Some(("file", path)) if !path.is_empty() => file(path, true),
            Some(("file-fast", path)) if !path.is_empty() => file(path, false),
            Some(("alsa", name)) if !name.is_empty() => Kind::Alsa { name: name.into() },
            _ => return Err(unknown()),
        };
        Ok(Self { kind, burst })
    }

    /// What [`Self::open`] would grant. A card is opened and given back for it; no file is made.
    ///
    /// # Errors
    ///
    /// As of [`Self::open`].
    pub fn probe(&self, wanted: &Wanted) -> Result<Granted, DeviceError> {
        let of = match &self.kind {
            Kind::Mixed(of) => of,
            _ => self,
        };
        match (&of.kind, wanted.direction) {
            (Kind::File { .. }, Direction::Output) => {
                let null = Self {
                    kind: Kind::Null,
                    burst: self.burst,
                };
                null.probe(wanted)
            }
            _ => Ok(self.open(wanted)?.granted()),
        }
    }

    /// Opens it.
    ///
    /// # Errors
    ///
    /// It is not there, or does not do what is wanted.
    pub fn open(&self, wanted: &Wanted) -> Result<Box<dyn Device>, DeviceError> {
        if wanted.rate.is_some_and(|it| !RATES.contains(&it)) {
            return Err(DeviceError::Unsupported(Feature::Rate));
        }
        let channels = 1..=CHANNELS_MAX;
        if wanted.channels.is_some_and(|it| !channels.contains(&it)) {
            return Err(DeviceError::Unsupported(Feature::Channels));
        }
        Ok(match &self.kind {
            Kind::Null => Box::new(null::Null::open(self.plan(wanted))),
            Kind::File { path, is_paced } => Box::new(file::File::open(
                path,
                *is_paced,
                self.plan(wanted),
                wanted,
            )?),
            Kind::Mixed(of) => Box::new(mixer::open(of, &self.plan(wanted), wanted)?),
            #[cfg(feature = "pipewire")]
            Kind::PipeWire { node } => {
                let plan = self.plan(wanted);
                pipewire::open(node.as_deref(), &plan, wanted)?
            }
            #[cfg(not(feature = "pipewire"))]
            Kind::PipeWire { .. } => {
                let why = "pipewire: not supported in this program; libaaudio has it";
                return Err(DeviceError::Unavailable(why.to_owned()));
            }
            Kind::Alsa { name } => Box::new(alsa::Alsa::open(name, &self.plan(wanted), wanted)?),
        })
    }

    /// What a device without a will of its own gives.
    fn plan(&self, wanted: &Wanted) -> Granted {
        let format = wanted.format.unwrap_or(Format::F32);
        let capacity = wanted.capacity.unwrap_or(0).min(CAPACITY_MAX);
        let bursts = capacity.div_ceil(self.burst).max(BURSTS_DEFAULT);
        Granted {
            direction: wanted.direction,
            rate: wanted.rate.unwrap_or(48_000),
            channels: wanted.channels.unwrap_or(2),
            format,
            hardware_format: format,
            burst: self.burst,
            capacity: bursts * self.burst,
            is_mapped: false,
        }
    }
}

/// A name without an end in its middle, as C's texts have it.
fn is_word(text: &str) -> bool {
    !text.is_empty() && !text.contains('\0')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_devices() {
        for good in [
            "null",
            "null,burst=128",
            "file:a,b.wav",
            "file-fast:/x.wav,burst=32",
            "alsa:hw:0,0",
            "pipewire",
            "pipewire:some-sink,burst=256",
            "alsa:hw:0,0,burst=64",
            "mix:alsa:hw:0,0,burst=64",
        ] {
            Backend::parse(good).unwrap_or_else(|error| panic!("{good}: {error}"));
        }
        for bad in [
            "",
            "nul",
            "file:",
            "mix:",
            "mix:mix:null",
            "alsa",
            "pipewire:",
            "null,burst=4",
            "null,burst=x",
        ] {
            assert!(Backend::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_is_asked_for_is_given_or_refused() {
        let mut wanted = Wanted {
            direction: Direction::Output,
            rate: Some(44_100),
            channels: Some(1),
            format: Some(Format::I24),
            capacity: Some(1_000),
        };
        let null = Backend::parse("null").unwrap();
        let granted = null.open(&wanted).unwrap().granted();
        assert_eq!((granted.rate, granted.channels), (44_100, 1));
        assert_eq!((granted.burst, granted.capacity), (64, 1_024));
        assert_eq!(granted.frame_bytes(), 3);
        assert_eq!(null.probe(&wanted), Ok(granted));
        let file = Backend::parse("mix:file:/nowhere/to/be/found.wav").unwrap();
        assert_eq!(
            file.probe(&wanted).map(|it| it.burst),
            Ok(64),
            "it is not made"
        );
        wanted.rate = Some(1);
        assert!(matches!(
            null.open(&wanted),
            Err(DeviceError::Unsupported(_))
        ));
    }
}
