// SPDX-License-Identifier: Apache-2.0
//! [`Load`]: how many notes sound in each burst, and what they take; written after what the paper
//! says of SynthMark's.

/// Few and many notes by turns, then numbers in between at random.
#[derive(Debug)]
pub(crate) struct Load {
    /// Bursts of one number.
    step: u64,
    turns: u64,
    notes: Vec<u32>,
}

pub(crate) const FEW: u32 = 5;
pub(crate) const MANY: u32 = 185;
/// Shares of a period at the largest speed that few and many notes take, in millionths.
const FEW_PPM: u64 = 23_800;
const MANY_PPM: u64 = 880_000;

impl Load {
    /// Steps of so many bursts: `turns` of few and many notes, then `random` ones.
    pub(crate) fn new(step: u64, turns: u64, random: u64, seed: u64) -> Self {
        let mut numbers = fastrand::Rng::with_seed(seed);
        let turn = |it: u64| if it.is_multiple_of(2) { FEW } else { MANY };
        let mut notes: Vec<u32> = (0..turns).map(turn).collect();
        notes.extend((0..random).map(|_| numbers.u32(FEW..=MANY)));
        Self { step, turns, notes }
    }

    /// All bursts.
    pub(crate) fn bursts(&self) -> u64 {
        self.step * self.notes.len() as u64
    }

    /// Bursts before the numbers are at random.
    pub(crate) fn turns(&self) -> u64 {
        self.step * self.turns
    }

    /// The notes of a burst; few after the last.
    pub(crate) fn notes(&self, burst: u64) -> u32 {
        let step = (burst / self.step) as usize;
        self.notes.get(step).copied().unwrap_or(FEW)
    }

    /// Whether more notes sound than in the burst before.
    pub(crate) fn has_risen(&self, burst: u64) -> bool {
        burst > 0 && self.notes(burst - 1) < self.notes(burst)
    }
}

/// The part of a period that so many notes take at the largest speed, in millionths.
pub(crate) fn cost_ppm(notes: u32) -> u64 {
    let above = u64::from(notes.saturating_sub(FEW));
    FEW_PPM + (MANY_PPM - FEW_PPM) * above / u64::from(MANY - FEW)
}
