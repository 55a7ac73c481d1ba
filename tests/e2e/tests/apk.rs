// SPDX-License-Identifier: Apache-2.0
//! Real packages, good ones and broken ones: `takt apk info` answers each as tests/apk/expected.txt
//! says.

use std::path::{Path, PathBuf};

use e2e::{Run, cache, lines};

const PACKAGES: &str = "apks/fdroidserver-2.4.5";

/// The packages below a folder, by name relative to `root`.
fn packages(root: &Path) -> Vec<(String, PathBuf)> {
    let mut found = Vec::new();
    for folder in ["tests", "tests/repo"] {
        let entries = std::fs::read_dir(root.join(folder)).expect("run tools/setup");
        for path in entries.map(|it| it.expect("an entry").path()) {
            if path.extension().is_some_and(|it| it == "apk") {
                let name = path
                    .file_name()
                    .expect("a file")
                    .to_string_lossy()
                    .into_owned();
                found.push((name, path));
            }
        }
    }
    found.sort();
    found
}

/// "NAME<tab>sound<tab>SCHEME STATE PACKAGE" or "NAME<tab>refused<tab>FAULT".
fn outcome(name: &str, path: &Path) -> String {
    let run = Run::takt(&["apk", "info", "--json", &path.to_string_lossy()]);
    let json = run.json();
    if json["state"] == "refused" {
        assert_eq!(run.code, 2, "{name}");
        return format!(
            "{name}\trefused\t{}",
            json["fault"].as_str().expect("a fault")
        );
    }
    assert_eq!(run.code, 0, "{name}: {run:?}");
    let scheme = json["signature_scheme"].as_str().expect("a scheme");
    let state = match scheme {
        "none" => "unsigned",
        _ => json["signatures"][scheme]["state"]
            .as_str()
            .expect("a state"),
    };
    let dex: Vec<&str> = json["dex"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|it| it["version"].as_str())
        .collect();
    let package = json["manifest"]["package"].as_str().expect("a name");
    format!(
        "{name}\tsound\t{scheme} {state}, dex {}, {package}",
        dex.join(" ")
    )
}

#[test]
fn every_package_is_answered_as_written_down() {
    let found = packages(&cache().join(PACKAGES));
    let list = Path::new(env!("CARGO_MANIFEST_DIR")).join("../apk/expected.txt");
    let actual: Vec<String> = found
        .iter()
        .map(|(name, path)| outcome(name, path))
        .collect();
    let mut expected = lines(&list);
    expected.retain(|it| !it.starts_with('#'));
    assert_eq!(actual.len(), 43);
    for (actual, expected) in actual.iter().zip(&expected) {
        assert_eq!(actual, expected);
    }
    assert_eq!(actual.len(), expected.len());
}

#[test]
fn a_refusal_is_one_line_that_names_the_fault() {
    let path = cache().join(PACKAGES).join("tests/urzip-badsig.apk");
    let run = Run::takt(&["apk", "info", &path.to_string_lossy()]);
    assert_eq!((run.code, run.stdout.as_str()), (2, ""));
    assert!(
        run.stderr
            .contains("refused: signature v1: META-INF/MANIFEST.MF"),
        "{run:?}"
    );
    let run = Run::takt(&["apk", "info", "/nonexistent.apk"]);
    assert!(
        run.code == 2 && run.stderr.contains("cannot read /nonexistent.apk"),
        "{run:?}"
    );
}
