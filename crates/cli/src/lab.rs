// SPDX-License-Identifier: Apache-2.0
//! `takt lab`: a command in a guest on a PREEMPT_RT or standard kernel, repeatable to the bit when
//! asked.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use lab::{
    Cache, Captured, Flavour, Job, Lab, LabError, Mode, ModuleRequest, Outcome, RtcSource, Sample,
    Sink, Sweep,
};
use rt::stop::StopFlag;
use serde_json::{Value, json};

use crate::size::mebibytes;

/// Run a command in a guest with a real-time kernel
///
/// Without --deterministic the guest sees this machine's files through 9p, read-only under a
/// throw-away overlay, in real time. With it the command travels in an initramfs with the
/// libraries, interpreter and files that its arguments name, one instruction takes one virtual
/// nanosecond, and the same command gives the same bits.
///
/// In the guest: TAKT_LAB (deterministic or 9p), TAKT_SEED, TAKT_OUT (files left there come back by
/// --out). Exit code: the command's; 123 the two runs of --check differ; 124 timed out; 125 the
/// guest failed; 127 command not found; 130 interrupted.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  takt lab -- uname -v\n  takt lab --deterministic -- takt latency -D 1s"
)]
pub(crate) struct Args {
    /// Debian's PREEMPT_RT kernel or its standard one
    #[arg(long, value_enum, default_value = "rt")]
    kernel: KernelName,
    /// Virtual CPUs [default: 1 if deterministic, else as many as here, 4 at most]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=64))]
    cpus: Option<u32>,
    /// Count instructions instead of time: one CPU, everything in an initramfs, repeatable to the
    /// bit
    #[arg(long)]
    deterministic: bool,
    /// Guest memory, such as 512M or 2G [default: 1G, more if the initramfs needs it]
    #[arg(long, value_parser = mebibytes)]
    memory: Option<u32>,
    /// Bring back the files that the command leaves in $TAKT_OUT
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// A file, directory or command that travels along (deterministic); may be repeated
    #[arg(long, value_name = "PATH")]
    with: Vec<OsString>,
    /// A kernel module to load, with its dependencies, as NAME or NAME:PARAMETER=VALUE; one of
    /// your own as the path of its .ko; may be repeated
    #[arg(long, value_name = "MODULE")]
    module: Vec<ModuleRequest>,
    /// An environment variable for the command, NAME=VALUE; may be repeated (the host's own do not
    /// enter)
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_variable)]
    env: Vec<(String, String)>,
    /// Java modules of the image that travels with a JDK's java (deterministic)
    #[arg(long, value_name = "MODULES", default_value = lab::JAVA_MODULES_DEFAULT)]
    java_modules: String,
    /// Varies start offset and entropy; the command reads it as TAKT_SEED
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Run once for each of N seeds from --seed on; outputs go to DIR/seed-K
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), conflicts_with = "check")]
    seeds: Option<u64>,
    /// Guests at a time with --seeds [default: one per CPU here]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..), requires = "seeds")]
    jobs: Option<u16>,
    /// Run twice and fail if anything differs
    #[arg(long)]
    check: bool,
    /// End the guest after this time by the clock on the wall, such as 90s
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    timeout: Option<Duration>,
    /// Keep what the guest's kernel says on its console
    #[arg(long, value_name = "FILE")]
    console: Option<PathBuf>,
    /// One JSON object per run, with the command's output inside
    #[arg(long)]
    json: bool,
    /// Do not say what the guest is made of
    #[arg(long, short)]
    quiet: bool,
    /// Let the host's clock into a deterministic guest: shows that --check catches it
    #[arg(long, hide = true, requires = "deterministic")]
    leak_host_clock: bool,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

#[derive(Clone, Copy, ValueEnum)]
enum KernelName {
    Rt,
    Standard,
}

/// More virtual CPUs than this only slow an emulated guest down.
const CPUS_DEFAULT_MAX: u32 = 4;

/// What --check ends with when two runs differ: next to the codes that `timeout` and shells use.
const EXIT_DIFFERENT: u8 = 123;

pub(crate) fn run(args: Args) -> Result<ExitCode> {
    match try_run(args) {
        Ok(code) => Ok(ExitCode::from(code)),
        // The lab's own errors have exit codes of their own, apart from the command's.
        Err(error) => match error.downcast_ref::<LabError>() {
            Some(known) => {
                eprintln!("takt lab: {error:#}");
                Ok(ExitCode::from(known.exit_code()))
            }
            None => Err(error),
        },
    }
}

fn try_run(args: Args) -> Result<u8> {
    let stop = StopFlag::on_signals().context("cannot catch Ctrl-C")?;
    let lab = Lab::open(Cache::of_user()?, stop)?;
    let job = job(&args)?;
    if let Some(seed_count) = args.seeds {
        let jobs = args.jobs.map_or_else(host_cpus, usize::from);
        return Ok(sweep(&lab, &job, Sweep { seed_count, jobs }, &args));
    }
    if args.check {
        return check(&lab, &job, &args);
    }
    let mut streams = Captured::default();
    let sink: &mut dyn Sink = if args.json {
        &mut streams
    } else {
        &mut Terminal
    };
    let outcome = lab.run(&job, sink)?;
    if args.json {
        println!("{}", describe(&outcome, &streams));
    }
    remark(&outcome, &args);
    Ok(outcome.exit_code)
}

fn job(args: &Args) -> Result<Job> {
    let mode = if args.deterministic {
        Mode::Deterministic
    } else {
        Mode::HostRoot
    };
    let cpu_count = args.cpus.unwrap_or(match mode {
        Mode::Deterministic => 1,
        Mode::HostRoot => u32::try_from(host_cpus())?.min(CPUS_DEFAULT_MAX),
    });
    let mut command = args.command.clone();
    if command[0] == "takt" {
        // This very program, wherever PATH points.
        command[0] = std::env::current_exe()?.into();
    }
    Ok(Job {
        command,
        directory: std::env::current_dir().context("this directory is gone")?,
        mode,
        kernel: match args.kernel {
            KernelName::Rt => Flavour::Rt,
            KernelName::Standard => Flavour::Standard,
        },
        cpu_count,
        memory_mib: args.memory,
        modules: args.module.clone(),
        with: args.with.clone(),
        java_modules: args.java_modules.clone(),
        environment: args.env.clone(),
        out: args.out.as_ref().map(std::path::absolute).transpose()?,
        seed: args.seed,
        time_limit: args.timeout,
        rtc: if args.leak_host_clock {
            RtcSource::Host
        } else {
            RtcSource::Virtual
        },
        console: args.console.clone(),
    })
}

fn check(lab: &Lab, job: &Job, args: &Args) -> Result<u8> {
    let mut streams = Captured::default();
    let sink: &mut dyn Sink = if args.json {
        &mut streams
    } else {
        &mut Terminal
    };
    let comparison = lab.check(job, sink)?;
    if args.json {
        let mut object = describe(&comparison.first, &streams);
        object["difference"] = comparison
            .difference
            .as_ref()
            .map(ToString::to_string)
            .into();
        println!("{object}");
    }
    remark(&comparison.first, args);
    match comparison.difference {
        None => {
            if !args.quiet {
                let count = comparison.first.out_count;
                eprintln!("lab: two runs, no difference in output, exit code and {count} files");
            }
            Ok(comparison.first.exit_code)
        }
        Some(difference) => {
            eprintln!(
                "lab: the same command gave two results: something of the host leaks in.\n{difference}"
            );
            Ok(EXIT_DIFFERENT)
        }
    }
}

/// One line per seed; the first exit code that is not 0 is ours.
fn sweep(lab: &Lab, job: &Job, sweep: Sweep, args: &Args) -> u8 {
    let mut worst = 0;
    let mut has_said = args.quiet;
    lab.sweep(job, sweep, |sample| {
        let code = match &sample.outcome {
            Ok(outcome) => {
                if !std::mem::replace(&mut has_said, true) {
                    eprintln!("lab: {}", outcome.fingerprint);
                }
                outcome.exit_code
            }
            Err(error) => error.exit_code(),
        };
        if worst == 0 {
            worst = code;
        }
        print_sample(&sample, args);
    });
    worst
}

fn print_sample(sample: &Sample, args: &Args) {
    let Sample {
        seed,
        outcome,
        streams,
    } = sample;
    match outcome {
        Ok(outcome) if args.json => println!("{}", describe(outcome, streams)),
        Err(error) if args.json => {
            println!("{}", json!({ "seed": seed, "error": error.to_string() }));
        }
        Err(error) => println!("seed {seed}: {error}"),
        Ok(outcome) => {
            let text = String::from_utf8_lossy(&streams.stdout);
            let last = text.lines().last().unwrap_or_default();
            let count = outcome.out_count;
            println!(
                "seed {seed}: exit {}, {count} files, last line: {last}",
                outcome.exit_code
            );
            for remark in &outcome.remarks {
                eprintln!("lab: seed {seed}: {remark}");
            }
        }
    }
}

fn describe(outcome: &Outcome, streams: &Captured) -> Value {
    let print = &outcome.fingerprint;
    json!({
        "exit_code": outcome.exit_code,
        "mode": print.mode.name(),
        "kernel": print.kernel,
        "qemu": print.qemu,
        "accelerator": print.accelerator,
        "machine": print.machine,
        "seed": print.seed,
        "times": if print.mode == Mode::Deterministic { "virtual" } else { "emulated" },
        "remarks": outcome.remarks,
        "out_count": outcome.out_count,
        "stdout": String::from_utf8_lossy(&streams.stdout),
        "stderr": String::from_utf8_lossy(&streams.stderr),
    })
}

fn remark(outcome: &Outcome, args: &Args) {
    if !args.quiet && outcome.fingerprint.mode == Mode::Deterministic {
        eprintln!("lab: {}", outcome.fingerprint);
    }
    for remark in &outcome.remarks {
        eprintln!("lab: {remark}");
    }
}

fn host_cpus() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn parse_variable(text: &str) -> Result<(String, String)> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => bail!("'{text}' is not like NAME=VALUE"),
    }
}

/// Straight on to this process's own streams.
struct Terminal;

impl Sink for Terminal {
    fn stdout(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut out = io::stdout().lock();
        out.write_all(bytes)?;
        out.flush()
    }

    fn stderr(&mut self, bytes: &[u8]) -> io::Result<()> {
        io::stderr().lock().write_all(bytes)
    }
}
