// SPDX-License-Identifier: Apache-2.0
//! `takt dex dump` against Debian's dexdump: the same instructions from real packages and from what
//! D8 and dx make.

use std::path::{Path, PathBuf};
use std::process::Command;

use e2e::{Run, cache, jar};

const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../dex/Shapes.java");
const OLD_SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../dex/Lambdas.java");

fn run(program: &str, args: &[&str]) {
    let output = Command::new(program).args(args).output();
    let output = output.unwrap_or_else(|error| panic!("{program}: {error}"));
    assert!(
        output.status.success(),
        "{program} {args:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Instruction lines without what each program writes its own way: floating-point text and string
/// contents.
fn normal(text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    for line in text.lines() {
        let Some((_, line)) = line.split_once('|') else {
            continue;
        };
        let is_code = line
            .split_once(": ")
            .is_some_and(|(pc, _)| pc.len() >= 4 && pc.bytes().all(|it| it.is_ascii_hexdigit()));
        if !is_code {
            continue;
        }
        let cut = ["#float ", "#double ", ", \""]
            .iter()
            .find_map(|mark| line.find(mark));
        match (cut, line.rfind(" // ")) {
            // A string with a line break ends dexdump's line early.
            (Some(start), _) if line[start..].starts_with(", \"") => {
                lines.push(line[..start].to_owned());
            }
            (Some(start), Some(end)) => lines.push(format!("{}{}", &line[..start], &line[end..])),
            _ => lines.push(line.to_owned()),
        }
    }
    lines
}

fn check(file: &Path) -> usize {
    let name = file.to_string_lossy();
    let ours = Run::takt(&["dex", "dump", &name]);
    assert_eq!(ours.code, 0, "{name}: {}", ours.stderr);
    let theirs = Command::new("dexdump")
        .args(["-d", &name])
        .output()
        .expect("dexdump: run tools/setup");
    let (ours, theirs) = (
        normal(&ours.stdout),
        normal(&String::from_utf8_lossy(&theirs.stdout)),
    );
    let difference = ours
        .iter()
        .zip(&theirs)
        .find(|(ours, theirs)| ours != theirs);
    assert_eq!(difference, None, "{name}");
    assert_eq!(ours.len(), theirs.len(), "{name}");
    ours.len()
}

#[test]
fn real_packages_read_as_dexdump_reads_them() {
    let folder = cache().join("apks/fdroidserver-2.4.5/tests");
    let names = [
        "SystemWebView-repack.apk",
        "org.dyndns.fules.ck_20.apk",
        "v2.only.sig_2.apk",
        "issue-1128-poc1.apk",
        "repo/souch.smsbypass_9.apk",
        "repo/info.zwanenburg.caffeinetile_4.apk",
    ];
    let count: usize = names.iter().map(|it| check(&folder.join(it))).sum();
    assert!(count > 10_000, "{count} instructions");
}

#[test]
fn what_d8_makes_reads_as_dexdump_reads_it() {
    let place = tempfile::tempdir().expect("a temporary directory");
    let path = |name: &str| place.path().join(name).display().to_string();
    run(
        "javac",
        &["--release", "17", "-d", &path("classes"), SOURCE],
    );
    let classes = std::fs::read_dir(path("classes")).expect("javac made it");
    let classes: Vec<PathBuf> = classes.map(|it| it.expect("an entry").path()).collect();
    let java_home = java_home();
    for (api, version) in [("24", "037"), ("26", "038"), ("28", "039")] {
        let out = path(api);
        std::fs::create_dir(&out).expect("a directory");
        let r8 = jar("r8-");
        let mut args = vec![
            "-cp",
            &r8,
            "com.android.tools.r8.D8",
            "--min-api",
            api,
            "--output",
            &out,
        ];
        args.extend(["--lib", &java_home]);
        let classes: Vec<String> = classes.iter().map(|it| it.display().to_string()).collect();
        args.extend(classes.iter().map(String::as_str));
        run("java", &args);
        let file = Path::new(&out).join("classes.dex");
        assert!(check(&file) > 300);
        let dump = Run::takt(&["dex", "dump", &file.to_string_lossy()]).stdout;
        assert!(dump.contains(&format!("version {version}")), "{api}");
        assert_eq!(dump.contains(": invoke-polymorphic {"), api != "24");
    }
}

#[test]
fn what_dx_makes_reads_as_dexdump_reads_it() {
    let place = tempfile::tempdir().expect("a temporary directory");
    let path = |name: &str| place.path().join(name).display().to_string();
    run(
        "javac",
        &[
            "-nowarn",
            "--release",
            "8",
            "-d",
            &path("classes"),
            OLD_SOURCE,
        ],
    );
    let output = format!("--output={}", path("out.dex"));
    let dx = jar("dalvik-dx-");
    let main = "com.android.dx.command.Main";
    run(
        "java",
        &[
            "-cp",
            &dx,
            main,
            "--dex",
            "--min-sdk-version=26",
            &output,
            &path("classes"),
        ],
    );
    assert!(check(Path::new(&path("out.dex"))) > 10);
    let dump = Run::takt(&["dex", "dump", &path("out.dex")]).stdout;
    assert!(dump.contains("invoke-custom"), "dx keeps lambdas");
}

#[test]
fn dex_code_in_a_jar_runs() {
    let place = tempfile::tempdir().expect("a temporary directory");
    let path = |name: &str| place.path().join(name).display().to_string();
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../java/Hello.java");
    run("javac", &["-d", &path("classes"), source]);
    let (r8, out, class) = (jar("r8-"), path("code.jar"), path("classes/Hello.class"));
    let d8 = "com.android.tools.r8.D8";
    let args = ["-cp", &r8, d8, "--min-api", "26", "--output", &out, &class];
    run("java", &args);
    let hello = Run::takt(&["java", "-cp", &out, "Hello"]);
    assert_eq!(hello.stdout, "Hello World\n", "{hello:#?}");
}

/// Where the JDK lies that `javac` belongs to.
fn java_home() -> String {
    let output = Command::new("java")
        .args(["-XshowSettings:properties", "-version"])
        .output();
    let text = String::from_utf8_lossy(&output.expect("java").stderr).into_owned();
    let line = text
        .lines()
        .find_map(|it| it.trim().strip_prefix("java.home = "));
    line.expect("java says where it lives").to_owned()
}
