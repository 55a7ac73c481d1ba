// SPDX-License-Identifier: Apache-2.0
//! The experiment in a deterministic guest: one processor, Debian's standard kernel, the virtual
//! cpufreq driver. The guest runs this program itself.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use lab::{Flavour, Job, Mode, ModuleRequest, RtcSource};

use super::Level;
use crate::bench::calls::guest::Guests;

/// A guest whose threads wait for each other would never end.
const TIME_MAX: Duration = Duration::from_secs(1_800);

/// What the guest found.
pub(super) fn measure(iterations: u32) -> Result<Vec<Level>> {
    let own = std::env::current_exe().context("cannot find this program's own file")?;
    let mut command: Vec<OsString> = vec![own.into()];
    command.extend(["bench", "freq", "--json", "--iterations"].map(OsString::from));
    command.push(iterations.to_string().into());
    let job = Job {
        command,
        directory: PathBuf::from("/"),
        mode: Mode::Deterministic,
        kernel: Flavour::Standard,
        cpu_count: 1,
        memory_mib: None,
        modules: vec![driver(Flavour::Standard)?],
        with: Vec::new(),
        java_modules: String::new(),
        environment: Vec::new(),
        out: None,
        seed: 1,
        time_limit: Some(TIME_MAX),
        rtc: RtcSource::Virtual,
        console: None,
    };
    let found = Guests::standard()?.sweep_job::<Vec<Level>>(&job, 1)?;
    let (_, levels) = found.into_iter().next().context("no guest")?;
    Ok(levels)
}

/// Where `cargo xtask kernel` leaves the virtual driver: beside this program's own folder.
pub(crate) fn driver(kernel: Flavour) -> Result<ModuleRequest> {
    let folder = match kernel {
        Flavour::Standard => "standard",
        Flavour::Rt => "rt",
    };
    let own = std::env::current_exe().context("cannot find this program's own file")?;
    let target = own.parent().and_then(Path::parent);
    let file = target.map(|it| {
        it.join("kernel/frequency")
            .join(folder)
            .join("takt_cpufreq.ko")
    });
    match file {
        Some(file) if file.is_file() => Ok(ModuleRequest {
            name: "takt_cpufreq".to_owned(),
            file: Some(file),
            parameters: String::new(),
        }),
        _ => bail!("the virtual cpufreq driver is not built: `cargo xtask kernel` builds it"),
    }
}
