// SPDX-License-Identifier: Apache-2.0
//! `takt run` over other people's packages on our machine: each ends as tests/apk/run.txt says, and
//! with a display as tests/apk/screen.txt says. Under `takt system` they end as with `takt run`.
//! The lists may only grow: more ways to start a package, and "started" where an unsupported
//! feature stood.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use e2e::apps::{Picture, picture};
use e2e::world::World;
use e2e::{Run, cache, lines};
use serde_json::Value;

const PACKAGES: &str = "apks/fdroidserver-2.4.5/tests";
/// Packages that run at once.
const WORKERS: usize = 2;

/// A package's file.
fn file_of(name: &str) -> String {
    let file = cache().join(PACKAGES).join(name);
    assert!(file.exists(), "{}: run tools/setup", file.display());
    file.to_str().expect("a text").to_owned()
}

/// `takt run NAME OPTIONS MORE` with data of its own.
fn start(name: &str, options: &str, more: &[&str]) -> Run {
    let data = tempfile::tempdir().expect("a temporary directory");
    let (file, data) = (file_of(name), data.path().to_string_lossy());
    let mut words = vec!["run", &file, "--data", &data];
    words.extend(more);
    words.extend(options.split_whitespace());
    Run::takt(&words)
}

/// How a run ends, in the words of the list's head.
fn outcome(run: Run) -> String {
    let log = |start: &str| {
        let of = |line: &str| Some(line.split_once(start)?.1.to_owned());
        run.stderr.lines().rev().find_map(of)
    };
    let unsupported = run.stderr.lines().rev().find_map(|line| {
        let (text, _) = line.split_once(" is not supported by Takt yet")?;
        line.contains("AndroidRuntime").then_some(())?;
        text.rsplit("Exception: ").next()
    });
    let own = log(", PID: ").and_then(|_| first_after_process(&run.stderr));
    let cause = log(" E AndroidRuntime: Caused by: ").or(own);
    let cause = cause.map(|it| it.split(" on path: ").next().unwrap_or_default().to_owned());
    match (run.code, unsupported) {
        (0, _) if log(": nothing to launch: ").is_some() => "nothing to launch".to_owned(),
        (0, _) => match log(": started: ") {
            Some(what) => format!("started {what}"),
            None => run.stderr,
        },
        (1, Some(what)) => format!("unsupported {what}"),
        (1, None) if cause.is_some() => format!("throws {}", cause.unwrap_or_default()),
        (2, _) if run.stderr.contains(": refused: ") => "refused".to_owned(),
        (code, _) => format!("ends with {code}: {}", run.stderr),
    }
}

/// What was thrown, behind "FATAL EXCEPTION" and "Process".
fn first_after_process(log: &str) -> Option<String> {
    let mut lines = log.lines().map(|it| it.split_once(" E AndroidRuntime: "));
    lines.find(|it| it.is_some_and(|(_, text)| text.starts_with("Process: ")))?;
    Some(lines.next()??.1.to_owned())
}

/// What a package shows, and its picture in short; or how it ends without a window.
fn shown(name: &str, options: &str) -> String {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let (views, file) = (folder.path().join("views"), folder.path().join("shot.png"));
    let steps = [
        "--display=480x320",
        &format!("--views={}", views.display()),
        &format!("--screenshot={}", file.display()),
    ];
    let run = start(name, options, &steps);
    // An output file is made before the application starts, so empty when nothing was shown.
    let views = std::fs::read_to_string(&views).unwrap_or_default();
    if views.is_empty() {
        let is_over = run.code == 0 && run.stderr.contains(": no activity, service or broadcast");
        return match is_over {
            true => "ends by itself\t".to_owned(),
            false => outcome(run) + "\t",
        };
    }
    let picture = picture(&file);
    let text = views.lines().find_map(|line| drawn_text(line, &picture));
    let what = text.map_or_else(|| "no text".to_owned(), |it| format!("shows {it}"));
    format!("{what}\t{}", in_short(&picture))
}

/// A view's text, if it has one, and the picture more than one colour where the view is.
fn drawn_text(node: &str, picture: &Picture) -> Option<String> {
    let value = |name: &str| {
        let (_, rest) = node.split_once(&format!(" {name}=\""))?;
        Some(rest.split_once('"')?.0.to_owned())
    };
    let text = value("text").filter(|it| !it.is_empty())?;
    let bounds = value("bounds")?;
    let numbers = bounds.split(|it: char| !it.is_ascii_digit());
    let numbers: Vec<usize> = numbers.filter_map(|it| it.parse().ok()).collect();
    let [left, top, right, bottom] = numbers.try_into().expect("two corners");
    let mut places = (top..bottom).flat_map(|y| (left..right).map(move |x| (x, y)));
    let first = picture.colour(left, top);
    let is_drawn = places.any(|(x, y)| picture.colour(x, y) != first);
    is_drawn.then_some(text)
}

/// Fields of a picture in short: so many in a row, and rows.
const FIELDS: (usize, usize) = (12, 8);
/// How much brighter or darker a field may be, of sixteen.
const TOLERANCE: u32 = 1;

/// How bright each field of a picture is, in hexadecimal.
fn in_short(picture: &Picture) -> String {
    let (width, height) = (picture.width / FIELDS.0, picture.height / FIELDS.1);
    let fields = (0..FIELDS.1).flat_map(|row| (0..FIELDS.0).map(move |column| (column, row)));
    let brightness = |(column, row): (usize, usize)| {
        let lines = row * height..(row + 1) * height;
        let places = lines.flat_map(|y| (0..width).map(move |x| (column * width + x, y)));
        let sum: u32 = places
            .flat_map(|(x, y)| picture.colour(x, y))
            .map(u32::from)
            .sum();
        let mean = sum as usize / (3 * width * height);
        char::from_digit(mean as u32 / 16, 16).expect("a digit")
    };
    fields.map(brightness).collect()
}

/// Whether a line of screen.txt says the same, and the picture but for the tolerance.
fn is_alike(found: &str, listed: &str) -> bool {
    let halves = |it: &'_ str| {
        it.split_once('\t')
            .map(|it| (it.0.to_owned(), it.1.to_owned()))
    };
    let (Some(found), Some(listed)) = (halves(found), halves(listed)) else {
        return false;
    };
    let digits = |it: &str| it.chars().map(|it| it.to_digit(16)).collect::<Vec<_>>();
    let (left, right) = (digits(&found.1), digits(&listed.1));
    let is_near = |(left, right): (&Option<u32>, &Option<u32>)| match (left, right) {
        (Some(left), Some(right)) => left.abs_diff(*right) <= TOLERANCE,
        _ => false,
    };
    found.0 == listed.0 && left.len() == right.len() && left.iter().zip(&right).all(is_near)
}

fn list(name: &str) -> Vec<String> {
    let all = lines(
        &Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../apk")
            .join(name),
    );
    all.into_iter().filter(|it| !it.starts_with('#')).collect()
}

/// "NAME<tab>OPTIONS<tab>OUTCOME".
fn fields(line: &str) -> [&str; 3] {
    let fields: Vec<&str> = line.split('\t').collect();
    fields.try_into().expect("three fields")
}

/// What of a list is not as `found` says; several packages run at once.
fn others(list: &[String], is_wrong: impl Fn(&str) -> Option<String> + Sync) -> Vec<String> {
    let next = AtomicUsize::new(0);
    let work = || {
        let take = || list.get(next.fetch_add(1, Ordering::Relaxed));
        let all = std::iter::from_fn(take);
        all.filter_map(|line| is_wrong(line)).collect::<Vec<_>>()
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..WORKERS).map(|_| scope.spawn(work)).collect();
        let results = workers.into_iter().map(|it| it.join().expect("no panic"));
        results.flatten().collect()
    })
}

#[test]
fn packages_end_as_listed() {
    let wrong = others(&list("run.txt"), |line| {
        let [name, options, expected] = fields(line);
        let outcome = outcome(start(name, options, &["--until-started"]));
        (outcome != expected).then(|| format!("{name}\t{options}\t{outcome}"))
    });
    let wrong = wrong.join("\n");
    assert!(wrong.is_empty(), "these end otherwise:\n{wrong}");
}

/// The activity that a launcher would start, if the package has one.
fn launcher(manifest: &Value) -> Option<&str> {
    let has = |filter: &Value, list: &str, name: &str| {
        let mut names = filter[list].as_array().expect("a list").iter();
        names.any(|it| it == name)
    };
    let is_for_launchers = |filter: &Value| {
        has(filter, "actions", "android.intent.action.MAIN")
            && has(filter, "categories", "android.intent.category.LAUNCHER")
    };
    let components = manifest["application"]["components"].as_array()?;
    let launched = components.iter().find(|it| {
        let filters = it["intent_filters"].as_array();
        it["kind"] == "activity" && filters.is_some_and(|all| all.iter().any(is_for_launchers))
    });
    launched?["name"].as_str()
}

/// The words behind `takt am` for what `takt run OPTIONS` starts; none without anything to launch.
fn order(manifest: &Value, options: &str) -> Option<String> {
    let package = manifest["package"].as_str().expect("a name");
    Some(match options.split_once(' ') {
        None => format!("start -n {package}/{}", launcher(manifest)?),
        Some(("--activity", class)) => format!("start -n {package}/{class}"),
        Some(("--service", class)) => format!("startservice -n {package}/{class}"),
        Some(("--broadcast", action)) => format!("broadcast -p {package} -a {action}"),
        Some(_) => panic!("{options} is new to this test"),
    })
}

/// What a package has said since it was installed, once it is started or has ended: the exit code
/// that `takt run` would have, and the lines.
fn came_of(world: &World, package: &str, earlier: &mut BTreeSet<u32>) -> (i32, String) {
    let process = |line: &str| line.split_whitespace().nth(2)?.parse::<u32>().ok();
    let is_new = |line: &&str| !process(line).is_some_and(|it| earlier.contains(&it));
    let log = || {
        let log = world.said(&["logcat", "-d", "--package", package]);
        log.lines().filter(is_new).collect::<Vec<_>>().join("\n")
    };
    let code = |log: &str| match log.split_once("FATAL EXCEPTION") {
        Some((_, rest)) => rest.contains("\nprocess ended").then_some(1),
        None => log.contains(": started: ").then_some(0),
    };
    world.await_true(package, || code(&log()).is_some());
    let log = log();
    earlier.extend(log.lines().filter_map(process));
    (code(&log).expect("it has come"), log)
}

/// How a package ends under a server, in the words of run.txt; and nothing of it stays.
fn under(world: &World, name: &str, options: &str, earlier: &mut BTreeSet<u32>) -> String {
    let file = file_of(name);
    let installed = world.run(&["install", &file]);
    if installed.code != 0 {
        let is_unsigned = installed.stderr.contains(" is not signed");
        return if is_unsigned { "not signed" } else { "refused" }.to_owned();
    }
    let manifest = &Run::takt(&["apk", "info", "--json", &file]).json()["manifest"];
    let package = manifest["package"].as_str().expect("a name");
    let outcome = match order(manifest, options) {
        None => "nothing to launch".to_owned(),
        Some(order) => {
            let words: Vec<&str> = order.split(' ').collect();
            world.said(&[&["am"], &words[..]].concat());
            let (code, stderr) = came_of(world, package, earlier);
            let stdout = String::new();
            outcome(Run {
                code,
                stdout,
                stderr,
            })
        }
    };
    world.said(&["uninstall", package]);
    assert!(!world.data(package).exists(), "{package} leaves data");
    outcome
}

#[test]
fn packages_end_so_under_the_server() {
    let world = World::begin();
    world.await_template();
    let mut earlier = BTreeSet::new();
    let wrong = list("run.txt").into_iter().filter_map(|line| {
        let [name, options, expected] = fields(&line);
        let outcome = under(&world, name, options, &mut earlier);
        let is_so = match outcome.as_str() {
            // `takt run` takes a package that is not signed, for those who write it.
            "not signed" => name.contains("unsigned"),
            // `takt run` makes its Application, and then looks for something to launch.
            "nothing to launch" if name == "SystemWebView-repack.apk" => options.is_empty(),
            other => other == expected,
        };
        (!is_so).then(|| format!("{name}\t{options}\t{outcome}"))
    });
    let wrong = wrong.collect::<Vec<_>>().join("\n");
    assert!(wrong.is_empty(), "these end otherwise:\n{wrong}");
}

#[test]
fn packages_show_what_is_listed() {
    let wrong = others(&list("screen.txt"), |line| {
        let mut fields = line.splitn(3, '\t');
        let [name, options, expected] = [(); 3].map(|()| fields.next().expect("four fields"));
        let shown = shown(name, options);
        (!is_alike(&shown, expected)).then(|| format!("{name}\t{options}\t{shown}"))
    });
    let wrong = wrong.join("\n");
    assert!(wrong.is_empty(), "these show something else:\n{wrong}");
}

#[test]
fn every_package_is_listed() {
    let place = cache().join(PACKAGES);
    let listed: BTreeSet<PathBuf> = list("run.txt")
        .iter()
        .map(|line| place.join(fields(line)[0]))
        .collect();
    for folder in [place.clone(), place.join("repo")] {
        for entry in std::fs::read_dir(folder).expect("run tools/setup") {
            let path = entry.expect("an entry").path();
            let is_package = path.extension().is_some_and(|it| it == "apk");
            assert!(!is_package || listed.contains(&path), "{}", path.display());
        }
    }
}
