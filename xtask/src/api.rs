// SPDX-License-Identifier: Apache-2.0
//! What of Android's interface is there: framework/api/natives.txt and services.txt are measured
//! from AOSP's jar, the library of natives and the services themselves; a section of
//! docs/compatibility.md is made of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::framework::Built;

const FOLDER: &str = "framework/api";
const NATIVES: &str = "natives.txt";
const SERVICES: &str = "services.txt";
const PAGE: &str = "docs/compatibility.md";
const BEGIN: &str = "<!-- begin: made by cargo xtask api -->\n";
const END: &str = "<!-- end -->\n";

/// Measures, and writes what it found.
pub(crate) fn write() -> Result<()> {
    let built = Built::new()?;
    for (name, text) in measure(&built)? {
        std::fs::write(Path::new(FOLDER).join(name), text)?;
    }
    let page = std::fs::read_to_string(PAGE)?;
    std::fs::write(PAGE, with_section(&page)?)?;
    Ok(())
}

/// Measures, and fails if the tree says otherwise.
pub(crate) fn check(built: &Built) -> Result<()> {
    for (name, text) in measure(built)? {
        let path = Path::new(FOLDER).join(name);
        if std::fs::read_to_string(&path).unwrap_or_default() != text {
            bail!("{} is out of date: cargo xtask api", path.display());
        }
    }
    Ok(())
}

/// Is the page what it would be made to be? Needs nothing that is built.
pub(crate) fn is_page_stale() -> Result<bool> {
    let page = std::fs::read_to_string(PAGE)?;
    Ok(with_section(&page)? != page)
}

fn measure(built: &Built) -> Result<[(&'static str, String); 2]> {
    let declared = built.native_methods()?;
    let mut defined = symbols(&built.natives)?;
    let host = built.host_methods()?;
    defined.extend(host.lines().map(str::to_owned));
    let services = built.answered_calls()?;
    Ok([
        (NATIVES, natives(&declared, &defined)?),
        (SERVICES, services_text(&services)),
    ])
}

/// The library's functions for Java.
fn symbols(library: &Path) -> Result<BTreeSet<String>> {
    let output = Command::new("nm")
        .args(["--dynamic", "--defined-only", "--format=just-symbols"])
        .arg(library)
        .output()
        .context("cannot start nm")?;
    let text = String::from_utf8(output.stdout)?;
    let found: BTreeSet<String> = text
        .lines()
        .filter(|it| it.starts_with("Java_"))
        .map(str::to_owned)
        .collect();
    if found.is_empty() {
        bail!("{} defines no native methods", library.display());
    }
    Ok(found)
}

/// `defined` holds names of functions and, of AOSP's own library, lines like those of `declared`.
/// One line for each class that declares native methods: "CLASS THERE DECLARED", then the names of
/// those that are not there if some are.
fn natives(declared: &str, defined: &BTreeSet<String>) -> Result<String> {
    let mut classes: BTreeMap<&str, (usize, Vec<&str>)> = BTreeMap::new();
    for line in declared.lines() {
        let mut words = line.split(' ');
        let (Some(class), Some(name), Some(descriptor)) =
            (words.next(), words.next(), words.next())
        else {
            bail!("NativeMethods said: {line}");
        };
        if class.starts_with("takt/") {
            continue;
        }
        let (short, long) = function_names(class, name, descriptor);
        let (there, absent) = classes.entry(class).or_default();
        if [short.as_str(), &long, line]
            .iter()
            .any(|it| defined.contains(*it))
        {
            *there += 1;
        } else {
            absent.push(name);
        }
    }
    let mut text = String::from(
        "# Native methods of AOSP's classes: class, how many there are here, how many it declares, and which are not here\n\
         # (not listed where none is). Made by `cargo xtask api`.\n",
    );
    for (class, (there, mut absent)) in classes {
        let declared = there + absent.len();
        absent.sort_unstable();
        absent.dedup();
        let absent = if there == 0 {
            "".to_owned()
        } else {
            absent.join(" ")
        };
        let line = format!("{} {there} {declared} {absent}", class.replace('/', "."));
        writeln!(text, "{}", line.trim_end())?;
    }
    Ok(text)
}

/// JNI's names of a native method's function, without and with its arguments (JNI specification,
/// "Resolving Native Method Names").
fn function_names(class: &str, name: &str, descriptor: &str) -> (String, String) {
    let short = format!("Java_{}_{}", mangled(class), mangled(name));
    let arguments = descriptor
        .strip_prefix('(')
        .and_then(|it| it.split_once(')'))
        .map_or("", |(arguments, _)| arguments);
    let long = format!("{short}__{}", mangled(arguments));
    (short, long)
}

fn mangled(text: &str) -> String {
    let mut out = String::new();
    for letter in text.chars() {
        match letter {
            '/' => out.push('_'),
            '_' => out.push_str("_1"),
            ';' => out.push_str("_2"),
            '[' => out.push_str("_3"),
            it if it.is_ascii_alphanumeric() => out.push(it),
            it => out.push_str(&format!("_0{:04x}", u32::from(it))),
        }
    }
    out
}

fn services_text(described: &str) -> String {
    format!(
        "# The system's services: name, interface, how many calls it declares, and which are answered. Every other call says its name.\n\
         # Made by `cargo xtask api`.\n{described}"
    )
}

fn with_section(page: &str) -> Result<String> {
    let (head, rest) = page
        .split_once(BEGIN)
        .context("the page has no section to make")?;
    let (_, tail) = rest
        .split_once(END)
        .context("the page's section has no end")?;
    Ok(format!("{head}{BEGIN}{}{END}{tail}", section()?))
}

fn section() -> Result<String> {
    let read = |name| std::fs::read_to_string(Path::new(FOLDER).join(name));
    Ok(format!(
        "{}\n{}",
        natives_table(&read(NATIVES)?)?,
        services_table(&read(SERVICES)?)?
    ))
}

/// A package's classes in one row; the packages of which nothing is there in one row together.
fn natives_table(natives: &str) -> Result<String> {
    let mut packages: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for line in natives.lines().filter(|it| !it.starts_with('#')) {
        let words: Vec<&str> = line.split(' ').collect();
        let package = words[0].rsplit_once('.').map_or("", |(package, _)| package);
        let (there, declared) = packages.entry(package).or_default();
        *there += words[1].parse::<usize>()?;
        *declared += words[2].parse::<usize>()?;
    }
    let mut text = String::from(
        "Native methods, of `framework/api/natives.txt`, which names those that are not there.\n\
         They throw UnsatisfiedLinkError with the method's name.\n\n| package | there | declared |\n|---|---|---|\n",
    );
    for (package, (there, declared)) in packages.iter().filter(|(_, (there, _))| *there > 0) {
        writeln!(text, "| {package} | {there} | {declared} |")?;
    }
    let others: Vec<usize> = packages
        .values()
        .filter(|(there, _)| *there == 0)
        .map(|(_, declared)| *declared)
        .collect();
    let sum: usize = others.iter().sum();
    writeln!(text, "| {} more packages | 0 | {sum} |", others.len())?;
    Ok(text)
}

/// So many names of services fit on a line.
const SERVICES_A_LINE: usize = 4;

fn services_table(services: &str) -> Result<String> {
    let mut text = String::from(
        "Calls of system services, of `framework/api/services.txt`.\n\
         Every call that is not answered says so by name.\n\n\
         | service | interface | answered | declared |\n|---|---|---|---|\n",
    );
    let mut unanswered = Vec::new();
    for line in services.lines().filter(|it| !it.starts_with('#')) {
        let words: Vec<&str> = line.split(' ').collect();
        let count = words.len().saturating_sub(3);
        if count == 0 {
            unanswered.push(format!("`{}`", words[0]));
        } else {
            let interface = words[1].rsplit('.').next().unwrap_or_default();
            writeln!(
                text,
                "| `{}` | {interface} | {count} | {} |",
                words[0], words[2]
            )?;
        }
    }
    writeln!(text, "\nThere, with no call answered:\n")?;
    for row in unanswered.chunks(SERVICES_A_LINE) {
        writeln!(text, "- {}", row.join(", "))?;
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_mangled_as_jni_has_it() {
        let (short, long) = function_names("a/B$C", "put_it", "([ILx/Y;)V");
        assert_eq!(short, "Java_a_B_00024C_put_1it");
        assert_eq!(long, "Java_a_B_00024C_put_1it___3ILx_Y_2");
    }

    #[test]
    fn a_class_names_what_it_lacks() {
        let declared = "a/B one ()V\na/B two (I)V\na/B two (J)V\nc/D three ()V\ntakt/E own ()V\n";
        let defined = ["Java_a_B_one", "Java_a_B_two__I"]
            .map(str::to_owned)
            .into();
        let text = natives(declared, &defined).unwrap();
        let lines: Vec<&str> = text.lines().filter(|it| !it.starts_with('#')).collect();
        assert_eq!(lines, ["a.B 2 3 two", "c.D 0 1"]);
        let table = natives_table(&text).unwrap();
        assert!(
            table.ends_with("| a | 2 | 3 |\n| 1 more packages | 0 | 1 |\n"),
            "{table}"
        );
    }
}
