// SPDX-License-Identifier: Apache-2.0
//! [`Gain`]: a track's volume, multiplied into its samples. Full volume leaves each bit as it is.

use std::sync::atomic::{AtomicU32, Ordering};

use sound::Format;

/// Left and right, as bits of floats from 0 to 1.
pub(super) struct Gain([AtomicU32; 2]);

impl Gain {
    pub(super) const fn full() -> Self {
        let one = 1.0_f32.to_bits();
        Self([AtomicU32::new(one), AtomicU32::new(one)])
    }

    /// From the next samples on. A number that is none is silence.
    pub(super) fn set(&self, left: f32, right: f32) {
        for (place, value) in self.0.iter().zip([left, right]) {
            let value = if value.is_nan() { 0.0 } else { value };
            place.store(value.clamp(0.0, 1.0).to_bits(), Ordering::Relaxed);
        }
    }

    /// Multiplies whole frames: the first two channels have their own side, others and a single one
    /// the mean. One step a sample.
    pub(super) fn apply(&self, format: Format, channels: usize, frames: &mut [u8]) {
        let [left, right] = [0, 1].map(|it| f32::from_bits(self.0[it].load(Ordering::Relaxed)));
        if left == 1.0 && right == 1.0 {
            return;
        }
        let mean = f64::from(left).midpoint(f64::from(right));
        let samples = frames.chunks_exact_mut(format.bytes());
        for (index, sample) in samples.enumerate() {
            let gain = match index % channels {
                0 if channels > 1 => left.into(),
                1 => right.into(),
                _ => mean,
            };
            scale(format, gain, sample);
        }
    }
}

fn scale(format: Format, gain: f64, sample: &mut [u8]) {
    match *sample {
        [a, b] => {
            let scaled = f64::from(i16::from_le_bytes([a, b])) * gain;
            sample.copy_from_slice(&(scaled.round() as i16).to_le_bytes());
        }
        [a, b, c] => {
            let wide = i32::from_le_bytes([0, a, b, c]) >> 8;
            let scaled = (f64::from(wide) * gain).round() as i32;
            sample.copy_from_slice(&scaled.to_le_bytes()[..3]);
        }
        [a, b, c, d] if format == Format::F32 => {
            let scaled = f64::from(f32::from_le_bytes([a, b, c, d])) * gain;
            sample.copy_from_slice(&(scaled as f32).to_le_bytes());
        }
        [a, b, c, d] => {
            let scaled = f64::from(i32::from_le_bytes([a, b, c, d])) * gain;
            sample.copy_from_slice(&(scaled.round() as i32).to_le_bytes());
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(format: Format, channels: usize, gain: &Gain, from: &[u8], to: &[u8]) {
        let mut frames = from.to_vec();
        gain.apply(format, channels, &mut frames);
        assert_eq!(frames, to, "{format:?}");
    }

    #[test]
    fn half_is_half_in_every_form() {
        let gain = Gain::full();
        let of = |it: i16| it.to_le_bytes();
        check(Format::I16, 1, &gain, &of(-32_768), &of(-32_768));
        gain.set(0.5, 0.5);
        check(Format::I16, 1, &gain, &of(-32_768), &of(-16_384));
        check(Format::I24, 1, &gain, &[0, 0, 0x80], &[0, 0, 0xc0]);
        check(
            Format::I32,
            1,
            &gain,
            &8_i32.to_le_bytes(),
            &4_i32.to_le_bytes(),
        );
        check(
            Format::F32,
            1,
            &gain,
            &0.5_f32.to_le_bytes(),
            &0.25_f32.to_le_bytes(),
        );
        gain.set(f32::NAN, 7.0);
        check(Format::I16, 2, &gain, &[4, 0, 4, 0], &[0, 0, 4, 0]);
        check(Format::I16, 1, &gain, &of(4), &of(2));
    }
}
