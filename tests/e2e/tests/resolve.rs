// SPDX-License-Identifier: Apache-2.0
//! `takt resolve`: which components of real packages take an intent.

use e2e::{Run, apps};

fn resolve(options: &[&str]) -> Run {
    let files = ["bare", "life", "first-day", "widgets"];
    let files = files.map(|it| {
        apps::folder()
            .join(format!("{it}.apk"))
            .display()
            .to_string()
    });
    let files = files.iter().map(String::as_str);
    let words: Vec<&str> = ["resolve"]
        .into_iter()
        .chain(options.iter().copied())
        .chain(files)
        .collect();
    Run::takt(&words)
}

#[test]
fn activities_that_start_are_found_and_a_disabled_alias_is_not() {
    let run = resolve(&["-a", "android.intent.action.MAIN", "--all", "--json"]);
    assert_eq!(run.code, 0, "{run:#?}");
    let json = run.json();
    let components = json["components"].as_array().expect("components");
    let names: Vec<_> = components.iter().map(|it| &it["component"]).collect();
    let expected = [
        "org.example.bare.Shown",
        "org.example.life.First",
        "org.example.widgets.Form",
    ];
    assert_eq!(names, expected, "{json:#}");
    assert_eq!(components[0]["by"], "action");
    assert_eq!(components[0]["is_exported"], true);
}

#[test]
fn what_nothing_takes_says_so() {
    let without_default = resolve(&["-a", "android.intent.action.MAIN"]);
    let unknown = resolve(&["-a", "org.example.NONE", "-k", "service"]);
    let none = "takt: no activity takes it\n";
    assert_eq!((without_default.code, &*without_default.stderr), (2, none));
    let none = "takt: no service takes it\n";
    assert_eq!((unknown.code, &*unknown.stderr), (2, none));
}
