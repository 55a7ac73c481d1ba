// SPDX-License-Identifier: Apache-2.0
//! Android applications of this tree, built as an application developer would: javac, D8, aapt2,
//! zipalign, apksigner. Each folder of examples/ and tests/apps/ becomes
//! target/framework/apps/NAME.apk, with its class files beside it.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::framework::{jar, sources};
use crate::jdk;
use crate::stage::command;

/// Folders of applications.
const PARENTS: [&str; 2] = ["examples", "tests/apps"];
/// A key for tests, not a secret.
const PASSWORD: &str = "takt-test";

/// The user's key, as Android's developers have one for all their trees. It lies beside the data
/// folders, for each of those belongs to a signer.
fn key() -> Result<PathBuf> {
    let home = |name| std::env::var_os(name).map(PathBuf::from);
    let data = match home("XDG_DATA_HOME") {
        Some(data) => data,
        None => home("HOME")
            .context("HOME is not set")?
            .join(".local/share"),
    };
    let folder = data.join("takt");
    let key = folder.join("test.p12");
    if key.exists() {
        return Ok(key);
    }
    std::fs::create_dir_all(&folder)?;
    let work = tempfile::tempdir_in(&folder)?;
    let made = work.path().join("test.p12");
    command(
        Command::new("keytool")
            .args(["-genkeypair", "-alias", "test", "-keyalg", "RSA"])
            .args(["-dname", "CN=Takt tests", "-validity", "36500"])
            .args(["-storepass", PASSWORD, "-keystore"])
            .arg(&made)
            .stderr(std::process::Stdio::null()),
    )?;
    match std::fs::hard_link(&made, &key) {
        // Another tree's build was faster.
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error.into()),
        _ => Ok(key),
    }
}

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
    /// AOSP's classes.
    pub(crate) android: &'a Path,
    /// AOSP's manifest and resources, as aapt2 reads them.
    pub(crate) link: &'a Path,
    /// Where the libraries are that applications' own code is linked to.
    pub(crate) machine: &'a Path,
}

impl Apps<'_> {
    /// Builds all of them.
    pub(crate) fn build(&self) -> Result<()> {
        let apps = self.out.join("apps");
        if apps.exists() {
            std::fs::remove_dir_all(&apps)?;
        }
        std::fs::create_dir_all(&apps)?;
        let key = key()?;
        let mut sources = Vec::new();
        for parent in PARENTS {
            let entries = std::fs::read_dir(parent).with_context(|| format!("no {parent}"))?;
            for entry in entries {
                let source = entry?.path();
                if source.join("AndroidManifest.xml").exists() {
                    sources.push(source);
                }
            }
        }
        // Each step of one waits for the last, mostly alone.
        let (left, rest) = sources.split_at(sources.len() / 2);
        let build = |part: &[PathBuf]| part.iter().try_for_each(|it| self.app(it, &apps, &key));
        std::thread::scope(|scope| {
            let beside = scope.spawn(|| build(left));
            build(rest)?;
            beside.join().expect("a build does not panic")
        })
    }

    fn app(&self, source: &Path, apps: &Path, key: &Path) -> Result<()> {
        let name = source.file_name().context("a folder has a name")?;
        let work = apps.join(name);
        std::fs::create_dir_all(&work)?;
        let mut entries = Vec::new();
        let more = work.join("more");
        if source.join("more").exists() {
            // A second DEX file, which the first one uses.
            self.javac(&source.join("more"), &more, &[])?;
            self.dex(&more, &more, &[])?;
        }
        // A package may be its manifest alone.
        if source.join("src").exists() {
            let classes = work.join("classes");
            self.javac(&source.join("src"), &classes, &[&more])?;
            self.dex(&classes, &work, &[&more])?;
            entries.push("classes.dex");
        }
        if more.exists() {
            // After D8, which empties its directory of DEX files.
            std::fs::rename(more.join("classes.dex"), work.join("classes2.dex"))?;
            entries.push("classes2.dex");
        }
        if source.join("native").exists() {
            self.library(&source.join("native"), &work.join("lib/x86_64"))?;
            entries.push("lib");
        }
        let linked = work.join("linked.apk");
        let mut aapt = Command::new("aapt2");
        aapt.arg("link").arg("-I").arg(self.link);
        aapt.arg("--manifest")
            .arg(source.join("AndroidManifest.xml"));
        if source.join("res").exists() {
            let compiled = work.join("res.zip");
            let mut compile = Command::new("aapt2");
            compile.args(["compile", "--dir"]).arg(source.join("res"));
            command(compile.arg("-o").arg(&compiled))?;
            aapt.arg(compiled);
        }
        let assets = source.join("assets");
        if assets.exists() {
            aapt.arg("-A").arg(assets);
        }
        command(
            aapt.arg("-o")
                .arg(&linked)
                .stderr(std::process::Stdio::null()),
        )?;
        if !entries.is_empty() {
            let mut jar = jdk::tool("jar");
            jar.args(["--update", "--no-manifest", "--file"])
                .arg(&linked);
            for entry in entries {
                jar.arg("-C").arg(&work).arg(entry);
            }
            command(&mut jar)?;
        }
        let aligned = work.join("aligned.apk");
        command(Command::new("zipalign").arg("4").arg(&linked).arg(&aligned))?;
        let apk = apps.join(name).with_extension("apk");
        let mut signer = jdk::signer();
        signer.args(["sign", "--ks-pass", &format!("pass:{PASSWORD}"), "--ks"]);
        command(signer.arg(key).arg("--out").arg(apk).arg(&aligned))
    }

    fn javac(&self, folder: &Path, out: &Path, more: &[&Path]) -> Result<()> {
        std::fs::create_dir_all(out)?;
        let path = [self.realtime, self.classes, self.realtime_api, self.android]
            .into_iter()
            .chain(more.iter().copied());
        let mut javac = jdk::tool("javac");
        javac
            .args(["--release", "17", "-Xlint:all,-classfile,-path", "-Werror"])
            .arg("-cp")
            .arg(std::env::join_paths(path)?)
            .arg("-d")
            .arg(out);
        command(javac.args(sources(folder)?))
    }

    fn dex(&self, classes: &Path, out: &Path, more: &[&Path]) -> Result<()> {
        let files = files(classes)?;
        let mut d8 = jdk::java();
        d8.arg("-cp")
            .arg(jar("r8")?)
            .arg("com.android.tools.r8.D8")
            .args(["--release", "--min-api", "26", "--lib"])
            .arg(jdk::home()?)
            .arg("--lib")
            .arg(self.android)
            .arg("--classpath")
            .arg(self.realtime)
            .arg("--classpath")
            .arg(self.classes)
            .arg("--classpath")
            .arg(self.realtime_api);
        for part in more.iter().filter(|it| it.exists()) {
            d8.arg("--classpath").arg(part);
        }
        command(d8.arg("--output").arg(out).args(files))
    }

    /// Each C file becomes a library of its own, which names AAudio or mathematics if it uses them.
    fn library(&self, folder: &Path, out: &Path) -> Result<()> {
        std::fs::create_dir_all(out)?;
        let jni = jdk::home()?.join("include");
        for entry in std::fs::read_dir(folder)? {
            let source = entry?.path();
            let stem = source.file_stem().context("a file has a name")?;
            let file = format!("lib{}.so", stem.to_string_lossy());
            let mut cc = Command::new("cc");
            cc.args([
                "-shared",
                "-fPIC",
                "-O2",
                "-Wall",
                "-Werror",
                "-Wl,--as-needed",
            ]);
            cc.arg("-I").arg(&jni).arg("-I").arg(jni.join("linux"));
            cc.args(["-I", "crates/aaudio/include", "-o"]);
            cc.arg(out.join(file)).arg(&source);
            command(cc.arg("-L").arg(self.machine).args(["-laaudio", "-lm"]))?;
        }
        Ok(())
    }
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
