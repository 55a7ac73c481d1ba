// SPDX-License-Identifier: Apache-2.0
//! Files that other tools read: per-sample CSV, histogram CSV, HdrHistogram's `.hgrm`.

use std::fmt::Write;

use hdrhistogram::Histogram;

use crate::{Series, TimeBase};

/// `index,NAME_ns` lines of the samples of each series, side by side; shorter ones leave cells
/// empty.
pub fn samples_csv(series: &[(&str, &[u64])]) -> String {
    let mut text = String::from("index");
    for (name, _) in series {
        // The name is ours or a thread's number; a comma in it would shift the columns.
        write!(text, ",{}_ns", name.replace([',', '\n', '"'], "_")).expect("a string grows");
    }
    text.push('\n');
    let line_count = series
        .iter()
        .map(|(_, samples)| samples.len())
        .max()
        .unwrap_or(0);
    for index in 0..line_count {
        write!(text, "{index}").expect("a string grows");
        for (_, samples) in series {
            text.push(',');
            if let Some(value) = samples.get(index) {
                write!(text, "{value}").expect("a string grows");
            }
        }
        text.push('\n');
    }
    text
}

/// `series,from_ns,to_ns,count` lines, one for each bucket that holds a value.
pub fn histogram_csv(series: &[Series<'_>]) -> String {
    let mut text = String::from("series,from_ns,to_ns,count\n");
    for one in series {
        for bucket in one.histogram.iter_recorded() {
            let value = bucket.value_iterated_to();
            let from = one.histogram.lowest_equivalent(value);
            let to = one.histogram.highest_equivalent(value);
            let name = one.name.replace([',', '\n', '"'], "_");
            writeln!(text, "{name},{from},{to},{}", bucket.count_at_value())
                .expect("a string grows");
        }
    }
    text
}

/// HdrHistogram's percentile distribution (`.hgrm`), values in microseconds, five steps per
/// halving, as its plotter reads it.
pub fn hgrm(histogram: &Histogram<u64>, time_base: TimeBase) -> String {
    let mut text = String::new();
    writeln!(
        text,
        "{:>12} {:>14} {:>10} {:>14}\n",
        "Value", "Percentile", "TotalCount", "1/(1-Percentile)"
    )
    .expect("a string grows");
    let mut count = 0;
    for step in histogram.iter_quantiles(5) {
        let value = histogram.highest_equivalent(step.value_iterated_to()) as f64 / 1000.0;
        let quantile = step.quantile_iterated_to();
        count += step.count_since_last_iteration();
        if quantile < 1.0 {
            writeln!(
                text,
                "{value:12.3} {quantile:2.12} {count:10} {:14.2}",
                1.0 / (1.0 - quantile)
            )
        } else {
            writeln!(
                text,
                "{value:12.3} {quantile:2.12} {count:10} {:>14}",
                "inf"
            )
        }
        .expect("a string grows");
    }
    let (mean, deviation) = match histogram.is_empty() {
        true => (0.0, 0.0),
        false => (histogram.mean() / 1000.0, histogram.stdev() / 1000.0),
    };
    write!(
        text,
        "#[Mean    = {mean:12.3}, StdDeviation   = {deviation:12.3}]\n\
         #[Max     = {:12.3}, Total count    = {:12}]\n\
         #[Buckets = {:12}, SubBuckets     = {:12}]\n\
         #[Unit    = {}]\n",
        histogram.max() as f64 / 1000.0,
        histogram.len(),
        histogram.buckets(),
        histogram.distinct_values(),
        time_base.microseconds(),
    )
    .expect("a string grows");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thousand() -> Histogram<u64> {
        let mut histogram = Histogram::new(3).unwrap();
        (1..=1000_u64).for_each(|value| histogram.record(value * 1000).unwrap());
        histogram
    }

    #[test]
    fn samples_stand_side_by_side() {
        let text = samples_csv(&[("a", &[1, 2]), ("b,c", &[3])]);
        assert_eq!(text, "index,a_ns,b_c_ns\n0,1,3\n1,2,\n");
    }

    #[test]
    fn buckets_add_up() {
        let histogram = thousand();
        let text = histogram_csv(&[Series {
            name: "x",
            histogram: &histogram,
            max_ns: 1_000_000,
        }]);
        let sum: u64 = text
            .lines()
            .skip(1)
            .map(|it| it.rsplit(',').next().unwrap().parse::<u64>().unwrap())
            .sum();
        assert_eq!(sum, 1000);
    }

    #[test]
    fn hgrm_ends_with_everything_counted() {
        let text = hgrm(&thousand(), TimeBase::Virtual);
        let last = text
            .lines()
            .rfind(|line| line.trim_end().ends_with("inf"))
            .unwrap();
        assert_eq!(last.split_whitespace().nth(2), Some("1000"));
        assert!(text.contains("Total count    =         1000"));
        assert!(text.ends_with("#[Unit    = virtual µs]\n"));
    }
}
