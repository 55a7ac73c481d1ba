// SPDX-License-Identifier: Apache-2.0
//! Another Binder library, rsbinder: its programs that speak with ours, and its own tests. It is
//! built apart from the workspace, into target/peers.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use cargo_metadata::MetadataCommand;

use crate::kernel;
use crate::programs;
use crate::stage::{cargo_command, command, takt, target_dir};
use crate::test::{STOCK, driver_tests};

const MANIFEST: &str = "tests/peers/Cargo.toml";
const LIBRARY: &str = "rsbinder";

/// rsbinder's programs.
struct Programs {
    peer: PathBuf,
    hub: PathBuf,
}

fn cargo(words: &[&str]) -> Command {
    let mut cargo = cargo_command();
    cargo.args(words).args(["--locked", "--quiet"]);
    cargo
}

fn place() -> Result<PathBuf> {
    Ok(target_dir()?.join("peers"))
}

fn programs() -> Result<Programs> {
    let place = place()?;
    for package in [
        &["--package", "takt-peers"][..],
        &["--package", "rsbinder-tools", "--bin", "rsb_hub"],
    ] {
        let mut cargo = cargo(&["build", "--manifest-path", MANIFEST]);
        command(cargo.args(package).arg("--target-dir").arg(&place))?;
    }
    Ok(Programs {
        peer: place.join("debug/takt-peers"),
        hub: place.join("debug/rsb_hub"),
    })
}

/// Our library and theirs in a guest, over the extended driver.
pub(crate) fn in_lab() -> Result<()> {
    let module = kernel::build()?;
    over(
        module.to_str().context("a path that is not UTF-8")?,
        "extended",
    )
}

/// The same over Debian's driver.
pub(crate) fn over_stock_in_lab() -> Result<()> {
    over(STOCK, "stock")
}

fn over(module: &str, driver: &str) -> Result<()> {
    let Programs { peer, hub } = programs()?;
    let program = programs::path("binder", "peers")?;
    takt()?;
    let pairs = [
        format!("TAKT_TEST_PEER={}", peer.display()),
        format!("TAKT_TEST_HUB={}", hub.display()),
        format!("TAKT_TEST_DRIVER={driver}"),
    ];
    let mut options = vec!["--cpus", "2"];
    options.extend(pairs.iter().flat_map(|it| ["--env", it]));
    driver_tests(module, program, &options, &[])
}

/// rsbinder's own tests that need the driver, or no other process, over the extended one.
pub(crate) fn own_tests_in_lab() -> Result<()> {
    let module = kernel::build()?;
    let Programs { peer, hub } = programs()?;
    let tests = own_tests()?;
    let script = std::fs::canonicalize("tests/peers/suite.sh")?;
    let guest = std::fs::canonicalize("kernel/tests/guest.sh")?;
    command(
        Command::new(takt()?)
            .args(["lab", "--quiet", "--timeout", "1200s", "--cpus", "2"])
            .arg("--module")
            .arg(module)
            .arg("--")
            .args([guest, script, hub, peer])
            .args(tests),
    )
}

/// Builds them from the package as it was published, which has its own lock file.
fn own_tests() -> Result<Vec<PathBuf>> {
    let metadata = MetadataCommand::new().manifest_path(MANIFEST).exec()?;
    let package = metadata.packages.iter().find(|it| *it.name == LIBRARY);
    let package = package.context("rsbinder is not what tests/peers is made of")?;
    let published = package.manifest_path.parent().context("a folder")?;
    let place = place()?;
    let copy = place.join(format!("{LIBRARY}-{}", package.version));
    if !copy.join("Cargo.toml").exists() {
        std::fs::create_dir_all(&place)?;
        command(Command::new("cp").args(["-r"]).arg(published).arg(&copy))?;
        close(&copy.join("Cargo.toml"))?;
    }
    let mut cargo = cargo(&["test", "--no-run", "--lib", "--test", "parcel_alloc"]);
    cargo.arg("--manifest-path").arg(copy.join("Cargo.toml"));
    cargo.arg("--target-dir").arg(place.join("own"));
    Ok(programs::built(cargo)?
        .into_iter()
        .map(|it| it.path)
        .collect())
}

/// Below this folder Cargo would take it for one of our own packages.
fn close(manifest: &Path) -> Result<()> {
    let text = std::fs::read_to_string(manifest)?;
    Ok(std::fs::write(manifest, format!("{text}\n[workspace]\n"))?)
}
