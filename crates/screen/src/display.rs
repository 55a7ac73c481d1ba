// SPDX-License-Identifier: Apache-2.0
//! [`Display`]: what an application is told of the display.

use std::str::FromStr;

use crate::geometry::Rect;

/// Of a phone's small display; Android's `mdpi`.
const DENSITY: u32 = 160;
/// As most displays.
const REFRESH_HZ: u32 = 60;
/// A side of one buffer: 16 K, and four bytes a pixel, as the largest displays have.
pub(crate) const SIDE_MAX: u32 = 16_384;

/// A display's size, density and refresh rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Display {
    /// Columns.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Dots an inch, as Android counts density-independent pixels.
    pub density: u32,
    /// Frames a second.
    pub refresh_hz: u32,
}

impl Display {
    /// 800 by 480, as the small panels of machines have.
    pub const PANEL: Self = Self {
        width: 800,
        height: 480,
        density: DENSITY,
        refresh_hz: REFRESH_HZ,
    };

    /// All of it.
    pub const fn bounds(self) -> Rect {
        Rect::of_size(self.width as i32, self.height as i32)
    }
}

impl FromStr for Display {
    type Err = String;

    /// `WIDTHxHEIGHT`, or `WIDTHxHEIGHT@DPI`.
    fn from_str(text: &str) -> Result<Self, String> {
        let wanted = || format!("{text}: WIDTHxHEIGHT or WIDTHxHEIGHT@DPI is wanted");
        let (size, density) = match text.split_once('@') {
            Some((size, density)) => (size, density.parse().map_err(|_| wanted())?),
            None => (text, DENSITY),
        };
        let (width, height) = size.split_once('x').ok_or_else(wanted)?;
        let side = |text: &str| text.parse::<u32>().map_err(|_| wanted());
        let (width, height) = (side(width)?, side(height)?);
        let is_size = |it: u32| (1..=SIDE_MAX).contains(&it);
        if !is_size(width) || !is_size(height) {
            return Err(format!("{text}: a side has 1 to {SIDE_MAX} pixels"));
        }
        if !(40..=1000).contains(&density) {
            return Err(format!("{text}: a density is 40 to 1000 dots an inch"));
        }
        Ok(Self {
            width,
            height,
            density,
            refresh_hz: REFRESH_HZ,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_display_is_a_size_and_perhaps_a_density() {
        let panel = |width, height, density| Display {
            width,
            height,
            density,
            ..Display::PANEL
        };
        assert_eq!("800x480".parse(), Ok(Display::PANEL));
        assert_eq!("1080x1920@420".parse(), Ok(panel(1080, 1920, 420)));
        for wrong in [
            "",
            "800",
            "800x",
            "0x480",
            "800x99999",
            "800x480@9",
            "-1x4",
            "8x4@x",
        ] {
            assert!(wrong.parse::<Display>().is_err(), "{wrong}");
        }
    }
}
