// SPDX-License-Identifier: Apache-2.0
//! [`Alsa`]: a card for one client alone, by ALSA: frames go straight to mapped memory, and a
//! period is a burst.
//!
//! The hardware pointer and its time are the kernel's, from one `SNDRV_PCM_IOCTL_STATUS`. The card
//! stops when it has played all: that is the underrun, and the kernel's word for it.

use alsa::pcm::{Access, Format as Wire, HwParams, PCM, State, TstampType};
use alsa::{Direction as Way, ValueOr};
use rt::clock::{Clock as _, Monotonic};

use crate::device::{Device, DeviceError, Direction, Feature, Granted, Wanted};
use crate::format::{Format, convert};
use crate::published::Timestamp;

const BUSY: i32 = 16;
const BROKEN_PIPE: i32 = 32;
const SUSPENDED: i32 = 86;

/// A ring is two pieces at most: at its end it begins anew.
const PIECES_MAX: usize = 2;

pub(super) struct Alsa {
    pcm: PCM,
    granted: Granted,
    can_pause: bool,
    /// Frames that the application wrote or read.
    moved: u64,
    /// The pointer where it last stood.
    base: u64,
    /// What `wait` has told the kernel.
    avail_min: u64,
}

fn wire(format: Format) -> Wire {
    match format {
        Format::I16 => Wire::S16LE,
        Format::I24 => Wire::S243LE,
        Format::I32 => Wire::S32LE,
        Format::F32 => Wire::FloatLE,
    }
}

impl Alsa {
    pub(super) fn open(name: &str, plan: &Granted, wanted: &Wanted) -> Result<Self, DeviceError> {
        let way = match plan.direction {
            Direction::Output => Way::Playback,
            Direction::Input => Way::Capture,
        };
        let pcm = PCM::new(name, way, true).map_err(|error| match error.errno() {
            BUSY => DeviceError::Unavailable(format!("{name}: somebody else has it")),
            _ => DeviceError::Unavailable(format!("{name}: {error}")),
        })?;
        let (granted, can_pause) = settle(&pcm, plan, wanted)
            .map_err(|error| DeviceError::Unavailable(format!("{name}: {error}")))??;
        set_thresholds(&pcm, &granted)
            .map_err(|error| DeviceError::Unavailable(format!("{name}: {error}")))?;
        Ok(Self {
            pcm,
            granted,
            can_pause,
            moved: 0,
            base: 0,
            avail_min: granted.burst.into(),
        })
    }

    /// What an error of the kernel's means. The card stands after an underrun, ready to run.
    fn judge(&mut self, error: alsa::Error) -> DeviceError {
        match error.errno() {
            BROKEN_PIPE | SUSPENDED => self.ran_dry(),
            // What is only refused because the card has just stood still.
            _ if self.pcm.state_raw() == State::XRun as i32 => self.ran_dry(),
            _ => DeviceError::Disconnected,
        }
    }

    /// The pointer stands where the application is: what a card recorded past its ring is lost, and
    /// no frame of it is counted.
    fn ran_dry(&mut self) -> DeviceError {
        self.base = self.moved;
        match self.pcm.prepare() {
            Ok(()) => DeviceError::Xrun,
            Err(_) => DeviceError::Disconnected,
        }
    }

    fn is_running(&self) -> bool {
        self.pcm.state_raw() == State::Running as i32
    }
}

/// Chooses what the card and the stream agree on.
fn settle(
    pcm: &PCM,
    plan: &Granted,
    wanted: &Wanted,
) -> alsa::Result<Result<(Granted, bool), DeviceError>> {
    let hw = HwParams::any(pcm)?;
    if hw.set_access(Access::MMapInterleaved).is_err() {
        return Ok(Err(DeviceError::Unsupported(Feature::Mapping)));
    }
    let first = [wanted.format.unwrap_or(plan.format)];
    let mut formats = first.into_iter().chain(Format::ALL);
    let Some(hardware_format) = formats.find(|it| hw.test_format(wire(*it)).is_ok()) else {
        return Ok(Err(DeviceError::Unsupported(Feature::Format)));
    };
    hw.set_format(wire(hardware_format))?;
    let channels = match wanted.channels {
        Some(count) if hw.set_channels(count).is_err() => {
            return Ok(Err(DeviceError::Unsupported(Feature::Channels)));
        }
        Some(count) => count,
        None => hw.set_channels_near(plan.channels)?,
    };
    let rate = match wanted.rate {
        Some(rate) if hw.set_rate(rate, ValueOr::Nearest).is_err() => {
            return Ok(Err(DeviceError::Unsupported(Feature::Rate)));
        }
        Some(rate) => rate,
        None => hw.set_rate_near(plan.rate, ValueOr::Nearest)?,
    };
    let burst = hw.set_period_size_near(plan.burst.into(), ValueOr::Nearest)?;
    let capacity = hw.set_buffer_size_near(plan.capacity.into())?;
    pcm.hw_params(&hw)?;
    let granted = Granted {
        direction: plan.direction,
        rate,
        channels,
        format: wanted.format.unwrap_or(hardware_format),
        hardware_format,
        burst: burst as u32,
        capacity: capacity as u32,
        is_mapped: true,
    };
    Ok(Ok((granted, hw.can_pause())))
}

fn set_thresholds(pcm: &PCM, granted: &Granted) -> alsa::Result<()> {
    let sw = pcm.sw_params_current()?;
    // It runs when it is told to, and stands when it is empty.
    let boundary = sw.get_boundary()?;
    sw.set_start_threshold(boundary)?;
    sw.set_stop_threshold(granted.capacity.into())?;
    sw.set_avail_min(granted.burst.into())?;
    sw.set_tstamp_mode(true)?;
    sw.set_tstamp_type(TstampType::Monotonic)?;
    pcm.sw_params(&sw)
}

impl Device for Alsa {
    fn granted(&self) -> Granted {
        self.granted
    }

    fn position(&mut self) -> Result<Timestamp, DeviceError> {
        let status = match self.pcm.status() {
            Ok(status) => status,
            Err(error) => return Err(self.judge(error)),
        };
        match status.get_state() {
            State::Running => {}
            State::XRun | State::Suspended => return Err(self.ran_dry()),
            State::Disconnected => return Err(DeviceError::Disconnected),
            _ => {
                return Ok(Timestamp {
                    frames: self.base,
                    time_ns: Monotonic.now_ns(),
                });
            }
        }
        let avail = status.get_avail().max(0) as u64;
        let frames = match self.granted.direction {
            Direction::Output => {
                let fill = u64::from(self.granted.capacity).saturating_sub(avail);
                self.moved.saturating_sub(fill)
            }
            Direction::Input => self.moved + avail,
        };
        // Plug-ins and drivers differ in when they wrap; the pointer never goes back.
        self.base = self.base.max(frames);
        let stamp = status.get_htstamp();
        let time_ns = stamp.tv_sec as u64 * 1_000_000_000 + stamp.tv_nsec as u64;
        Ok(Timestamp {
            frames: self.base,
            time_ns: if time_ns == 0 {
                Monotonic.now_ns()
            } else {
                time_ns
            },
        })
    }

    fn run(&mut self) -> Result<bool, DeviceError> {
        if self.is_running() {
            return Ok(true);
        }
        if self.granted.direction == Direction::Output && self.base == self.moved {
            return Ok(false);
        }
        let moved = match self.pcm.state_raw() == State::Paused as i32 {
            true => self.pcm.pause(false),
            false => self.pcm.start(),
        };
        match moved {
            Ok(()) => Ok(true),
            Err(error) => Err(self.judge(error)),
        }
    }

    fn write(&mut self, bytes: &[u8]) -> Result<usize, DeviceError> {
        let avail = match self.pcm.avail_update() {
            Ok(avail) => avail.max(0) as usize,
            Err(error) => return Err(self.judge(error)),
        };
        let (from, to) = (self.granted.format, self.granted.hardware_format);
        let (frame_bytes, channels) = (self.granted.frame_bytes(), self.granted.channels as usize);
        let frames = (bytes.len() / frame_bytes).min(avail);
        let mut done = 0;
        for _ in 0..PIECES_MAX {
            let input = &bytes[done * frame_bytes..frames * frame_bytes];
            if input.is_empty() {
                break;
            }
            let io = self.pcm.io_bytes();
            let written = io.mmap(frames - done, |area| {
                convert(from, input, to, area) / channels
            });
            drop(io);
            match written {
                Ok(count) => done += count,
                Err(error) => return Err(self.judge(error)),
            }
        }
        self.moved += done as u64;
        Ok(done)
    }

    fn read(&mut self, bytes: &mut [u8]) -> Result<usize, DeviceError> {
        let avail = match self.pcm.avail_update() {
            Ok(avail) => avail.max(0) as usize,
            Err(error) => return Err(self.judge(error)),
        };
        let (from, to) = (self.granted.hardware_format, self.granted.format);
        let (frame_bytes, channels) = (self.granted.frame_bytes(), self.granted.channels as usize);
        let frames = (bytes.len() / frame_bytes).min(avail);
        let mut done = 0;
        for _ in 0..PIECES_MAX {
            let output = &mut bytes[done * frame_bytes..frames * frame_bytes];
            if output.is_empty() {
                break;
            }
            let io = self.pcm.io_bytes();
            let taken = io.mmap(frames - done, |area| {
                convert(from, area, to, output) / channels
            });
            drop(io);
            match taken {
                Ok(count) => done += count,
                Err(error) => return Err(self.judge(error)),
            }
        }
        self.moved += done as u64;
        Ok(done)
    }

    fn halt(&mut self) {
        if self.is_running() && self.can_pause && self.pcm.pause(true).is_ok() {
            return;
        }
        self.discard();
    }

    fn discard(&mut self) -> u64 {
        // Both fail on a card that is gone, which the next call says.
        let _ = self.pcm.drop();
        let _ = self.pcm.prepare();
        // An output's pointer moves past what is dropped, an input's application does.
        self.moved = self.moved.max(self.base);
        self.base = self.moved;
        self.moved
    }

    fn wait(&mut self, frames: u64, due_ns: u64) {
        let fill = match self.granted.direction {
            Direction::Output => self.moved.saturating_sub(frames),
            Direction::Input => frames.saturating_sub(self.moved),
        };
        let wanted = match self.granted.direction {
            Direction::Output => u64::from(self.granted.capacity).saturating_sub(fill),
            Direction::Input => fill,
        }
        .max(1);
        // Once after each change of the buffer's size: the library takes memory for it.
        if wanted != self.avail_min
            && let Ok(sw) = self.pcm.sw_params_current()
            && sw.set_avail_min(wanted as _).is_ok()
            && self.pcm.sw_params(&sw).is_ok()
        {
            self.avail_min = wanted;
        }
        let left_ns = due_ns.saturating_sub(Monotonic.now_ns());
        // An error shows again in `position`.
        let _ = self.pcm.wait(Some(left_ns.div_ceil(1_000_000) as u32));
    }
}
