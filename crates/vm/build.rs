// SPDX-License-Identifier: Apache-2.0
//! Builds the C half (functions with variable arguments) and names the library.

fn main() {
    println!("cargo:rerun-if-changed=src/c/variadic.c");
    cc::Build::new()
        .file("src/c/variadic.c")
        .warnings(true)
        .compile("takt_variadic");
    // The JDK's libraries ask for libjvm.so by this name.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libjvm.so");
}
