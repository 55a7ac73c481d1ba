// SPDX-License-Identifier: Apache-2.0
//! [`Format`]: how a sample lies in memory, and exact ways from one form to another.

/// A sample's form; all are little-endian and interleaved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Signed 16 bits.
    I16,
    /// A float from −1 to 1.
    F32,
    /// Signed 24 bits in three bytes.
    I24,
    /// Signed 32 bits.
    I32,
}

impl Format {
    /// Every format, the ones that keep most first.
    pub const ALL: [Self; 4] = [Self::I32, Self::F32, Self::I24, Self::I16];

    /// Bytes of a sample.
    pub const fn bytes(self) -> usize {
        match self {
            Self::I16 => 2,
            Self::I24 => 3,
            Self::F32 | Self::I32 => 4,
        }
    }

    /// Bits that a WAV file names.
    pub const fn bits(self) -> u16 {
        self.bytes() as u16 * 8
    }

    /// The sample at the start of `bytes`, as a fraction of 2³¹. A float beyond the range is
    /// clipped, one that is no number is silence.
    fn load(self, bytes: &[u8]) -> i32 {
        match self {
            Self::I16 => i32::from(i16::from_le_bytes([bytes[0], bytes[1]])) << 16,
            Self::I24 => i32::from_le_bytes([0, bytes[0], bytes[1], bytes[2]]),
            Self::I32 => i32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]),
            Self::F32 => {
                let value = f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
                // A cast saturates, and makes zero of what is no number.
                (f64::from(value) * f64::from(1_u32 << 31)).round() as i32
            }
        }
    }

    /// Writes a fraction of 2³¹ to the start of `bytes`, rounded and clipped.
    fn store(self, value: i32, bytes: &mut [u8]) {
        let rounded = |dropped: u32| {
            let half = 1_i64 << (dropped - 1);
            ((i64::from(value) + half) >> dropped).min((1 << (31 - dropped)) - 1) as i32
        };
        match self {
            Self::I16 => bytes[..2].copy_from_slice(&(rounded(16) as i16).to_le_bytes()),
            Self::I24 => bytes[..3].copy_from_slice(&rounded(8).to_le_bytes()[..3]),
            Self::I32 => bytes[..4].copy_from_slice(&value.to_le_bytes()),
            Self::F32 => {
                let value = f64::from(value) / f64::from(1_u32 << 31);
                bytes[..4].copy_from_slice(&(value as f32).to_le_bytes());
            }
        }
    }
}

/// Turns samples of one format into those of another, as many as both slices hold; returns how
/// many. One step a sample, no allocation.
pub fn convert(source: Format, input: &[u8], target: Format, output: &mut [u8]) -> usize {
    let samples = input
        .chunks_exact(source.bytes())
        .zip(output.chunks_exact_mut(target.bytes()));
    let mut count = 0;
    for (from, to) in samples {
        if source == target {
            to.copy_from_slice(from);
        } else {
            target.store(source.load(from), to);
        }
        count += 1;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wider_format_keeps_every_sample() {
        let narrow: Vec<u8> = (i16::MIN..=i16::MAX).flat_map(i16::to_le_bytes).collect();
        for wide in Format::ALL {
            let mut there = vec![0; 65_536 * wide.bytes()];
            let mut back = vec![0; narrow.len()];
            assert_eq!(convert(Format::I16, &narrow, wide, &mut there), 65_536);
            assert_eq!(convert(wide, &there, Format::I16, &mut back), 65_536);
            assert_eq!(back, narrow, "{wide:?}");
        }
    }

    #[test]
    fn floats_are_clipped_and_rounded() {
        for (value, expected) in [
            (1.0, 32_767),
            (7.5, 32_767),
            (-1.0, -32_768),
            (-2.0, -32_768),
            (f32::NAN, 0),
            (0.25, 8_192),
            (1.4 / 32_768.0, 1),
            (-1.6 / 32_768.0, -2),
        ] {
            let mut out = [0; 2];
            convert(Format::F32, &f32::to_le_bytes(value), Format::I16, &mut out);
            assert_eq!(i16::from_le_bytes(out), expected, "{value}");
        }
    }
}
