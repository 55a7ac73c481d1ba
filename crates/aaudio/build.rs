// SPDX-License-Identifier: Apache-2.0
//! Names the library, and gives its symbols the version that Android gives them.

fn main() {
    println!("cargo:rerun-if-changed=libaaudio.map");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libaaudio.so");
    let folder = std::env::var("CARGO_MANIFEST_DIR").expect("cargo sets it");
    println!("cargo:rustc-cdylib-link-arg=-Wl,--version-script={folder}/libaaudio.map");
}
