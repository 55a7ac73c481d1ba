// SPDX-License-Identifier: Apache-2.0
//! The rule, and the tables.

use std::fmt::Write as _;

use report::Table;

use super::{Load, Row};

/// In the lab: worst lateness and worst work with a load are at most so many times those without,
/// or so much above them.
const GROWTH_MAX: f64 = 1.2;
const ABOVE_NS_MAX: u64 = 50_000;
/// On the host: processor time of the machine's own causes in one release.
pub(super) const MACHINE_NS_MAX: u64 = 200_000;
/// With no memory left for others the measured thread allocates at least so many times its reserve.
const RESERVES_MIN: u64 = 10;

/// What a window itself must have, wherever it was.
fn faults_of(row: &Row) -> Vec<String> {
    let mut faults = Vec::new();
    let name = row.load.title();
    if !row.is_realtime {
        faults.push(format!("{name}: the thread was not given its priority"));
    }
    if row.memory_errors > 0 {
        let count = row.memory_errors;
        faults.push(format!(
            "{name}: {count} OutOfMemoryErrors in the real-time thread"
        ));
    }
    if row.load == Load::I && row.exhausted == 0 {
        faults.push(format!("{name}: memory was never exhausted"));
    }
    if row.load == Load::I && row.allocated_bytes < RESERVES_MIN * row.reserve_bytes {
        faults.push(format!(
            "{name}: the window allocates {} bytes, its reserve is {}",
            row.allocated_bytes, row.reserve_bytes
        ));
    }
    faults
}

/// What the windows of each seed were to show and did not.
pub(super) fn faults_in_lab(rows: &[Row]) -> Vec<String> {
    let mut faults = Vec::new();
    for row in rows {
        let mut of_row = faults_of(row);
        let without = rows
            .iter()
            .find(|it| it.run == row.run && it.load == Load::None);
        let Some(without) = without.filter(|_| row.load != Load::None) else {
            of_row.extend((row.load != Load::None).then(|| "nothing to compare with".to_owned()));
            faults.extend(
                of_row
                    .into_iter()
                    .map(|it| format!("seed {}: {it}", row.run)),
            );
            continue;
        };
        let pairs = [
            ("lateness", row.late_ns.max, without.late_ns.max),
            ("work", row.work_ns.max, without.work_ns.max),
        ];
        for (what, with_ns, without_ns) in pairs {
            if with_ns > most(without_ns) {
                of_row.push(format!(
                    "{}: worst {what} {} µs, {} without the load, {} at most",
                    row.load.title(),
                    us(with_ns),
                    us(without_ns),
                    us(most(without_ns))
                ));
            }
        }
        faults.extend(
            of_row
                .into_iter()
                .map(|it| format!("seed {}: {it}", row.run)),
        );
    }
    faults
}

fn most(without_ns: u64) -> u64 {
    ((without_ns as f64 * GROWTH_MAX) as u64).max(without_ns + ABOVE_NS_MAX)
}

/// What the host does to anybody: in how many runs the control, which has none of our code, was
/// charged with more processor time than the rule allows the machine.
pub(super) fn of_control(rows: &[Row]) -> Option<String> {
    let hit = |it: &&Row| it.control.is_some_and(|it| it.processor_above > 0);
    let mut runs: Vec<u64> = rows.iter().filter(hit).map(|it| it.run).collect();
    runs.dedup();
    let controls = || rows.iter().filter_map(|it| it.control);
    let count: u64 = controls().map(|it| it.processor_above).sum();
    let worst_ns = controls().map(|it| it.processor_ns_max).max()?;
    Some(format!(
        "the control, without our code: {count} releases with more than {} µs of processor time, in {} \
         of {} runs, {} µs the most",
        us(MACHINE_NS_MAX),
        runs.len(),
        rows.iter().map(|it| it.run).max()?,
        us(worst_ns)
    ))
}

/// The faults of all runs on the host, unless four of five have none.
pub(super) fn faults_on_host(rows: &[Row]) -> Vec<String> {
    let count = rows.iter().map(|it| it.run).max().unwrap_or(0);
    let of_run = |run: u64| -> Vec<String> {
        let rows = rows.iter().filter(|it| it.run == run);
        let faults = rows.flat_map(|it| {
            let machine = (it.machine_above > 0).then(|| {
                format!(
                    "{}: {} releases with more than {} µs of the machine's own, {} µs the most",
                    it.load.title(),
                    it.machine_above,
                    us(MACHINE_NS_MAX),
                    us(it.machine_ns_max)
                )
            });
            faults_of(it).into_iter().chain(machine)
        });
        faults.map(|it| format!("run {run}: {it}")).collect()
    };
    let faults: Vec<Vec<String>> = (1..=count).map(of_run).collect();
    let held = faults.iter().filter(|it| it.is_empty()).count() as u64;
    if held * 5 >= count * 4 {
        return Vec::new();
    }
    faults.concat()
}

fn us(ns: u64) -> String {
    format!("{:.1}", ns as f64 / 1000.0)
}

/// A line for each window, and of what the host did apart.
pub(super) fn text(rows: &[Row], is_virtual: bool) -> String {
    let (unit, run) = match is_virtual {
        true => ("virtual µs", "seed"),
        false => ("µs", "run"),
    };
    let mut table = Table::new([
        unit,
        run,
        "releases",
        "late p50",
        "late max",
        "work p50",
        "work max",
        "machine max",
        "lock waits",
        "longest",
        "steps",
        "control late",
        "work",
        "stolen",
        "late",
        "work",
    ]);
    for row in rows {
        let control = |value: fn(&super::Control) -> u64| {
            row.control
                .as_ref()
                .map_or("-".to_owned(), |it| us(value(it)))
        };
        // Less than 100 µs is not kept one by one.
        let machine = match row.machine_ns_max {
            0 => "< 100".to_owned(),
            ns => us(ns),
        };
        table.row([
            row.load.title().to_owned(),
            row.run.to_string(),
            row.releases.to_string(),
            us(row.late_ns.p50),
            us(row.late_ns.max),
            us(row.work_ns.p50),
            us(row.work_ns.max),
            machine,
            row.lock_waits.to_string(),
            us(row.lock_wait_ns_max),
            row.steps.to_string(),
            control(|it| it.late_ns.max),
            control(|it| it.work_ns.max),
            row.stolen.to_string(),
            us(row.stolen_late_ns_max),
            us(row.stolen_work_ns_max),
        ]);
    }
    let mut text = format!("{table}\n");
    for row in rows.iter().filter(|it| it.exhausted > 0) {
        let _ = writeln!(
            text,
            "{}, {run} {}: memory exhausted {} times by others; {:.1} MB of the real-time thread's from a reserve of {:.1}, {} OutOfMemoryErrors",
            row.load.title(),
            row.run,
            row.exhausted,
            row.allocated_bytes as f64 / 1e6,
            row.reserve_bytes as f64 / 1e6,
            row.memory_errors
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::tests::row;
    use super::super::{Control, Spread};
    use super::*;

    #[test]
    fn in_the_lab_a_load_may_add_a_fifth_or_fifty_microseconds() {
        let check = |late_ns, work_ns| {
            let rows = [
                row(Load::None, 3, 10_000, 1_000_000),
                row(Load::F, 3, late_ns, work_ns),
            ];
            faults_in_lab(&rows)
        };
        assert_eq!(check(60_000, 1_200_000), [""; 0]);
        assert!(check(60_001, 0)[0].contains("seed 3: f: large arrays: worst lateness"));
        assert_eq!(check(60_001, 1_200_001).len(), 2);
        assert_eq!(faults_in_lab(&[row(Load::F, 1, 0, 0)]).len(), 1);
    }

    #[test]
    fn on_the_host_four_of_five_runs_are_enough() {
        let rows = |bad: u64| -> Vec<Row> {
            let rows = (1..=5).map(|run| Row {
                machine_above: u64::from(run <= bad),
                ..row(Load::A, run, 0, 0)
            });
            rows.collect()
        };
        assert_eq!(faults_on_host(&rows(1)), [""; 0]);
        assert_eq!(faults_on_host(&rows(2)).len(), 2);
    }

    #[test]
    fn what_the_host_does_to_the_control_is_said() {
        let of_run = |run, processor_ns_max, processor_above| Row {
            control: Some(Control {
                late_ns: Spread::default(),
                work_ns: Spread::default(),
                processor_ns_max,
                processor_above,
            }),
            ..row(Load::A, run, 0, 0)
        };
        let rows = [
            of_run(1, 3000, 0),
            of_run(2, 250_000, 2),
            of_run(2, 900_000, 1),
        ];
        let said = of_control(&rows).unwrap();
        assert!(
            said.contains("3 releases with more than 200.0 µs"),
            "{said}"
        );
        assert!(said.contains("in 1 of 2 runs, 900.0 µs the most"), "{said}");
        assert_eq!(of_control(&[row(Load::A, 1, 0, 0)]), None);
    }

    #[test]
    fn a_window_without_what_it_is_about_says_nothing() {
        let exhausted = |exhausted, allocated_bytes, memory_errors| Row {
            exhausted,
            allocated_bytes,
            memory_errors,
            ..row(Load::I, 1, 0, 0)
        };
        assert_eq!(faults_of(&exhausted(1, 100, 0)), [""; 0]);
        assert_eq!(faults_of(&exhausted(0, 99, 1)).len(), 3);
    }
}
