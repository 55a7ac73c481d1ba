// SPDX-License-Identifier: Apache-2.0
//! What a collector costs: the processor's time and the memory of a program whose trees die young
//! beside many that stay, on Takt's collectors and HotSpot's.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};
use report::Table;
use serde::Serialize;

use super::classes::Classes;
use super::whole::{self, Whole};
use crate::jdk::Jdk;

const NAME: &str = "Trees";
const SOURCE: &str = include_str!("../../../../tests/java-bench/Trees.java");
const HEAP: &str = "-Xmx1g";
/// What a machine may take with that heap, and what it needs besides.
const MEMORY_BYTES: usize = 1_280 << 20;
/// ZGC is the generational one from this release on.
const ZGC_RELEASE: u32 = 23;

/// What ours may take, of what generational ZGC takes.
const TIME_MAX: f64 = 1.2;
const MEMORY_MAX: f64 = 1.1;
/// Of its time, what may be the kernel's.
const KERNEL_MAX: f64 = 0.1;

/// What does the collector cost where much dies young beside much that stays?
///
/// Trees of 2,047 nodes die beside others that stay, in a heap of 1 GiB. Machines take turns; what
/// counts is the median of the runs. The time is the whole process's, all threads, in the program
/// and in the kernel.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  takt bench trees --check")]
pub(crate) struct Args {
    /// Runs of each machine
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// Megabytes of trees that die
    #[arg(long, default_value_t = 10_000)]
    dying: u64,
    /// Megabytes of trees that stay
    #[arg(long, default_value_t = 235)]
    staying: u64,
    /// Exit code 2 unless `rc` takes at most 1.2 times the time and 1.1 times the memory of
    /// generational ZGC, and at most a tenth of its time in the kernel; also where that cannot be
    /// decided: without a JDK 23 or later, or where ZGC's part in the kernel is more than a tenth
    #[arg(long)]
    check: bool,
    /// Print JSON instead of the table
    #[arg(long)]
    json: bool,
}

/// The runs of a machine.
#[derive(Debug, Serialize)]
struct Row {
    machine: &'static str,
    runs: Vec<Run>,
}

#[derive(Clone, Copy, Debug, Serialize)]
struct Run {
    whole: Whole,
    most_kib: u64,
}

impl Run {
    fn processor_ms(&self) -> u64 {
        self.whole.processor_ms()
    }

    fn kernel_ms(&self) -> u64 {
        self.whole.kernel_ms
    }
}

impl Row {
    fn median(&self, of: impl Fn(&Run) -> u64) -> u64 {
        let mut figures: Vec<u64> = self.runs.iter().map(of).collect();
        figures.sort_unstable();
        figures[figures.len() / 2]
    }
}

/// A machine: its name, its launcher, options.
struct Machine {
    name: &'static str,
    java: PathBuf,
    options: &'static [&'static str],
}

fn machines(jdk: &Jdk) -> Result<Vec<Machine>> {
    let takt = std::env::current_exe().context("cannot find where takt lies")?;
    let hotspot = jdk.home.join("bin/java");
    let mut machines = vec![
        Machine {
            name: "rc",
            java: takt.clone(),
            options: &["java", "--gc=rc"],
        },
        Machine {
            name: "stw",
            java: takt,
            options: &["java", "--gc=stw"],
        },
        Machine {
            name: "G1",
            java: hotspot,
            options: &["-XX:+UseG1GC"],
        },
    ];
    if let Some(later) = Jdk::find_later(ZGC_RELEASE) {
        machines.push(Machine {
            name: "ZGC",
            java: later.home.join("bin/java"),
            options: &["-XX:+UseZGC"],
        });
    }
    Ok(machines)
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let jdk = Jdk::find()?;
    let classes = Classes::compile(&jdk, &[(NAME, SOURCE)])?;
    let machines = machines(&jdk)?;
    let mut rows: Vec<Row> = machines
        .iter()
        .map(|it| Row {
            machine: it.name,
            runs: Vec::new(),
        })
        .collect();
    let mut known = None;
    for turn in 1..=args.runs {
        for (machine, row) in machines.iter().zip(&mut rows) {
            eprintln!(
                "bench trees: run {turn} of {} on {}",
                args.runs, machine.name
            );
            let (sum, run) = once(machine, classes.path(), args)?;
            if *known.get_or_insert(sum) != sum {
                bail!("{}: another sum: {sum}", machine.name);
            }
            row.runs.push(run);
        }
    }
    match args.json {
        true => println!("{}", serde_json::to_string_pretty(&rows)?),
        false => print!("{}", text(&rows)),
    }
    Ok(super::verdict("trees", &faults(&rows), args.check))
}

/// Touches as much memory as a run may take, and frees it. The kernel of a virtual machine may have
/// given free memory back to its host. A process that touches that first waits for it, milliseconds
/// for 2 MiB. So no machine pays for what another one gave back.
fn take_from_the_host() {
    const PAGE: usize = 4_096;
    let mut memory = vec![0_u8; MEMORY_BYTES];
    for at in (0..MEMORY_BYTES).step_by(PAGE) {
        memory[at] = 1;
    }
    std::hint::black_box(&memory);
}

fn once(machine: &Machine, classes: &Path, args: &Args) -> Result<(i64, Run)> {
    take_from_the_host();
    let mut java = Command::new(&machine.java);
    java.args(machine.options)
        .args([HEAP, "-cp"])
        .arg(classes)
        .arg(NAME)
        .args([args.dying.to_string(), args.staying.to_string()]);
    let ran = whole::run(&mut java);
    let (whole, said) = ran.with_context(|| format!("on {}", machine.name))?;
    let figures = parse(&said);
    let (sum, most_kib) = figures.with_context(|| format!("{} says {said}", machine.name))?;
    Ok((sum, Run { whole, most_kib }))
}

/// A sum, and KiB.
fn parse(line: &str) -> Option<(i64, u64)> {
    let (sum, most_kib) = line.trim().split_once(' ')?;
    Some((sum.parse().ok()?, most_kib.parse().ok()?))
}

fn text(rows: &[Row]) -> String {
    let mut table = Table::new(["machine", "s", "in the kernel", "least s", "most s", "MiB"]);
    for row in rows {
        let all = || row.runs.iter().map(Run::processor_ms);
        let seconds = |ms: u64| format!("{:.2}", ms as f64 / 1e3);
        table.row([
            row.machine.to_owned(),
            seconds(row.median(Run::processor_ms)),
            seconds(row.median(Run::kernel_ms)),
            seconds(all().min().unwrap_or(0)),
            seconds(all().max().unwrap_or(0)),
            (row.median(|it| it.most_kib) >> 10).to_string(),
        ]);
    }
    format!("{table}Medians: the processor's time of all threads, and the most memory\n")
}

fn faults(rows: &[Row]) -> Vec<String> {
    let of = |name: &str| rows.iter().find(|it| it.machine == name);
    let (Some(rc), Some(zgc)) = (of("rc"), of("ZGC")) else {
        return vec![format!(
            "it cannot be decided: no JDK {ZGC_RELEASE} or later in $JAVA_HOME, on the path or in \
             /usr/lib/jvm"
        )];
    };
    let time = rc.median(Run::processor_ms) as f64;
    let shares = [
        (
            "the time of ZGC",
            time / zgc.median(Run::processor_ms) as f64,
            TIME_MAX,
        ),
        (
            "the memory of ZGC",
            rc.median(|it| it.most_kib) as f64 / zgc.median(|it| it.most_kib) as f64,
            MEMORY_MAX,
        ),
        (
            "its own time, in the kernel",
            rc.median(Run::kernel_ms) as f64 / time,
            KERNEL_MAX,
        ),
    ];
    let over = shares.into_iter().filter(|(_, found, most)| found > most);
    let mut faults: Vec<String> = over
        .map(|(of, found, most)| format!("rc takes {found:.2} of {of}, at most {most}"))
        .collect();
    let kernel =
        |row: &Row| row.median(Run::kernel_ms) as f64 / row.median(Run::processor_ms) as f64;
    if kernel(rc) > KERNEL_MAX && kernel(zgc) > KERNEL_MAX {
        faults.push(format!(
            "the kernel's part cannot be decided on this machine: ZGC's is {:.2} as well",
            kernel(zgc)
        ));
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(machine: &'static str, user_ms: u64, kernel_ms: u64, most_kib: u64) -> Row {
        let whole = Whole {
            user_ms,
            kernel_ms,
            wall_ms: 0,
        };
        let run = Run { whole, most_kib };
        Row {
            machine,
            runs: vec![run; 3],
        }
    }

    #[test]
    fn the_rule() {
        let zgc = || row("ZGC", 3_600, 400, 1_000);
        assert!(faults(&[row("rc", 4_400, 400, 1_100), zgc()]).is_empty());
        assert_eq!(faults(&[row("rc", 4_500, 700, 1_200), zgc()]).len(), 3);
        let slow = row("ZGC", 3_000, 1_000, 1_000);
        let undecided = faults(&[row("rc", 3_000, 900, 1_000), slow]);
        assert!(undecided[1].contains("cannot be decided"), "{undecided:?}");
        let none = faults(&[row("rc", 1, 0, 1)]);
        assert!(none[0].contains("cannot be decided"), "{none:?}");
    }

    #[test]
    fn a_program_says_its_figures() {
        assert_eq!(parse("-7 2048\n"), Some((-7, 2_048)));
        assert!(parse("7").is_none());
    }
}
