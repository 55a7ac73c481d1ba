// SPDX-License-Identifier: Apache-2.0
//! Applications that are copies of one process: what each has of its own, and that none reaches
//! another or the template by what it was copied from.

use std::collections::BTreeMap;
use std::path::Path;

use e2e::world::World;

const TWINS: &str = "org.example.twins";
/// What differs between any two processes.
const FACTS: [&str; 11] = [
    "math",
    "random",
    "local",
    "splittable",
    "secure",
    "uuid",
    "shuffled",
    "hash",
    "pid",
    "tid",
    "file",
];

/// What a process has said of itself.
fn facts(world: &World, pid: u64) -> BTreeMap<String, String> {
    let words = ["logcat", "-d", "--tag", "Twin", "--pid", &pid.to_string()];
    let said = world.said(&words);
    let of = |line: &str| {
        let (name, value) = line.split_once("own ")?.1.split_once(' ')?;
        Some((name.to_owned(), value.to_owned()))
    };
    said.lines().filter_map(of).collect()
}

fn loaded(world: &World, pid: u64) -> Option<String> {
    let words = ["logcat", "-d", "--tag", "Twin", "--pid", &pid.to_string()];
    let said = world.said(&words);
    let line = said.lines().find_map(|it| it.split_once("loaded "))?;
    Some(line.1.to_owned())
}

/// Two processes of one package begin at once and load classes of the same jar meanwhile.
#[test]
fn two_copies_share_no_number_and_no_place_in_a_file() {
    let world = World::begin();
    let template = world.await_template();
    world.install("twins");
    for name in ["One", "Other"] {
        let component = format!("{TWINS}/.{name}");
        world.said(&["am", "startservice", "-n", &component]);
    }
    let pids = ["one", "other"].map(|it| {
        let name = format!("{TWINS}:{it}");
        let pid = || world.process(&name)?["pid"].as_u64();
        world.await_true("a process", || pid().is_some());
        pid().expect("it runs")
    });
    let loaded = pids.map(|it| {
        world.await_true("its classes", || loaded(&world, it).is_some());
        loaded(&world, it).expect("they are there")
    });
    assert_eq!(loaded[0], loaded[1]);
    if world.has_own_users(&format!("{TWINS}:one")) {
        let home = format!("home {}", world.data(TWINS).display());
        assert!(loaded[0].ends_with(&home), "{loaded:?}");
    }
    let [one, other] = pids.map(|it| facts(&world, it));
    for name in FACTS {
        let (one, other) = (one.get(name), other.get(name));
        assert!(one.is_some() && other.is_some(), "{name} is not told");
        assert_ne!(one, other, "{name}");
    }
    for pid in pids {
        assert!(is_copy(pid, template), "{pid} is a copy of {template}");
        has_nothing_of(template, pid);
    }
}

/// It runs, has the template's mappings, and not it for a parent: that is the server.
fn is_copy(pid: u64, template: u64) -> bool {
    let read = |it: u64| std::fs::read(format!("/proc/{it}/cmdline")).unwrap_or_default();
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let is_alike = !read(pid).is_empty() && read(pid) == read(template);
    is_alike && !status.contains(&format!("PPid:\t{template}\n"))
}

/// No socket, pipe or memory file of the template's is open in a copy.
fn has_nothing_of(template: u64, pid: u64) {
    let open = |it: u64| -> Vec<String> {
        let folder = format!("/proc/{it}/fd");
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let links = entries.filter_map(|it| std::fs::read_link(it.path()).ok());
        links.map(|it| it.display().to_string()).collect()
    };
    let own = open(template);
    assert!(own.iter().any(|it| it.starts_with("socket:")), "{own:?}");
    for name in open(pid) {
        let is_file = Path::new(&name).is_absolute() && !name.starts_with("/memfd");
        assert!(
            is_file || !own.contains(&name) || name.starts_with("anon_inode"),
            "{name}"
        );
    }
    let maps = std::fs::read_to_string(format!("/proc/{template}/maps")).expect("it runs");
    let shared = maps.lines().filter(|it| {
        let access = it.split(' ').nth(1).unwrap_or_default();
        access.contains('w') && access.ends_with('s')
    });
    assert_eq!(shared.count(), 0, "memory that copies would share");
}

/// Without one each starts as a program; one that is killed keeps nobody from starting, and there
/// is another soon.
#[test]
fn without_a_template_applications_start_all_the_same() {
    let world = World::begin();
    let template = world.await_template();
    world.install("small");
    let mut kill = std::process::Command::new("kill");
    let killed = kill.args(["-9", &template.to_string()]).status();
    assert!(killed.expect("kill is there").success());
    world.said(&["am", "start", "-n", "org.example.small/.Main"]);
    let is_made = || !world.log("org.example.small", "Small").is_empty();
    world.await_true("onCreate", is_made);
    let pid = world.pid("org.example.small");
    assert!(!is_copy(pid, template));
    let other = world.await_template();
    assert_ne!(other, template);
    world.said(&["am", "force-stop", "org.example.small"]);
    world.said(&["am", "start", "-n", "org.example.small/.Main"]);
    let again = || world.process("org.example.small")?["pid"].as_u64();
    world.await_true("a copy", || again().is_some_and(|it| is_copy(it, other)));
}
