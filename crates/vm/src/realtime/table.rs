// SPDX-License-Identifier: Apache-2.0
//! The ledgers of all real-time threads, as text and as JSON.
//!
//! docs/use/real-time-java.md says what each field means. Times are nanoseconds in JSON,
//! microseconds in text.

use std::fmt::Write;

use crate::threads::ledger::{Late, Ledger, MACHINE_NS_USUAL, QUANTILES, Wait};
use crate::threads::real_time::{Reached, RealTimeRecord, records};

/// Names of one kind in text; JSON has them all.
const NAMES_SHOWN_MAX: usize = 20;

/// One block per thread; empty without any.
pub(crate) fn text() -> String {
    let (records, unrecorded) = records();
    let mut text = format!("real-time threads: {}\n", records.len());
    if unrecorded > 0 {
        let _ = writeln!(text, "  and {unrecorded} more, of which nothing was kept");
    }
    records
        .iter()
        .for_each(|record| add_thread(&mut text, record));
    text.truncate(text.trim_end().len());
    text
}

/// What the thread runs as.
fn policy(record: &RealTimeRecord) -> String {
    let (asked, granted) = record.priorities();
    match record.refusal() {
        Some(refusal) => {
            format!("DEGRADED: asked for FIFO {asked}, runs as an ordinary thread: {refusal}")
        }
        None => format!("FIFO {granted}"),
    }
}

fn us(ns: u64) -> String {
    format!("{:.1}", ns as f64 / 1e3)
}

fn add_thread(text: &mut String, record: &RealTimeRecord) {
    let ledger = &record.ledger;
    let _ = writeln!(text, "\"{}\": {}", record.name, policy(record));
    let [period, cost, deadline] = record.times_ns().map(us);
    if period != "0.0" {
        let _ = writeln!(
            text,
            "  period {period} µs, cost {cost} µs, deadline {deadline} µs"
        );
    }
    add_early(text, record.reached());
    let counts = ledger
        .counts()
        .map(|(name, count)| format!("{} {count}", name.replace('_', " ")));
    let _ = writeln!(text, "  {}", counts.join(", "));
    for (name, quantiles) in ["lateness", "work"].iter().zip(ledger.quantiles()) {
        if quantiles.count > 0 {
            let _ = write!(text, "  {name:<9} µs:");
            for ((quantile, _), ns) in QUANTILES.iter().zip(quantiles.ns) {
                let _ = write!(text, " {quantile} {}", us(ns));
            }
            let _ = writeln!(text, " max {} of {}", us(quantiles.ns_max), quantiles.count);
        }
    }
    let usage = ledger.usage();
    let _ = writeln!(
        text,
        "  page faults: {} minor, {} major; switches: {} involuntary",
        usage.minor_faults, usage.major_faults, usage.involuntary_switches
    );
    let (ns_max, count) = ledger.machine.most();
    let _ = writeln!(
        text,
        "  processor time of the machine's own in a release: {} µs at most, above {} µs in {count}",
        us(ns_max),
        us(MACHINE_NS_USUAL)
    );
    for (name, late) in lates(ledger) {
        let _ = writeln!(
            text,
            "  late {name}: {} in {} µs",
            late.count(),
            us(late.ns())
        );
        names(name, late)
            .iter()
            .take(NAMES_SHOWN_MAX)
            .for_each(|late| {
                let _ = writeln!(text, "    {late}");
            });
    }
    for (name, wait) in waits(ledger) {
        let (all_ns, ns_max) = wait.ns();
        let worst = wait
            .worst()
            .map_or_else(String::new, |class| format!(" ({})", class.java_name()));
        let _ = writeln!(
            text,
            "  {}: {} in {} µs, longest {} µs{worst}",
            name.replace('_', " "),
            wait.count(),
            us(all_ns),
            us(ns_max)
        );
    }
}

fn lates(ledger: &Ledger) -> [(&'static str, &Late); 4] {
    [
        ("methods", &ledger.methods),
        ("classes", &ledger.classes),
        ("initializations", &ledger.initializations),
        ("constants", &ledger.sites),
    ]
}

fn names(kind: &str, late: &Late) -> Vec<String> {
    match kind {
        "methods" => late.methods().map(|method| method.full_name()).collect(),
        _ => late.classes().map(|class| class.java_name()).collect(),
    }
}

fn waits(ledger: &Ledger) -> [(&'static str, &Wait); 6] {
    [
        ("monitor_waits", &ledger.monitors),
        ("lock_waits", &ledger.locks),
        ("ownerless_waits", &ledger.ownerless),
        ("machine_lock_waits", &ledger.machine_locks),
        ("allocation_slow_paths", &ledger.allocations),
        ("handshakes", &ledger.handshakes),
    ]
}

/// A JSON string.
pub(crate) fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c < ' ' => {
                let _ = write!(quoted, "\\u{:04x}", c as u32);
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// A JSON array with an object per thread.
pub(crate) fn json() -> String {
    let (records, _) = records();
    let threads: Vec<String> = records.iter().map(|record| thread_json(record)).collect();
    format!("[{}]", threads.join(",\n"))
}

/// The fields of [`Reached`] by name.
fn early_counts(early: Reached) -> [(&'static str, u32); 7] {
    [
        ("methods_reached", early.methods),
        ("methods_compiled", early.compiled),
        ("classes_loaded", early.loaded),
        ("classes_initialized", early.initialized),
        ("methods_left_out", early.left_out),
        ("open_calls", early.open_calls),
        ("initializers_left_out", early.uninitialized),
    ]
}

fn add_early(text: &mut String, early: Reached) {
    let counts = early_counts(early);
    let counts = counts.map(|(name, count)| format!("{} {count}", name.replace('_', " ")));
    let (counts, ms) = (counts.join(", "), early.ns as f64 / 1e6);
    let _ = writeln!(text, "  before the start: {counts}, in {ms:.1} ms");
}

fn early_json(early: Reached) -> String {
    let counts = early_counts(early).map(|(name, count)| format!("\"{name}\": {count}, "));
    format!("\"early\": {{{}\"ns\": {}}}", counts.concat(), early.ns)
}

fn machine_json(ledger: &Ledger) -> String {
    let (ns_max, count) = ledger.machine.most();
    let releases = ledger.machine.releases();
    let releases: Vec<String> = releases
        .map(|(due_ns, ns)| format!("[{due_ns}, {ns}]"))
        .collect();
    let releases = releases.join(", ");
    format!(
        "\"machine_ns\": {{\"max\": {ns_max}, \"above_usual\": {count}, \"releases\": [{releases}]}}"
    )
}

fn thread_json(record: &RealTimeRecord) -> String {
    let ledger = &record.ledger;
    let (asked, granted) = record.priorities();
    let [period, cost, deadline] = record.times_ns();
    let mut fields = vec![
        format!("\"name\": {}", quoted(&record.name)),
        format!("\"class\": {}", quoted(&record.class.java_name())),
        format!("\"priority_asked\": {asked}, \"priority_granted\": {granted}"),
        format!(
            "\"degraded\": {}",
            record.refusal().map_or_else(|| "null".to_owned(), quoted)
        ),
        format!("\"period_ns\": {period}, \"cost_ns\": {cost}, \"deadline_ns\": {deadline}"),
    ];
    fields.push(early_json(record.reached()));
    fields.extend(
        ledger
            .counts()
            .map(|(name, count)| format!("\"{name}\": {count}")),
    );
    let times = ledger.quantiles().into_iter().zip(ledger.histograms());
    for (name, (quantiles, histogram)) in ["lateness", "work"].iter().zip(times) {
        let each = QUANTILES
            .iter()
            .zip(quantiles.ns)
            .map(|((name, _), ns)| format!("\"{name}\": {ns}, "));
        let each: String = each.collect();
        let (count, ns_max) = (quantiles.count, quantiles.ns_max);
        let steps = histogram
            .iter()
            .map(|(ns, count)| format!("[{ns}, {count}]"));
        let steps = steps.collect::<Vec<_>>().join(", ");
        fields.push(format!(
            "\"{name}_ns\": {{{each}\"max\": {ns_max}, \"count\": {count}, \"histogram\": [{steps}]}}"
        ));
    }
    let usage = ledger.usage();
    for (name, count) in [
        ("minor_faults", usage.minor_faults),
        ("major_faults", usage.major_faults),
        ("voluntary_switches", usage.voluntary_switches),
        ("involuntary_switches", usage.involuntary_switches),
    ] {
        fields.push(format!("\"{name}\": {count}"));
    }
    fields.push(machine_json(ledger));
    for (name, late) in lates(ledger) {
        let names: Vec<String> = names(name, late).iter().map(|name| quoted(name)).collect();
        let (count, ns, names) = (late.count(), late.ns(), names.join(", "));
        fields.push(format!(
            "\"late_{name}\": {{\"count\": {count}, \"ns\": {ns}, \"names\": [{names}]}}"
        ));
    }
    for (name, wait) in waits(ledger) {
        let (ns, ns_max) = wait.ns();
        let count = wait.count();
        let worst = wait
            .worst()
            .map_or_else(|| "null".to_owned(), |class| quoted(&class.java_name()));
        fields.push(format!(
            "\"{name}\": {{\"count\": {count}, \"ns\": {ns}, \"ns_max\": {ns_max}, \"worst\": {worst}}}"
        ));
    }
    format!("{{{}}}", fields.join(",\n "))
}
