// SPDX-License-Identifier: Apache-2.0
//! Compiled code that is delivered with the build: no user's first start compiles the class library
//! or the framework.
//!
//! Applications run once, and what they ran is kept. The last one also has the rest of the classes
//! compiled that it loaded, for applications that the build never sees. Then the store gets its
//! place in memory and takes the place of the older one; nobody writes to it from there on.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::inputs::Inputs;
use crate::stage::target_dir;

/// What runs: words after `takt`, with `APPS` for the folder of packages. Packages of tests/apps
/// but `life` are left out, so that tests can start ones that the build never ran.
const RUNS: [&str; 5] = [
    "run APPS/pulse.apk --for 2s",
    "run APPS/heartbeat.apk --service .Heartbeat --for 20s",
    "run APPS/heartbeat.apk --service .Heartbeat --for 20s",
    "java tests/java/Lambdas.java",
    "run APPS/life.apk --for 2s",
];
/// For the last of them.
const COMPILE_LOADED: &str = "-Xtakt:compile-loaded";
/// The JDK's launcher reads options from it.
const OPTIONS: &str = "JDK_JAVA_OPTIONS";

/// Makes the store beside the machine, unless it was made from this machine and this framework.
pub(crate) fn build(takt: &Path) -> Result<()> {
    let target = target_dir()?;
    let delivered = takt.with_file_name("code");
    let own = std::env::current_exe()?;
    let machine = takt.with_file_name("libjvm.so");
    let framework = target.join("framework/inputs.txt");
    let inputs = Inputs::of(&delivered, &[&machine, &framework, &own])?;
    if inputs.are_built() {
        return Ok(());
    }
    println!("code: compiles the class library and the framework for all applications (a minute)");
    let making = takt.with_file_name("code.making");
    remove(&making)?;
    std::fs::create_dir(&making)?;
    let data = tempfile::tempdir()?;
    for (index, words) in RUNS.iter().enumerate() {
        let is_last = index + 1 == RUNS.len();
        run(takt, words, &making, data.path(), is_last)?;
    }
    let mut install = Command::new(takt);
    install.args(["compile", "--install"]).arg(&making);
    if !install.status()?.success() {
        bail!("the store of compiled code was not installed");
    }
    for file in files(&making)? {
        std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o444))?;
    }
    // Processes that run go on with the files that they have mapped.
    inputs.begin()?;
    remove(&delivered)?;
    std::fs::rename(&making, &delivered)?;
    inputs.end()
}

fn run(takt: &Path, words: &str, store: &Path, data: &Path, is_last: bool) -> Result<()> {
    let apps = target_dir()?.join("framework/apps");
    let words = words.replace("APPS", &apps.to_string_lossy());
    let store = store.display();
    let mut options = format!("-Xtakt:no-code-library -Xtakt:code-cache={store}");
    if is_last {
        options = format!("{options} {COMPILE_LOADED}");
    }
    let output = Command::new(takt)
        .args(words.split(' '))
        .env(OPTIONS, options)
        .env("XDG_DATA_HOME", data)
        .output()
        .context("cannot start takt")?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("takt {words}: {}\n{said}", output.status);
    }
    Ok(())
}

fn remove(folder: &Path) -> Result<()> {
    match folder.exists() {
        true => Ok(std::fs::remove_dir_all(folder)?),
        false => Ok(()),
    }
}

/// The files of all targets' folders.
fn files(store: &Path) -> Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    for folder in std::fs::read_dir(store)? {
        for file in std::fs::read_dir(folder?.path())? {
            all.push(file?.path());
        }
    }
    Ok(all)
}
