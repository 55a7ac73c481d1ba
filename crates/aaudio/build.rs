// SPDX-License-Identifier: Apache-2.0
//! Names the library, and defines the version that programs built for Android ask for.
//!
//! What is exported rustc says in a script of its own, which comes first: the symbols keep the base
//! version, which the loader takes for any that is asked for. LLD, rustc's linker here, takes two
//! scripts; other linkers do not.

fn main() {
    println!("cargo:rerun-if-changed=libaaudio.map");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libaaudio.so");
    let arch = std::env::var("CARGO_CFG_TARGET_ARCH").expect("cargo sets it");
    if arch == "x86_64" {
        let folder = std::env::var("CARGO_MANIFEST_DIR").expect("cargo sets it");
        println!("cargo:rustc-cdylib-link-arg=-Wl,--version-script={folder}/libaaudio.map");
    }
}
