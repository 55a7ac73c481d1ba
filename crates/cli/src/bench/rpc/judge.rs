// SPDX-License-Identifier: Apache-2.0
//! What `rpc` must show: the worst does not grow with ordinary callers, nor beside a hog.

use super::{Row, Setup, title};
use crate::bench::calls::Transport;

/// How much later the worst may be than with the fewest threads.
const GROWTH_MAX: f64 = 1.1;
/// Or this much above it.
const ABOVE_MAX_NS: u64 = 5_000;

/// Transports, and whether Java uses them.
const KINDS: [(Transport, bool); 4] = [
    (Transport::Lent, false),
    (Transport::Stock, false),
    (Transport::Extended, false),
    (Transport::Lent, true),
];

/// The worst of T_CALL and of T_RET over all seeds of a setup.
fn worst(rows: &[Row], setup: Setup) -> Option<[u64; 2]> {
    let meant = rows.iter().filter(|it| it.setup == setup);
    let worst = meant.map(|it| [it.call.max_ns, it.back.max_ns]);
    worst.reduce(|left, right| [left[0].max(right[0]), left[1].max(right[1])])
}

/// The setups that are held against the one with the fewest threads, and that one.
fn compared(rows: &[Row], kind: (Transport, bool)) -> Option<(Setup, Vec<Setup>)> {
    let of = || rows.iter().map(|it| it.setup);
    let of = || of().filter(|it| (it.transport, it.is_java) == kind && !it.is_control);
    let plain = || of().filter(|it| !it.has_hog);
    let fewest = plain().min_by_key(|it| it.callers)?;
    let most = plain().max_by_key(|it| it.callers);
    let others = most.filter(|it| *it != fewest).into_iter();
    let others = others.chain(of().find(|it| it.has_hog)).collect();
    Some((fewest, others))
}

/// How much later the control's worst is beside the callers of `setup` than beside those of
/// `fewest`: that is the kernel's own, whatever carries the call, and for Java as well.
fn control_growth(rows: &[Row], fewest: Setup, setup: Setup) -> [u64; 2] {
    let of = |setup: Setup| {
        let control = Setup {
            is_control: true,
            is_java: false,
            ..setup
        };
        worst(rows, control)
    };
    match (of(fewest), of(setup)) {
        (Some(few), Some(many)) => [0, 1].map(|it| many[it].saturating_sub(few[it])),
        _ => [0, 0],
    }
}

/// What our transports were to show and did not.
pub(super) fn faults(rows: &[Row]) -> Vec<String> {
    let mut faults = Vec::new();
    for kind in KINDS {
        let Some((fewest, others)) = compared(rows, kind) else {
            continue;
        };
        for setup in others.into_iter().filter(|_| kind.0 != Transport::Stock) {
            let (Some(few), Some(many)) = (worst(rows, fewest), worst(rows, setup)) else {
                continue;
            };
            let control = control_growth(rows, fewest, setup);
            for (index, name) in ["T_CALL", "T_RET"].into_iter().enumerate() {
                let (few, many) = (few[index], many[index]);
                let bound = ((few as f64 * GROWTH_MAX) as u64).max(few + ABOVE_MAX_NS);
                let bound = bound + control[index];
                if many > bound {
                    faults.push(format!(
                        "{}: the worst {name} is {:.1} µs, at most {:.1} of {}",
                        title(setup),
                        many as f64 / 1000.0,
                        bound as f64 / 1000.0,
                        title(fewest)
                    ));
                }
            }
        }
    }
    if rows.iter().any(|it| !it.is_real_time) {
        faults.push("the caller was not given its priority".to_owned());
    }
    faults
}

/// A line for each transport and what it is held against.
pub(super) fn growth_text(rows: &[Row]) -> String {
    let mut text = String::new();
    for kind in KINDS {
        let Some((fewest, others)) = compared(rows, kind) else {
            continue;
        };
        for setup in others {
            if let (Some(few), Some(many)) = (worst(rows, fewest), worst(rows, setup)) {
                let times = |index: usize| many[index] as f64 / few[index].max(1) as f64;
                text.push_str(&format!(
                    "{} over k = {}: worst T_CALL {:.2} times, T_RET {:.2} times.\n",
                    title(setup),
                    fewest.callers,
                    times(0),
                    times(1)
                ));
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::Times;
    use super::*;

    fn row(transport: Transport, callers: u32, has_hog: bool, call: u64, back: u64) -> Row {
        let times = |max_ns| Times {
            max_ns,
            ..Times::default()
        };
        Row {
            setup: Setup {
                transport,
                callers,
                has_hog,
                is_java: false,
                is_control: false,
            },
            seed: 1,
            is_real_time: true,
            others: 0,
            call: times(call),
            back: times(back),
        }
    }

    #[test]
    fn the_worst_of_all_seeds_counts_in_both_directions_and_of_the_stock_driver_nothing() {
        let lent = Transport::Lent;
        let mut rows = vec![
            row(lent, 0, false, 20_000, 90_000),
            row(lent, 0, false, 10_000, 100_000),
            row(lent, 100, false, 25_000, 110_000),
            row(lent, 0, true, 25_000, 110_000),
            row(Transport::Stock, 0, false, 1, 1),
            row(Transport::Stock, 100, false, 1_000_000, 1),
        ];
        assert_eq!(faults(&rows), [""; 0]);
        let text = growth_text(&rows);
        assert!(
            text.contains("lent, k = 100 over k = 0: worst T_CALL 1.25"),
            "{text}"
        );
        rows[2].call.max_ns = 25_001;
        rows[3].back.max_ns = 110_001;
        let faults = faults(&rows);
        assert_eq!(faults.len(), 2, "{faults:?}");
        assert!(
            faults[0].contains("k = 100: the worst T_CALL"),
            "{faults:?}"
        );
        assert!(faults[1].contains("hog: the worst T_RET"), "{faults:?}");
    }

    #[test]
    fn java_is_held_against_java() {
        let lent = Transport::Lent;
        let mut rows = [0, 100, 0, 100].map(|callers| row(lent, callers, false, 10_000, 10_000));
        for it in &mut rows[2..] {
            it.setup.is_java = true;
            it.call.max_ns = 40_000;
        }
        assert_eq!(faults(&rows), [""; 0]);
        rows[3].call.max_ns = 50_000;
        let faults = faults(&rows);
        assert_eq!(faults.len(), 1, "{faults:?}");
        assert!(faults[0].contains("Java, k = 100"), "{faults:?}");
    }

    #[test]
    fn what_the_control_grows_by_is_not_the_transports() {
        let row = |callers, call, is_control| {
            let mut row = row(Transport::Extended, callers, false, call, 10_000);
            row.setup.is_control = is_control;
            row
        };
        let mut rows = vec![
            row(0, 10_000, false),
            row(100, 19_000, false),
            row(0, 5_000, true),
            row(100, 9_000, true),
        ];
        assert_eq!(faults(&rows), [""; 0]);
        rows[..2].iter_mut().for_each(|it| it.setup.is_java = true);
        rows.iter_mut()
            .for_each(|it| it.setup.transport = Transport::Lent);
        assert_eq!(faults(&rows), [""; 0], "Java's control is the native one");
        rows[1].call.max_ns = 19_001;
        assert_eq!(faults(&rows).len(), 1);
        rows[1].call.max_ns = 15_001;
        rows.truncate(2);
        assert_eq!(faults(&rows).len(), 1, "without a control");
        assert!(growth_text(&rows).contains("Java, k = 100 over k = 0"));
    }

    #[test]
    fn what_runs_between_the_ends_is_not_judged() {
        let lent = Transport::Lent;
        let rows = [
            row(lent, 0, false, 20_000, 20_000),
            row(lent, 20, false, 90_000, 20_000),
            row(lent, 100, false, 20_000, 20_000),
        ];
        assert_eq!(faults(&rows), [""; 0]);
    }
}
