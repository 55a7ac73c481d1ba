// SPDX-License-Identifier: Apache-2.0
//! The experiment in deterministic guests: one processor, PREEMPT_RT, virtual time; a guest for
//! each load and seed.
//!
//! The guest runs this program itself for one window. Classes and the measured thread's code are
//! made here, over the guest's own image of the JDK.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use lab::{Cache, Flavour, Job, Lab, Mode, RtcSource, Sample, Sweep};
use rt::stop::StopFlag;

use super::code::Code;
use super::{Args, Load, Row};
use crate::jdk::Jdk;

/// javac among them, and what asks the machine.
const MODULES: &str =
    "java.base,java.logging,java.management,jdk.unsupported,java.compiler,jdk.compiler";
/// Beside the heap: compiled code, the image, what compiling takes.
const MEMORY_MIB: u32 = 1536;
/// A guest whose threads wait for each other would never end.
const TIME_MAX: Duration = Duration::from_secs(3600);

pub(super) fn measure(args: &Args) -> Result<Vec<Row>> {
    let stop = StopFlag::on_signals().context("cannot catch Ctrl-C")?;
    let cache = Cache::of_user()?;
    let lab = Lab::open(cache, stop)?;
    let java = Jdk::find()?.home.join("bin/java");
    let image = lab.java_image(&java, MODULES)?;
    // Always at the same place: its path is among what the guest sees.
    let place = std::env::temp_dir().join("takt-bench-stall");
    let code = Code::make_at(args, &place, &image.join("bin/java"))?;
    let mut rows = Vec::new();
    for load in args.loads() {
        eprintln!(
            "bench stall: {}, {} seeds in the lab",
            load.title(),
            args.seeds
        );
        rows.extend(sweep(&lab, args, &code, &place, load)?);
    }
    Ok(rows)
}

fn job(args: &Args, code: &Code, place: &PathBuf, load: Load) -> Result<Job> {
    let own = std::env::current_exe().context("cannot find this program's own file")?;
    let mut command: Vec<OsString> = vec![own.into()];
    command.extend(["bench", "stall", "--json", "--only", load.name()].map(OsString::from));
    let numbers = [
        ("--releases", u64::from(args.releases)),
        ("--warmup", u64::from(args.warmup)),
        ("--period-us", args.period_us),
        ("--priority", u64::from(args.priority)),
    ];
    for (option, value) in numbers {
        command.extend([option.into(), value.to_string().into()]);
    }
    command.extend(["--made".into(), place.into()]);
    let mut with = code.travels();
    with.push("java".into());
    Ok(Job {
        command,
        directory: PathBuf::from("/"),
        mode: Mode::Deterministic,
        kernel: Flavour::Rt,
        cpu_count: 1,
        memory_mib: Some(MEMORY_MIB),
        modules: Vec::new(),
        with,
        java_modules: MODULES.to_owned(),
        environment: Vec::new(),
        out: None,
        seed: args.seed,
        time_limit: Some(TIME_MAX),
        rtc: RtcSource::Virtual,
        console: None,
    })
}

fn sweep(lab: &Lab, args: &Args, code: &Code, place: &PathBuf, load: Load) -> Result<Vec<Row>> {
    let sweep = Sweep {
        seed_count: args.seeds,
        jobs: std::thread::available_parallelism().map_or(1, usize::from),
    };
    let mut rows = Vec::new();
    let mut fault = None;
    lab.sweep(&job(args, code, place, load)?, sweep, |sample| {
        let seed = sample.seed;
        match parse(sample) {
            Ok(row) => {
                eprintln!(
                    "bench stall: {}, seed {seed}: late {} µs, work {} µs at the most of {}",
                    load.title(),
                    row.late_ns.max / 1000,
                    row.work_ns.max / 1000,
                    row.releases
                );
                rows.push(row);
            }
            Err(error) => fault = Some(error.context(format!("{}, seed {seed}", load.title()))),
        }
    });
    fault.map_or(Ok(rows), Err)
}

fn parse(sample: Sample) -> Result<Row> {
    let outcome = sample.outcome?;
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if outcome.exit_code != 0 {
        bail!(
            "exit {}: {}",
            outcome.exit_code,
            said(&sample.streams.stderr)
        );
    }
    let rows: Vec<Row> = serde_json::from_slice(&sample.streams.stdout)
        .with_context(|| format!("no row: {}", said(&sample.streams.stdout)))?;
    let row = rows.into_iter().next().context("a guest has one window")?;
    Ok(Row {
        run: sample.seed,
        ..row
    })
}
