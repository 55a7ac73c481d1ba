// SPDX-License-Identifier: Apache-2.0
//! `takt`: one command for everything a person does.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, reason = "a command talks to a person")]

mod admit;
mod apk;
mod bench;
mod compile;
mod dex;
mod doctor;
mod framework;
mod frequency;
mod guest;
mod java;
mod jdk;
mod lab;
mod latency;
mod load;
mod manual;
mod output;
mod resolve;
mod run;
mod size;
mod system;

use std::process::ExitCode;

use anyhow::Result;
use clap::{CommandFactory, Parser, Subcommand};

/// In a debug build an allocation inside a real-time section ends the program; a release build
/// counts it.
#[global_allocator]
static ALLOCATOR: rt::guard::GuardedAllocator = rt::guard::GuardedAllocator::system();

/// Android applications in real time on ordinary Linux.
#[derive(Parser)]
#[command(name = "takt", version, max_term_width = 100)]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
#[allow(clippy::large_enum_variant, reason = "there is one of it in a process")]
enum Command {
    Adb(system::adb::Args),
    Admit(admit::Args),
    Am(system::am::Args),
    Apk(apk::Args),
    Bench(bench::Args),
    Compile(compile::Args),
    Completions(manual::CompletionArgs),
    Dex(dex::Args),
    Doctor(doctor::Args),
    Dumpsys(system::verbs::DumpsysArgs),
    Install(system::verbs::InstallArgs),
    Java(java::Args),
    Lab(lab::Args),
    Latency(latency::Args),
    Logcat(system::verbs::LogcatArgs),
    Man(manual::ManArgs),
    Ps(system::verbs::PsArgs),
    Resolve(resolve::Args),
    Run(run::Args),
    System(system::Args),
    Uninstall(system::verbs::UninstallArgs),
    #[command(hide = true)]
    App(system::app::Args),
    #[command(hide = true)]
    GiveBackFrequency(frequency::Args),
    #[command(hide = true)]
    Load(load::Args),
}

/// What a command ends with when it could not do its work: the shell's own "misuse" code, as
/// clap's.
const EXIT_FAILED: u8 = 2;

fn main() -> ExitCode {
    // A reader that closes the pipe, such as `head`, ends us as it ends any filter.
    rt::process::die_on_broken_pipe();
    // Its arguments are the launcher's, and a description of all commands takes a millisecond.
    let outcome = match java::Args::of_command_line(std::env::args_os()) {
        Some(args) => java::run(&args),
        None => run(Args::parse().command),
    };
    match outcome {
        Ok(code) => code,
        Err(error) => {
            eprintln!("takt: {error:#}");
            ExitCode::from(EXIT_FAILED)
        }
    }
}

fn run(command: Command) -> Result<ExitCode> {
    match command {
        Command::Adb(args) => system::adb::run(&args),
        Command::Admit(args) => admit::run(&args),
        Command::Am(args) => system::am::run(&args),
        Command::App(args) => system::app::run(&args),
        Command::Apk(args) => apk::run(&args),
        Command::Bench(args) => bench::run(&args),
        Command::Compile(args) => compile::run(&args),
        Command::Completions(args) => manual::completions(&args, Args::command()),
        Command::Dex(args) => dex::run(&args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Dumpsys(args) => system::verbs::dumpsys(&args),
        Command::GiveBackFrequency(args) => frequency::run(&args),
        Command::Install(args) => system::verbs::install(&args),
        Command::Java(args) => java::run(&args),
        Command::Lab(args) => lab::run(args),
        Command::Latency(args) => latency::run(&args),
        Command::Logcat(args) => system::verbs::logcat(&args),
        Command::Man(args) => manual::man(&args, Args::command()),
        Command::Ps(args) => system::verbs::ps(&args),
        Command::Resolve(args) => resolve::run(&args),
        Command::Run(args) => run::run(&args),
        Command::System(args) => system::run(&args),
        Command::Uninstall(args) => system::verbs::uninstall(&args),
        Command::Load(args) => load::run(&args),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn without_example(command: &clap::Command, found: &mut Vec<String>) {
        for it in command.get_subcommands().filter(|it| !it.is_hide_set()) {
            let help = it.clone().render_long_help().to_string();
            if !it.has_subcommands() && !help.contains("Example") {
                found.push(it.get_name().to_owned());
            }
            without_example(it, found);
        }
    }

    #[test]
    fn every_command_shows_an_example() {
        let command = Args::command();
        command.clone().debug_assert();
        let mut found = Vec::new();
        without_example(&command, &mut found);
        assert_eq!(found, Vec::<String>::new());
    }
}
