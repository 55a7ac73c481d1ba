// SPDX-License-Identifier: Apache-2.0
//! [`Framework`]: the Java side as `cargo xtask framework` has built it, and how a JVM is started
//! with it.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// A directory of compiled classes, natives and resources, and the jar of AOSP's classes.
pub(crate) struct Framework {
    place: PathBuf,
    android: PathBuf,
}

/// What of AOSP's jar travels into a guest; beside the rest.
const LAB_JAR: &str = "android-lab.jar";

/// Folders of classes that stand in front of AOSP's.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Front {
    /// None: AOSP's own queue.
    Aosp,
    /// Takt's message queue.
    Realtime,
    /// Takt's message queue, and what replaces a screen.
    Hosted,
    /// Takt's message queue and AOSP's own windows.
    Shown,
    /// As Aosp and Realtime, over the few of AOSP's classes that loopers need: a guest's memory is
    /// no place for all.
    AospInLab,
    RealtimeInLab,
    /// As RealtimeInLab, and before it [`SUPPORT`].
    SupportInLab,
}

/// The support library's own LocalBroadcastManager, for an experiment.
pub(crate) const SUPPORT: &str = "support-v4";

impl Framework {
    /// At a place, or at target/framework beside the directory that this program was built in.
    pub(crate) fn find(place: Option<&Path>) -> Result<Self> {
        let place = match place {
            Some(place) => place.to_owned(),
            None => default_place()?,
        };
        let note = place.join("android-all.path");
        let android = std::fs::read_to_string(&note).with_context(|| {
            let note = note.display();
            format!("cannot read {note}: run `cargo xtask framework`")
        })?;
        let android = PathBuf::from(android.trim());
        Ok(Self { place, android })
    }

    /// All that a process with it reads: the folder, and AOSP's jar.
    pub(crate) fn places(&self) -> Vec<PathBuf> {
        vec![self.place.clone(), self.android.clone()]
    }

    /// The package of the framework's own resources.
    pub(crate) fn resources(&self) -> PathBuf {
        self.place.join("framework-res.apk")
    }

    /// What that package declares.
    pub(crate) fn manifest(&self) -> Result<apk::Manifest> {
        let file = self.resources();
        let bytes =
            std::fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?;
        let package = apk::Apk::parse(&bytes);
        let package = package.map_err(|it| anyhow::anyhow!("{}: {it}", file.display()))?;
        Ok(package.manifest)
    }

    /// Our native methods.
    pub(crate) fn natives(&self) -> PathBuf {
        self.place.join("libnatives.so")
    }

    /// A folder beside what was built.
    pub(crate) fn folder(&self, name: &str) -> PathBuf {
        self.place.join(name)
    }

    /// Options of the `java` command.
    pub(crate) fn options(&self, front: Front) -> Result<Vec<OsString>> {
        let folders: &[&str] = match front {
            Front::Aosp | Front::AospInLab => &["redirected", "classes"],
            Front::Realtime | Front::RealtimeInLab | Front::Shown => {
                &["realtime", "redirected", "classes"]
            }
            Front::SupportInLab => &[SUPPORT, "realtime", "redirected", "classes"],
            Front::Hosted => &["headless", "realtime", "redirected", "classes"],
        };
        let mut path: Vec<PathBuf> = folders.iter().map(|it| self.place.join(it)).collect();
        path.push(match front {
            Front::AospInLab | Front::RealtimeInLab | Front::SupportInLab => {
                self.place.join(LAB_JAR)
            }
            _ => self.android.clone(),
        });
        let option = |start: &str, file: &str| {
            let mut option = OsString::from(start);
            option.push(self.place.join(file));
            option
        };
        let path = std::env::join_paths(path)?;
        let mut options = vec![
            option("-Djava.library.path=", "lib"),
            option("-Dtakt.natives=", "libnatives.so"),
            android(&path),
        ];
        if matches!(front, Front::Hosted | Front::Shown) {
            // AOSP's own library: graphics, resources, SQLite.
            options.push(option("-Dtakt.host=", "host"));
        }
        if front == Front::Shown {
            options.push("-Dtakt.screen=picture".into());
        }
        options.extend(["-cp".into(), path]);
        Ok(options)
    }
}

/// Says that the classes of a path were written for ART.
pub(crate) fn android(path: &OsStr) -> OsString {
    let mut option = OsString::from("-Dtakt.android.path=");
    option.push(path);
    option
}

fn default_place() -> Result<PathBuf> {
    let program = std::env::current_exe().context("cannot find this program's own file")?;
    let target = program
        .ancestors()
        .nth(2)
        .context("this program lies in no build directory")?;
    Ok(target.join("framework"))
}
