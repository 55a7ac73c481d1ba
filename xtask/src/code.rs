// SPDX-License-Identifier: Apache-2.0
//! Compiled code that is delivered with the build: no user's first start compiles the class library
//! or the framework.
//!
//! Applications run, alone and under `takt system`, and what they ran is kept. Some also have the
//! rest of the classes compiled that they loaded, for applications that the build never sees. Then
//! the store gets its place in memory and takes the place of the older one; nobody writes to it
//! from there on.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::inputs::Inputs;
use crate::stage::{command, target_dir};

/// What runs: words after `takt`, with `APPS` for the folder of packages, and options besides.
/// Other examples, and packages of tests/apps but `life` and `widgets`, are left out, so that tests
/// can start ones that the build never ran.
const RUNS: [(&str, &str); 6] = [
    ("run APPS/pulse.apk --for 2s", ""),
    (
        "run APPS/heartbeat.apk --service .Heartbeat --extra beats=50",
        "",
    ),
    ("java tests/java/Lambdas.java", ""),
    (
        "run APPS/widgets.apk --tap 60,118 --tap 200,166 --text a",
        "",
    ),
    ("run APPS/life.apk --for 2s", COMPILE_LOADED),
    (
        "run APPS/heartbeat.apk --service .Heartbeat --for 2s",
        COMPILE_LOADED,
    ),
];
/// What runs beside each other: a package's file, its name, and the words that start it.
const BESIDE: [(&str, &str, &str); 2] = [
    (
        "heartbeat.apk",
        "org.example.heartbeat",
        "am startservice -n org.example.heartbeat/.Heartbeat",
    ),
    (
        "life.apk",
        "org.example.life",
        "am start -n org.example.life/.First",
    ),
];
/// For whatever a busy machine does.
const WAIT: Duration = Duration::from_secs(100);
const LOOK: Duration = Duration::from_millis(100);
/// In which a process that runs does all that it does at first.
const SETTLE: Duration = Duration::from_secs(2);
/// What runs at last, with `HELLO` for the folder of the smallest program: the code of each is kept
/// once more, in a file of its own that is looked into first, that of the last one before all.
const STARTS: [&str; 2] = [
    "run APPS/heartbeat.apk --service .Heartbeat --extra beats=50",
    "java -cp HELLO Hello",
];
const GATHER: &str = "-Xtakt:gather-code";
/// All methods of the classes that were loaded, at the end.
const COMPILE_LOADED: &str = "-Xtakt:compile-loaded";
/// What the machine says where it gives up writing.
const NOT_KEPT: &str = "code is not kept in";
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
    println!(
        "code: compiles the class library and the framework for all applications (two minutes)"
    );
    let making = takt.with_file_name("code.making");
    remove(&making)?;
    std::fs::create_dir(&making)?;
    let data = tempfile::tempdir()?;
    let mut javac = Command::new("javac");
    javac.arg("-d").arg(hello(data.path()));
    command(javac.arg("tests/java/Hello.java"))?;
    for (words, option) in RUNS {
        run(takt, words, option, (&making, data.path()))?;
    }
    run_beside(takt, &making, data.path())?;
    for words in STARTS {
        run(takt, words, GATHER, (&making, data.path()))?;
    }
    let mut install = Command::new(takt);
    install.args(["compile", "--install"]).arg(&making);
    if !install.status()?.success() {
        bail!("the store of compiled code was not installed");
    }
    // A start meanwhile finds the older store, or none for a moment: its processes have it mapped.
    let older = takt.with_file_name("code.older");
    remove(&older)?;
    inputs.begin()?;
    if delivered.exists() {
        std::fs::rename(&delivered, &older)?;
    }
    std::fs::rename(&making, &delivered)?;
    inputs.end()?;
    remove(&older)
}

fn run(takt: &Path, words: &str, option: &str, (store, data): (&Path, &Path)) -> Result<()> {
    let apps = target_dir()?.join("framework/apps");
    // Confined, an application could not write to a store that is not its user's.
    let words = words
        .replace("APPS", &apps.to_string_lossy())
        .replace("HELLO", &hello(data).to_string_lossy())
        .replace("run ", "run --sandbox none --anr 100s ");
    let store = store.display();
    let options = format!("-Xtakt:no-code-library -Xtakt:code-cache={store} {option}");
    let output = Command::new(takt)
        .args(words.split(' '))
        .env(OPTIONS, options)
        .env("XDG_DATA_HOME", data)
        .output()
        .context("cannot start takt")?;
    let said = String::from_utf8_lossy(&output.stderr);
    // A store that lacks what did not fit would look whole.
    if !output.status.success() || said.contains(NOT_KEPT) {
        bail!("takt {words}: {}\n{said}", output.status);
    }
    Ok(())
}

fn hello(data: &Path) -> PathBuf {
    data.join("hello")
}

/// Under the system server, where other code links a process to the rest.
fn run_beside(takt: &Path, store: &Path, data: &Path) -> Result<()> {
    let option = |it: &str| format!("--java-option={it}");
    let socket = data.join("socket");
    let mut server = Command::new(takt);
    server
        .args(["system", "--sandbox=none", "--start=100s", "--anr=100s"])
        .arg(option("-Xtakt:no-code-library"))
        .arg(option(&format!("-Xtakt:code-cache={}", store.display())))
        .arg("--state")
        .arg(data.join("state"))
        .env("TAKT_SYSTEM", &socket)
        .stderr(Stdio::null());
    let _server = Ended(server.spawn().context("cannot start takt system")?);
    let said = |words: &[&str]| -> Result<String> {
        let mut command = Command::new(takt);
        let output = command.args(words).env("TAKT_SYSTEM", &socket).output()?;
        let error = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "takt {words:?}: {error}");
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    };
    until("takt system begins", || Ok(socket.exists()))?;
    let apps = target_dir()?.join("framework/apps");
    for (name, package, words) in BESIDE {
        let file = apps.join(name);
        said(&["install", file.to_str().context("a path that is no text")?])?;
        let words: Vec<&str> = words.split(' ').collect();
        said(&words)?;
        until(package, || {
            let all = said(&["ps"])?;
            let is_running = |it: &str| it.contains(package) && it.contains("running");
            Ok(all.lines().any(is_running))
        })?;
    }
    sleep(SETTLE);
    Ok(())
}

/// Its processes end with it.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        // One that has just ended is no fault.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn until(what: &str, is_so: impl Fn() -> Result<bool>) -> Result<()> {
    let end = Instant::now() + WAIT;
    while !is_so()? {
        ensure!(Instant::now() < end, "{what}: not within {WAIT:?}");
        sleep(LOOK);
    }
    Ok(())
}

fn remove(folder: &Path) -> Result<()> {
    match folder.exists() {
        true => Ok(std::fs::remove_dir_all(folder)?),
        false => Ok(()),
    }
}
