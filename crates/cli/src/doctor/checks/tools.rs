// SPDX-License-Identifier: Apache-2.0
//! Programs that Takt works with.

use std::process::{Command, Stdio};

use crate::doctor::finding::Finding;
use crate::jdk::Jdk;

pub(super) fn jdk() -> Finding {
    const NAME: &str = "JDK";
    match Jdk::find() {
        Ok(jdk) => Finding::fit(
            NAME,
            format!("{} in {}", jdk.version, jdk.home.display()),
            "its class library is the one that applications run on",
        ),
        Err(error) => Finding::remark(NAME, "no JDK 17", &error.to_string())
            .mend("apt-get install openjdk-17-jdk-headless"),
    }
}

/// A picture and a browser work on every machine.
pub(super) fn screens() -> Finding {
    let mut works = vec!["picture", "web"];
    let mut why = "where `takt run --screen` can show an application's windows".to_owned();
    match wayland::probe() {
        Ok(()) => works.push("wayland"),
        Err(fault) => why += &format!("; not wayland: {fault}"),
    }
    match console::probe() {
        Ok((card, (width, height))) => {
            works.push("drm");
            why += &format!("; drm: {}, {width}x{height}", card.display());
        }
        Err(fault) => why += &format!("; not drm: {fault}"),
    }
    Finding::fit("screens", works.join(", "), &why)
}

pub(super) fn qemu() -> Finding {
    const NAME: &str = "QEMU";
    let output = Command::new("qemu-system-x86_64")
        .arg("--version")
        .stdin(Stdio::null())
        .output();
    let text = output
        .map(|it| String::from_utf8_lossy(&it.stdout).into_owned())
        .unwrap_or_default();
    match text
        .lines()
        .next()
        .and_then(|line| line.split("version ").nth(1))
    {
        Some(version) => Finding::fit(NAME, version, "`takt lab` can run guests"),
        None => Finding::remark(
            NAME,
            "not found",
            "`takt lab` needs it to run guests on other kernels",
        )
        .mend("apt-get install qemu-system-x86"),
    }
}
