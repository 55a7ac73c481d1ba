// SPDX-License-Identifier: Apache-2.0
//! Android applications of this tree, built as an application developer would: javac, D8, aapt2, zipalign, apksigner.
//! Each folder of examples/ and tests/apps/ becomes target/framework/apps/NAME.apk, with its class files beside it.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::framework::{jar, sources};
use crate::stage::command;

/// Folders of applications.
const PARENTS: [&str; 2] = ["examples", "tests/apps"];
/// A key for tests, not a secret.
const PASSWORD: &str = "takt-test";

/// What an application is built against.
pub(crate) struct Apps<'a> {
    /// target/framework.
    pub(crate) out: &'a Path,
    /// Our own classes that an application may use.
    pub(crate) classes: &'a Path,
    /// javax.realtime, which the machine has at run time.
    pub(crate) realtime_api: &'a Path,
    /// Of those, what belongs to the real-time queue.
    pub(crate) realtime: &'a Path,
    /// AOSP's classes and resources.
    pub(crate) android: &'a Path,
}

impl Apps<'_> {
    /// Builds all of them.
    pub(crate) fn build(&self) -> Result<()> {
        let apps = self.out.join("apps");
        if apps.exists() {
            std::fs::remove_dir_all(&apps)?;
        }
        std::fs::create_dir_all(&apps)?;
        let key = apps.join("test.p12");
        command(
            Command::new("keytool")
                .args(["-genkeypair", "-alias", "test", "-keyalg", "RSA"])
                .args(["-dname", "CN=Takt tests", "-validity", "36500"])
                .args(["-storepass", PASSWORD, "-keystore"])
                .arg(&key)
                .stderr(std::process::Stdio::null()),
        )?;
        for parent in PARENTS {
            let entries = std::fs::read_dir(parent).with_context(|| format!("no {parent}"))?;
            for entry in entries {
                let source = entry?.path();
                if source.join("AndroidManifest.xml").exists() {
                    self.app(&source, &apps, &key)?;
                }
            }
        }
        Ok(())
    }

    fn app(&self, source: &Path, apps: &Path, key: &Path) -> Result<()> {
        let name = source.file_name().context("a folder has a name")?;
        let work = apps.join(name);
        let classes = work.join("classes");
        std::fs::create_dir_all(&classes)?;
        let path =
            std::env::join_paths([self.realtime, self.classes, self.realtime_api, self.android])?;
        let mut javac = Command::new("javac");
        javac
            .args(["--release", "17", "-Xlint:all,-classfile,-path", "-Werror"])
            .arg("-cp")
            .arg(path)
            .arg("-d")
            .arg(&classes);
        command(javac.args(sources(&source.join("src"))?))?;
        self.dex(&classes, &work)?;
        let linked = work.join("linked.apk");
        let mut aapt = Command::new("aapt2");
        aapt.arg("link").arg("-I").arg(self.android);
        aapt.arg("--manifest")
            .arg(source.join("AndroidManifest.xml"));
        command(
            aapt.arg("-o")
                .arg(&linked)
                .stderr(std::process::Stdio::null()),
        )?;
        let mut jar = Command::new("jar");
        jar.args(["--update", "--no-manifest", "--file"])
            .arg(&linked);
        command(jar.arg("-C").arg(&work).arg("classes.dex"))?;
        let aligned = work.join("aligned.apk");
        command(Command::new("zipalign").arg("4").arg(&linked).arg(&aligned))?;
        let apk = apps.join(name).with_extension("apk");
        let mut signer = Command::new("apksigner");
        signer.args(["sign", "--ks-pass", &format!("pass:{PASSWORD}"), "--ks"]);
        command(signer.arg(key).arg("--out").arg(apk).arg(&aligned))
    }

    fn dex(&self, classes: &Path, out: &Path) -> Result<()> {
        let files = files(classes)?;
        let mut d8 = Command::new("java");
        d8.arg("-cp")
            .arg(jar("r8-")?)
            .arg("com.android.tools.r8.D8")
            .args(["--release", "--min-api", "26", "--lib"])
            .arg(java_home()?)
            .arg("--lib")
            .arg(self.android)
            .arg("--classpath")
            .arg(self.realtime)
            .arg("--classpath")
            .arg(self.classes)
            .arg("--classpath")
            .arg(self.realtime_api);
        command(d8.arg("--output").arg(out).args(files))
    }
}

/// The JDK whose `java` is on the path: D8 takes java.* from there.
fn java_home() -> Result<PathBuf> {
    let output = Command::new("java")
        .args(["-XshowSettings:properties", "-version"])
        .output()?;
    let text = String::from_utf8_lossy(&output.stderr);
    let home = text
        .lines()
        .find_map(|line| line.trim().strip_prefix("java.home = "));
    Ok(home.context("java names no java.home")?.into())
}

/// Every class file below a folder.
fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(files(&path)?);
        } else {
            found.push(path);
        }
    }
    Ok(found)
}
