// SPDX-License-Identifier: Apache-2.0
//! Stubs of rsbinder's for the interfaces that `crates/binder` has stubs of ours for.

use std::path::PathBuf;

const GOLDEN: &str = "../../crates/binder/tests/golden";

fn main() {
    let out = PathBuf::from(std::env::var("OUT_DIR").expect("Cargo says where"));
    for name in ["IPeer", "ITypes"] {
        let source = PathBuf::from(GOLDEN).join(format!("{name}.aidl"));
        println!("cargo::rerun-if-changed={}", source.display());
        let text = std::fs::read_to_string(source).expect("the interface is there");
        // Its Rust calls each method by the method's own name, and `self` can be none. The wire
        // knows methods by their place.
        let copy = out.join(format!("{name}.aidl"));
        std::fs::write(&copy, text.replace(" self(", " own(")).expect("a copy");
        rsbinder_aidl::Builder::new()
            .source(copy)
            .output(PathBuf::from(format!("{name}.rs")))
            .generate()
            .expect("rsbinder reads the interface");
    }
}
