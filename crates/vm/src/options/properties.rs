// SPDX-License-Identifier: Apache-2.0
//! Properties that the machine sets.

use crate::options;

/// Properties that the machine sets: `System.getProperties` starts with them.
pub(crate) fn properties() -> Vec<(String, String)> {
    let options = options::get();
    let home = &options.java_home;
    let library_path = std::env::var("LD_LIBRARY_PATH").unwrap_or_default();
    let system_path = "/usr/java/packages/lib:/usr/lib/x86_64-linux-gnu/jni:/lib/x86_64-linux-gnu:/usr/lib/x86_64-linux-gnu:/usr/lib/jni:/lib:/usr/lib";
    let library_path = if library_path.is_empty() {
        system_path.to_owned()
    } else {
        format!("{library_path}:{system_path}")
    };
    let version = format!(
        "{} (Takt {})",
        class_library_version(home),
        env!("CARGO_PKG_VERSION")
    );
    let own = [
        ("java.home", home.clone()),
        (
            "java.vm.specification.name",
            "Java Virtual Machine Specification".into(),
        ),
        ("java.vm.specification.vendor", "Oracle Corporation".into()),
        ("java.vm.specification.version", "17".into()),
        ("java.vm.name", "Takt Real-Time VM".into()),
        ("java.vm.vendor", "Takt".into()),
        ("java.vm.version", version),
        (
            "java.vm.info",
            format!("compiled mode, {}", options::collector_name()),
        ),
        ("java.vm.compressedOopsMode", "32-bit".into()),
        ("jdk.debug", "release".into()),
        ("sun.boot.library.path", format!("{home}/lib")),
        ("java.library.path", library_path),
        ("jdk.boot.class.path.append", options.boot_append.join(":")),
        ("sun.management.compiler", "Cranelift".into()),
        // Spinning accessor classes after 15 calls would be exempt from verification.
        ("sun.reflect.inflationThreshold", i32::MAX.to_string()),
    ];
    let mut all: Vec<(String, String)> = own
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect();
    let has_path = options
        .properties
        .iter()
        .any(|(name, _)| name == "java.class.path");
    if !has_path {
        all.push(("java.class.path".into(), String::new()));
    }
    all.extend(options.properties.iter().cloned());
    // Classes of agents are the class path's.
    let path = all
        .iter_mut()
        .rev()
        .find(|(name, _)| name == "java.class.path");
    if let Some((_, path)) = path {
        for (jar, _) in &options.agents {
            if !path.is_empty() {
                path.push(':');
            }
            path.push_str(jar);
        }
    }
    all
}

/// `JAVA_RUNTIME_VERSION` of the JDK's release file.
fn class_library_version(home: &str) -> String {
    let release = std::fs::read_to_string(format!("{home}/release")).unwrap_or_default();
    let line = release
        .lines()
        .find_map(|line| line.strip_prefix("JAVA_RUNTIME_VERSION="));
    line.map_or_else(
        || "17".into(),
        |version| version.trim_matches('"').to_owned(),
    )
}
