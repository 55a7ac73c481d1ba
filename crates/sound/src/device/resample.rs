// SPDX-License-Identifier: Apache-2.0
//! [`Resampling`]: from a stream's rate to its device's, by rubato's windowed sinc.
//!
//! The filter has 64 taps, so a frame comes out 32 frames of the stream's own rate later (0.73 ms
//! at 44.1 kHz), and up to a burst later for what waits until a burst is full. All memory is taken
//! at the start.

use rubato::audioadapter_buffers::direct::InterleavedSlice;
use rubato::{
    Async, FixedAsync, Resampler as _, SincInterpolationParameters, SincInterpolationType,
    WindowFunction,
};

use crate::device::{DeviceError, Feature};

const TAPS: usize = 64;

pub(super) struct Resampling {
    inner: Async<f32>,
    channels: usize,
    /// A burst, as far as it is full.
    input: Vec<f32>,
    filled: usize,
    output: Vec<f32>,
}

impl Resampling {
    /// For bursts of so many frames.
    pub(super) fn new(
        from: u32,
        to: u32,
        burst: usize,
        channels: usize,
    ) -> Result<Self, DeviceError> {
        let parameters = SincInterpolationParameters {
            sinc_len: TAPS,
            f_cutoff: None,
            interpolation: SincInterpolationType::Cubic,
            oversampling_factor: 128,
            window: WindowFunction::BlackmanHarris2,
        };
        let ratio = f64::from(to) / f64::from(from);
        let inner = Async::new_sinc(ratio, 1.0, &parameters, burst, channels, FixedAsync::Input)
            .map_err(|_| DeviceError::Unsupported(Feature::Rate))?;
        Ok(Self {
            channels,
            input: vec![0.0; burst * channels],
            filled: 0,
            output: vec![0.0; inner.output_frames_max() * channels],
            inner,
        })
    }

    /// Takes samples; gives what comes out of each full burst.
    pub(super) fn feed(&mut self, samples: &[f32], mut made: impl FnMut(&[f32])) {
        let mut rest = samples;
        while !rest.is_empty() {
            let count = rest.len().min(self.input.len() - self.filled);
            let (now, later) = rest.split_at(count);
            self.input[self.filled..self.filled + count].copy_from_slice(now);
            self.filled += count;
            rest = later;
            if self.filled == self.input.len() {
                self.filled = 0;
                let frames = self.burst();
                made(&self.output[..frames * self.channels]);
            }
        }
    }

    /// Resamples the full input; returns how many frames came out.
    fn burst(&mut self) -> usize {
        let channels = self.channels;
        let room = self.output.len() / channels;
        let input = InterleavedSlice::new(&self.input, channels, self.input.len() / channels);
        let output = InterleavedSlice::new_mut(&mut self.output, channels, room);
        let (Ok(input), Ok(mut output)) = (input, output) else {
            unreachable!("both hold whole frames");
        };
        let made = self.inner.process_into_buffer(&input, &mut output, None);
        made.map_or(0, |it| it.1)
    }

    /// Forgets what it was fed.
    pub(super) fn reset(&mut self) {
        self.filled = 0;
        self.inner.reset();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sine_keeps_its_pitch_and_comes_32_frames_later() {
        const RATES: (u32, u32) = (44_100, 48_000);
        let mut resampling = Resampling::new(RATES.0, RATES.1, 64, 1).unwrap();
        let tone =
            |frame: f64, rate: u32| (frame / f64::from(rate) * 440.0 * std::f64::consts::TAU).sin();
        let mut out = Vec::new();
        for burst in 0..400 {
            let input: Vec<f32> = (0..64)
                .map(|it| tone(f64::from(burst * 64 + it), RATES.0) as f32)
                .collect();
            resampling.feed(&input, |made| out.extend_from_slice(made));
        }
        let expected = 400 * 64 * RATES.1 / RATES.0;
        assert!(out.len().abs_diff(expected as usize) < 64, "{}", out.len());
        let farthest = |delay: f64| {
            let off =
                out.iter().enumerate().skip(200).map(|(at, value)| {
                    (f64::from(*value) - tone(at as f64 - delay, RATES.1)).abs()
                });
            off.fold(0.0, f64::max)
        };
        // 32 of the input's frames, and what the phase begins with.
        let stated = 32.0 * f64::from(RATES.1) / f64::from(RATES.0);
        let least = (-20..=20).map(|it| farthest(stated + f64::from(it) / 10.0));
        let least = least.fold(f64::MAX, f64::min);
        assert!(least < 0.01, "{least}");
    }
}
