// SPDX-License-Identifier: Apache-2.0
//! That the stubs which are kept, and which `crates/binder` and `tests/e2e` speak with, are those
//! that are made today.

use std::path::Path;

use aidl::{Document, Library};

const FOREIGN: [(&str, &str); 1] = [("android.os.Bundle", "super::Bundle")];
/// Set to write the stubs anew.
const BLESS: &str = "TAKT_BLESS";

/// The library of some files, each under its own name.
fn library(files: &[&Path]) -> Library {
    let documents = files.iter().map(|path| {
        let name = path.file_name().unwrap().to_str().unwrap();
        Document::parse(name, &std::fs::read_to_string(path).unwrap()).unwrap()
    });
    Library::new(documents.collect()).unwrap()
}

fn check(kept: &Path, made: &str) {
    if std::env::var_os(BLESS).is_some() {
        std::fs::write(kept, made).unwrap();
    }
    let is_same = std::fs::read_to_string(kept).unwrap() == made;
    assert!(is_same, "{BLESS}=1 cargo test -p aidl --test stubs");
}

#[test]
fn the_stubs_are_those_that_are_kept() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let folder = crates.join("../framework/test/aidl");
    let golden = crates.join("binder/tests/golden");
    let library_of_golden = library(&[
        &folder.join("framework.aidl"),
        &folder.join("takt/test/IGolden.aidl"),
        &folder.join("takt/test/IGoldenCallback.aidl"),
    ]);
    let made = library_of_golden.rust(&FOREIGN).unwrap();
    check(&golden.join("stubs.rs"), &made);
    for (interface, kept) in [("ITypes.aidl", "types.rs"), ("IPeer.aidl", "peer.rs")] {
        let made = library(&[&golden.join(interface)]).rust(&[]).unwrap();
        check(&golden.join(kept), &made);
    }
    let system = crates.join("../framework/aidl/takt/system");
    let names = [
        "IApp", "ISystem", "Job", "Kept", "Notice", "Outcome", "Receiver", "Shout", "Step",
        "Timed", "Whole", "Wish", "Work",
    ];
    let files = names.map(|it| system.join(format!("{it}.aidl")));
    let files: Vec<&Path> = files.iter().map(|it| it.as_path()).collect();
    let made = library(&files).rust(&[]).unwrap();
    check(&crates.join("agent/src/calls/stubs.rs"), &made);
    let unnamed = library_of_golden.rust(&[]).unwrap_err().to_string();
    let expected =
        "IGolden.aidl:20:31: not supported: android.os.Bundle, a parcelable of another language";
    assert_eq!(unnamed, expected);
}
