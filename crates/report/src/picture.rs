// SPDX-License-Identifier: Apache-2.0
//! Pictures of distributions: how many values were how late, both axes logarithmic, as SVG and as
//! PNG.

use std::sync::Once;

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::{FontStyle, register_font};

use crate::{Series, TimeBase};

/// Width and height of a picture, pixels.
pub const SIZE_PIXELS: (u32, u32) = (960, 540);

/// Why a picture could not be drawn.
#[derive(Debug, thiserror::Error)]
#[error("cannot draw the picture: {0}")]
pub struct PictureError(String);

/// What a picture shows.
#[derive(Clone, Copy, Debug)]
pub struct Picture<'a> {
    /// The line above it.
    pub title: &'a str,
    /// Whose microseconds the axis counts.
    pub time_base: TimeBase,
    /// One line each; empty ones are left out.
    pub series: &'a [Series<'a>],
}

/// The colours of Okabe and Ito, which colour-blind readers tell apart.
const COLOURS: [RGBColor; 6] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
];

/// Buckets per factor of ten along the axis of time.
const BUCKETS_PER_DECADE: f64 = 20.0;

impl Picture<'_> {
    /// The picture as an SVG document.
    pub fn svg(&self) -> Result<String, PictureError> {
        let mut text = String::new();
        self.draw(&SVGBackend::with_string(&mut text, SIZE_PIXELS).into_drawing_area())?;
        Ok(text)
    }

    /// The picture as a PNG file's bytes.
    pub fn png(&self) -> Result<Vec<u8>, PictureError> {
        let (width, height) = SIZE_PIXELS;
        let mut pixels = vec![0; (width * height * 3) as usize];
        self.draw(&BitMapBackend::with_buffer(&mut pixels, SIZE_PIXELS).into_drawing_area())?;
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, width, height);
        encoder.set_color(png::ColorType::Rgb);
        let mut writer = encoder.write_header().map_err(fail)?;
        writer.write_image_data(&pixels).map_err(fail)?;
        writer.finish().map_err(fail)?;
        Ok(bytes)
    }

    fn draw<B: DrawingBackend>(&self, area: &DrawingArea<B, Shift>) -> Result<(), PictureError> {
        load_font();
        let lines: Vec<_> = self.series.iter().map(Self::outline).collect();
        let points = || lines.iter().flatten();
        let first = points()
            .map(|point| point.0)
            .fold(f64::INFINITY, f64::min)
            .min(1.0);
        let last = points().map(|point| point.0).fold(10.0, f64::max);
        let tallest = points().map(|point| point.1).fold(10.0, f64::max);
        area.fill(&WHITE).map_err(fail)?;
        let mut chart = ChartBuilder::on(area)
            .caption(self.title, ("sans-serif", 22))
            .margin(16)
            .x_label_area_size(44)
            .y_label_area_size(64)
            .build_cartesian_2d(
                ((first / 1.2)..(last * 1.2)).log_scale(),
                (0.8..(tallest * 1.5)).log_scale(),
            )
            .map_err(fail)?;
        chart
            .configure_mesh()
            .light_line_style(BLACK.mix(0.05))
            .x_desc(format!("latency, {}", self.time_base.microseconds()))
            .y_desc("values")
            .label_style(("sans-serif", 14))
            .x_label_formatter(&|value| format!("{value}"))
            .draw()
            .map_err(fail)?;
        for (index, (line, series)) in lines.iter().zip(self.series).enumerate() {
            if line.is_empty() {
                continue;
            }
            let colour = COLOURS[index % COLOURS.len()];
            let label = format!(
                "{}  (max {:.1})",
                series.name,
                series.max_ns as f64 / 1000.0
            );
            chart
                .draw_series(LineSeries::new(
                    line.iter().copied(),
                    colour.stroke_width(2),
                ))
                .map_err(fail)?
                .label(label)
                .legend(move |(x, y)| {
                    PathElement::new([(x, y), (x + 18, y)], colour.stroke_width(2))
                });
        }
        chart
            .configure_series_labels()
            .background_style(WHITE.mix(0.85))
            .border_style(BLACK.mix(0.3))
            .label_font(("sans-serif", 14))
            .draw()
            .map_err(fail)?;
        area.present().map_err(fail)
    }

    /// Steps (µs, count) over buckets of equal logarithmic width; a count of zero stands below the
    /// axis.
    fn outline(series: &Series<'_>) -> Vec<(f64, f64)> {
        const NOTHING: f64 = 0.8;
        let bucket_of = |ns: u64| ((ns.max(1) as f64).log10() * BUCKETS_PER_DECADE).floor() as i64;
        let edge_us = |bucket: i64| 10_f64.powf(bucket as f64 / BUCKETS_PER_DECADE) / 1000.0;
        let mut counts = std::collections::BTreeMap::<i64, u64>::new();
        for step in series.histogram.iter_recorded() {
            *counts
                .entry(bucket_of(step.value_iterated_to()))
                .or_default() += step.count_at_value();
        }
        let (Some((&first, _)), Some((&last, _))) =
            (counts.first_key_value(), counts.last_key_value())
        else {
            return Vec::new();
        };
        let mut line = vec![(edge_us(first), NOTHING)];
        for bucket in first..=last {
            let height = counts.get(&bucket).map_or(NOTHING, |&count| count as f64);
            line.push((edge_us(bucket), height));
            line.push((edge_us(bucket + 1), height));
        }
        line.push((edge_us(last + 1), NOTHING));
        line
    }
}

/// DejaVu Sans travels with the program: a picture looks the same on a machine without fonts, as in
/// a guest.
fn load_font() {
    static LOADED: Once = Once::new();
    LOADED.call_once(|| {
        if register_font("sans-serif", FontStyle::Normal, dejavu::sans::regular()).is_err() {
            unreachable!("DejaVu Sans is a font");
        }
    });
}

fn fail(error: impl std::fmt::Display) -> PictureError {
    PictureError(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::Histogram;

    #[test]
    fn both_forms_are_drawn_and_alike_each_time() {
        let mut histogram = Histogram::new(3).unwrap();
        (1..=1000_u64).for_each(|value| histogram.record(value * value).unwrap());
        let empty = Histogram::new(3).unwrap();
        let series = [
            Series {
                name: "squares",
                histogram: &histogram,
                max_ns: 1_000_000,
            },
            Series {
                name: "nothing",
                histogram: &empty,
                max_ns: 0,
            },
        ];
        let picture = Picture {
            title: "A title",
            time_base: TimeBase::Virtual,
            series: &series,
        };
        let svg = picture.svg().unwrap();
        for text in ["A title", "squares", "latency, virtual µs"] {
            assert!(svg.contains(text), "{text} is missing");
        }
        assert!(!svg.contains("nothing"));
        let png = picture.png().unwrap();
        assert!(png.starts_with(b"\x89PNG"));
        assert_eq!(png, picture.png().unwrap());
    }
}
