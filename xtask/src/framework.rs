// SPDX-License-Identifier: Apache-2.0
//! The Java side: compiles framework/ against AOSP's jar from the cache into target/framework, and
//! runs its tests on the installed JDK.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::api;
use crate::apps::Apps;
use crate::code;
use crate::fonts;
use crate::inputs::Inputs;
use crate::jdk;
use crate::stage::{command, takt, target_dir};

/// What tools/setup fetches, by Maven.
const POM: &str = "tools/maven/pom.xml";

/// Random scripts that AOSP's queue and ours must dispatch alike.
const SCRIPTS: &str = "200";

/// Libraries that AOSP's classes load by name; their methods are among our natives.
const LIBRARIES: [&str; 4] = [
    "libmedia_jni.so",
    "libstats_jni.so",
    "libframework-connectivity-jni.so",
    "libframework-connectivity-tiramisu-jni.so",
];

/// What AOSP's jar has for a host besides classes.
const HOST_FILES: [&str; 2] = [
    "native/linux/x86_64/libandroid_runtime.so",
    "icu/icudt75l.dat",
];
/// What an experiment runs beside ours.
const SUPPORT: [&str; 4] = [
    "android/support/v4/content/LocalBroadcastManager.class",
    "android/support/v4/content/LocalBroadcastManager$1.class",
    "android/support/v4/content/LocalBroadcastManager$BroadcastRecord.class",
    "android/support/v4/content/LocalBroadcastManager$ReceiverRecord.class",
];
const PRELOAD: &str = "framework/preload.txt";
/// Interfaces of tests, and which parcelables of AOSP's they name.
const AIDL: &str = "framework/test/aidl";
/// What an application's process and the system server say to each other.
const SYSTEM_AIDL: &str = "framework/aidl";

/// The JDK's own reader of class files, for our tools.
const ASM: [&str; 2] = [
    "--add-exports=java.base/jdk.internal.org.objectweb.asm=ALL-UNNAMED",
    "--add-exports=java.base/jdk.internal.org.objectweb.asm.commons=ALL-UNNAMED",
];

/// What was compiled, and what it runs with.
pub(crate) struct Built {
    /// The command, with its machine beside it.
    takt: PathBuf,
    /// Our classes and the tests that run over AOSP's queue as well.
    classes: PathBuf,
    /// javax.realtime and rtandroid.thread to compile against: at run time the machine has them.
    realtime_api: PathBuf,
    /// Our MessageQueue, which goes in front of AOSP's.
    realtime: PathBuf,
    /// Tests of what only our queue has.
    realtime_tests: PathBuf,
    /// What stands in front of AOSP's classes where there is no screen.
    headless: PathBuf,
    /// Copies of AOSP's classes without what the JDK lacks: always in front.
    redirected: PathBuf,
    /// Tools of this build.
    tools: PathBuf,
    /// Our natives under the names by which AOSP's classes load them.
    libraries: PathBuf,
    pub(crate) natives: PathBuf,
    /// AOSP's own native library, with its data.
    host: PathBuf,
    android: PathBuf,
    fonts: PathBuf,
    /// The support library that [`SUPPORT`] is of, and where that goes.
    support: PathBuf,
    support_classes: PathBuf,
    junit: PathBuf,
}

/// Compiles natives and Java, and what the machine makes of it for all applications.
pub(crate) fn build() -> Result<()> {
    let built = Built::new()?;
    code::build(&built.takt)
}

/// Compiles, runs every JUnit test over AOSP's queue and over ours, and compares the two on random
/// scripts.
pub(crate) fn test() -> Result<()> {
    let built = Built::new()?;
    api::check(&built)?;
    let (classes, realtime, tests) = (&built.classes, &built.realtime, &built.realtime_tests);
    println!("-- over AOSP's own MessageQueue");
    built.junit(&[classes], &[])?;
    println!("-- over Takt's MessageQueue");
    built.junit(&[classes, tests], &[realtime])?;
    let aosp = built.script(&[])?;
    let ours = built.script(&[realtime])?;
    let pairs = aosp.lines().zip(ours.lines());
    if let Some((aosp, ours)) = pairs.into_iter().find(|(aosp, ours)| aosp != ours) {
        bail!("the queues dispatch a script differently:\nAOSP's {aosp}\nours   {ours}");
    }
    let count = ours.lines().count();
    if aosp.lines().count() != count || count.to_string() != SCRIPTS {
        bail!("{count} of {SCRIPTS} scripts ended");
    }
    println!("{count} random scripts: AOSP's queue and ours dispatch alike");
    Ok(())
}

impl Built {
    pub(crate) fn new() -> Result<Self> {
        let takt = takt()?;
        let target = target_dir()?;
        let out = target.join("framework");
        let built = Self {
            takt,
            classes: out.join("classes"),
            realtime_api: out.join("javax-realtime.jar"),
            realtime: out.join("realtime"),
            realtime_tests: out.join("realtime-tests"),
            headless: out.join("headless"),
            tools: out.join("tools"),
            libraries: out.join("lib"),
            redirected: out.join("redirected"),
            natives: out.join("libnatives.so"),
            host: out.join("host"),
            android: jar("android-all")?,
            fonts: jar("nativeruntime-dist-compat")?,
            support: jar("support-v4")?,
            support_classes: out.join("support-v4"),
            junit: jar("junit-platform-console-standalone")?,
        };
        let natives = target.join("release/libnatives.so");
        let inputs = built.inputs(&out, &natives)?;
        if !inputs.are_built() {
            inputs.begin()?;
            println!("framework: compiles the Java side and the applications (two minutes)");
            built.make(&out, &natives)?;
            inputs.end()?;
        }
        Ok(built)
    }

    fn inputs(&self, out: &Path, natives: &Path) -> Result<Inputs> {
        // This program holds the steps.
        let own = std::env::current_exe()?;
        let wanted = fonts::note(out)?;
        let folders = [
            "framework",
            "crates/vm/java",
            "crates/aaudio/include",
            "examples",
            "tests/apps",
        ];
        let files = [
            natives,
            &self.android,
            &self.fonts,
            &self.support,
            &self.junit,
            &own,
            &wanted,
        ];
        let inputs: Vec<&Path> = folders.iter().map(Path::new).chain(files).collect();
        Inputs::of(out, &inputs)
    }

    fn make(&self, out: &Path, natives: &Path) -> Result<()> {
        for folder in [
            &self.classes,
            &self.realtime,
            &self.realtime_tests,
            &self.headless,
            &self.tools,
            &self.libraries,
            &self.redirected,
            &self.host,
            &self.support_classes,
        ] {
            if folder.exists() {
                std::fs::remove_dir_all(folder)?;
            }
            std::fs::create_dir_all(folder)?;
        }
        std::fs::copy(natives, &self.natives)?;
        for name in LIBRARIES {
            std::os::unix::fs::symlink(&self.natives, self.libraries.join(name))?;
        }
        self.note_android(out)?;
        self.archive_realtime(&out.join("javax-realtime"))?;
        self.compile()?;
        self.redirect()?;
        self.pack_resources(out)?;
        self.unpack_host(&self.host)?;
        let mut jar = jdk::tool("jar");
        jar.arg("--extract").arg("--file").arg(&self.support);
        command(jar.args(SUPPORT).current_dir(&self.support_classes))?;
        // What of AOSP's jar travels into a guest.
        self.trim("framework/jdk/lab.txt", &out.join("android-lab.jar"))?;
        let link = out.join("link.apk");
        let mut java = jdk::java();
        java.arg("-cp")
            .arg(&self.tools)
            .arg("takt.tools.PlainTable");
        command(java.arg(&self.android).arg(&link))?;
        self.list_changes()?;
        self.copy_preload()?;
        Apps {
            out,
            classes: &self.classes,
            realtime_api: &self.realtime_api,
            realtime: &self.realtime,
            android: &self.android,
            link: &link,
            machine: natives.parent().context("natives lie in a folder")?,
        }
        .build()
    }

    /// For `takt`, which knows no cache of Java artifacts: AOSP's jar under a name beside the rest.
    /// The cache may lie in a home, where an application's own user cannot read.
    fn note_android(&self, out: &Path) -> Result<()> {
        let near = out.join("android-all.jar");
        if near.exists() {
            std::fs::remove_file(&near)?;
        }
        if std::fs::hard_link(&self.android, &near).is_err() {
            std::fs::copy(&self.android, &near)?;
        }
        std::fs::write(out.join("android-all.path"), near.display().to_string())?;
        Ok(())
    }

    /// The jar of javax.realtime, whose sources are the machine's.
    fn archive_realtime(&self, classes: &Path) -> Result<()> {
        if classes.exists() {
            std::fs::remove_dir_all(classes)?;
        }
        javac(
            &["crates/vm/java/javax", "crates/vm/java/rtandroid"],
            &[],
            classes,
        )?;
        let mut jar = jdk::tool("jar");
        jar.args(["--create", "--file"]).arg(&self.realtime_api);
        command(jar.arg("-C").arg(classes).arg("."))
    }

    fn compile(&self) -> Result<()> {
        let (android, junit) = (&self.android, &self.junit);
        let api = &self.realtime_api;
        let stubs = stubs(&self.classes.with_file_name("stubs"))?;
        let stubs = stubs.to_str().context("a path that is no text")?;
        javac(
            &["framework/src", "framework/test", "framework/bench", stubs],
            &[android, junit, api],
            &self.classes,
        )?;
        javac(
            &["framework/realtime"],
            &[&self.classes, android, api],
            &self.realtime,
        )?;
        javac(
            &["framework/headless"],
            &[&self.classes, android],
            &self.headless,
        )?;
        let path = [&self.realtime, &self.classes, android, junit, api];
        javac(&["framework/realtime-test"], &path, &self.realtime_tests)
    }

    /// Copies of AOSP's classes without the calls that the JDK has no member for.
    fn redirect(&self) -> Result<()> {
        let mut javac = jdk::tool("javac");
        javac.args(ASM).arg("-d").arg(&self.tools);
        command(javac.args(sources(Path::new("framework/tools"))?))?;
        let mut java = jdk::java();
        java.args(ASM).arg("-cp").arg(&self.tools);
        java.arg("takt.tools.Redirect").arg(&self.android);
        command(
            java.arg("framework/jdk/redirects.txt")
                .arg(&self.redirected),
        )
    }

    /// The framework's own resources as a package: reading one must not mean looking through the
    /// whole jar, and its table is mapped as it lies there.
    fn pack_resources(&self, out: &Path) -> Result<()> {
        let loose = out.join("framework-res.loose");
        self.trim("framework/jdk/resources.txt", &loose)?;
        let packed = out.join("framework-res.apk");
        let mut align = Command::new("zipalign");
        command(align.args(["-f", "4"]).arg(&loose).arg(packed))?;
        Ok(std::fs::remove_file(loose)?)
    }

    /// Which of AOSP's changes wait for which target SDK, beside the class that asks.
    fn list_changes(&self) -> Result<()> {
        let mut java = jdk::java();
        java.arg("-cp").arg(&self.tools).arg("takt.tools.Changes");
        command(
            java.arg(&self.android)
                .arg(self.classes.join("takt/server/changes.txt")),
        )
    }

    /// What a template loads, beside the class that reads it.
    fn copy_preload(&self) -> Result<()> {
        let place = self.classes.join("takt/server/preload.txt");
        std::fs::copy(PRELOAD, &place).with_context(|| format!("cannot copy {PRELOAD}"))?;
        Ok(())
    }

    /// AOSP's native library for hosts, ICU's data, and fonts.
    fn unpack_host(&self, host: &Path) -> Result<()> {
        fonts::unpack(&self.fonts, host)?;
        let mut jar = jdk::tool("jar");
        jar.arg("--extract").arg("--file").arg(&self.android);
        command(jar.args(HOST_FILES).current_dir(host))?;
        for file in HOST_FILES {
            let name = Path::new(file).file_name().context("a file has a name")?;
            std::fs::rename(host.join(file), host.join(name))?;
        }
        Ok(())
    }

    /// Some of AOSP's jar, by a list.
    fn trim(&self, list: &str, jar: &Path) -> Result<()> {
        let mut java = jdk::java();
        java.arg("-cp").arg(&self.tools).arg("takt.tools.Trim");
        command(java.arg(&self.android).arg(list).arg(jar))
    }

    /// `java` with our natives and patches; `in_front` goes before AOSP's classes.
    fn java(&self, in_front: &[&PathBuf], more: &[&PathBuf]) -> Result<Command> {
        let behind = [&self.redirected, &self.classes, &self.android, &self.junit];
        let path = in_front.iter().chain(&behind).chain(more).copied();
        let mut java = Command::new("java");
        java.arg(format!("-Dtakt.natives={}", self.natives.display()))
            .arg(format!("-Dtakt.host={}", self.host.display()))
            .arg("-cp")
            .arg(std::env::join_paths(path)?);
        Ok(java)
    }

    fn junit(&self, scanned: &[&PathBuf], in_front: &[&PathBuf]) -> Result<()> {
        let scan = std::env::join_paths(scanned)?;
        let mut java = self.java(in_front, scanned)?;
        java.args([
            "org.junit.platform.console.ConsoleLauncher",
            "execute",
            "--disable-banner",
        ])
        .args([
            "--disable-ansi-colors",
            "--details=tree",
            "--fail-if-no-tests",
        ])
        .arg("--scan-classpath")
        .arg(scan);
        // Warnings of AOSP's classes, with stack traces, belong to the tests.
        command(java.stderr(std::process::Stdio::null()))
    }

    fn script(&self, in_front: &[&PathBuf]) -> Result<String> {
        let mut java = self.java(in_front, &[])?;
        said(java.args(["takt.framework.QueueScript", SCRIPTS]))
    }

    /// Each native method of the classes as an application has them: class, name, descriptor.
    pub(crate) fn native_methods(&self) -> Result<String> {
        let mut java = jdk::java();
        java.args(ASM).arg("-cp").arg(&self.tools);
        java.arg("takt.tools.NativeMethods");
        let parts = [&self.headless, &self.realtime, &self.redirected];
        said(java.args(parts).arg(&self.classes).arg(&self.android))
    }

    /// Each native method that AOSP's own library has: class, name, descriptor.
    pub(crate) fn host_methods(&self) -> Result<String> {
        let mut java = self.java(&[&self.headless, &self.realtime], &[])?;
        said(java.arg("takt.framework.HostLibrary"))
    }

    /// Each service: name, interface, calls that it declares, calls that are answered.
    pub(crate) fn answered_calls(&self) -> Result<String> {
        let mut java = self.java(&[&self.headless, &self.realtime], &[])?;
        said(java.arg("takt.server.AnsweredCalls"))
    }
}

/// The standard output of a program that must end well.
fn said(command: &mut Command) -> Result<String> {
    let output = command.output()?;
    if !output.status.success() {
        bail!("{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// Java for our interfaces and the tests', as an application's build makes it.
fn stubs(out: &Path) -> Result<PathBuf> {
    if out.exists() {
        std::fs::remove_dir_all(out)?;
    }
    std::fs::create_dir_all(out)?;
    let mut aidl = Command::new("aidl");
    aidl.arg("--lang=java").args(["-I", AIDL, "-p"]);
    aidl.arg(Path::new(AIDL).join("framework.aidl"));
    aidl.arg("-o").arg(out);
    for entry in std::fs::read_dir(Path::new(AIDL).join("takt/test"))? {
        aidl.arg(entry?.path());
    }
    command(&mut aidl)?;
    let mut aidl = Command::new("aidl");
    aidl.args(["--lang=java", "-I", SYSTEM_AIDL, "-o"]).arg(out);
    for entry in std::fs::read_dir(Path::new(SYSTEM_AIDL).join("takt/system"))? {
        aidl.arg(entry?.path());
    }
    command(&mut aidl)?;
    Ok(out.to_owned())
}

fn javac(folders: &[&str], path: &[&PathBuf], out: &Path) -> Result<()> {
    let mut javac = jdk::tool("javac");
    javac
        .args([
            "--release",
            "17",
            "-Xlint:all,-classfile,-path,-processing",
            "-Werror",
            "-cp",
        ])
        .arg(std::env::join_paths(path)?)
        .arg("-d")
        .arg(out);
    for folder in folders {
        javac.args(sources(Path::new(folder))?);
    }
    command(&mut javac)
}

/// Where tools/setup puts what it fetches.
pub(crate) fn cache() -> Result<PathBuf> {
    let home = |name| std::env::var_os(name).map(PathBuf::from);
    if let Some(cache) = home("TAKT_CACHE") {
        return Ok(cache);
    }
    match home("XDG_CACHE_HOME") {
        Some(home) => Ok(home.join("takt")),
        None => Ok(home("HOME").context("HOME is not set")?.join(".cache/takt")),
    }
}

/// A jar that tools/setup has fetched, in the version that tools/maven/pom.xml names: the cache may
/// hold others, of other trees.
pub(crate) fn jar(artifact: &str) -> Result<PathBuf> {
    let pom = std::fs::read_to_string(POM).with_context(|| format!("cannot read {POM}"))?;
    let version = version(&pom, artifact).with_context(|| format!("{POM} names no {artifact}"))?;
    let jar = cache()?.join(format!("maven/{artifact}-{version}.jar"));
    if !jar.exists() {
        bail!("no {}: run tools/setup", jar.display());
    }
    Ok(jar)
}

/// The version of an artifact without a classifier.
fn version<'a>(pom: &'a str, artifact: &str) -> Option<&'a str> {
    let of = |dependency: &'a str, name: &str| {
        let (_, rest) = dependency.split_once(&format!("<{name}>"))?;
        Some(rest.split_once('<')?.0)
    };
    pom.split("<dependency>")
        .filter(|it| of(it, "artifactId") == Some(artifact) && of(it, "classifier").is_none())
        .find_map(|it| of(it, "version"))
}

/// Every Java file below a folder.
pub(crate) fn sources(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let entries =
        std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(sources(&path)?);
        } else if path.extension().is_some_and(|it| it == "java") {
            found.push(path);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_artifact_has_the_version_that_the_pom_names() {
        let pom = "<dependency><artifactId>a</artifactId><version>1</version>\
                   <classifier>sources</classifier></dependency>\
                   <dependency><artifactId>a-b</artifactId><version>2</version></dependency>\
                   <dependency><artifactId>a</artifactId><version>3</version></dependency>";
        assert_eq!(version(pom, "a"), Some("3"));
        assert_eq!(version(pom, "a-b"), Some("2"));
        assert_eq!(version(pom, "b"), None);
    }
}
