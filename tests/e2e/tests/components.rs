// SPDX-License-Identifier: Apache-2.0
//! Which component takes which intent, and in which order: the server's packages against AOSP's
//! own ComponentResolver, on random scripts.

#[path = "../../../crates/server/tests/world/mod.rs"]
mod world;

use apk::{ComponentKind, DataPattern, IntentFilter};
use e2e::apps::ask_class;
use fastrand::Rng;
use intent::{Intent, Uri};
use server::packages::{
    Candidate, Enabled, Kind, MATCH_DEFAULT_ONLY, MATCH_DISABLED, MATCH_DISABLED_UNTIL_USED,
    MATCH_SYSTEM_ONLY, Packages,
};

const SCRIPTS: u64 = 10_000;
const SEED: u64 = 22;

/// The last is one that no filter puts before others.
const ACTIONS: [&str; 3] = ["EDIT", "OPEN", "android.intent.action.VIEW"];
const CATEGORIES: [&str; 2] = [intent::CATEGORY_DEFAULT, "BROWSABLE"];
const SCHEMES: [&str; 2] = ["http", "file"];
const TYPES: [&str; 3] = ["text/plain", "text/*", "*/*"];
const PACKAGES: [&str; 3] = ["a", "b", "c"];
const CLASSES: [&str; 5] = ["A", "B", "C", "D", "E"];
const KINDS: [(&str, ComponentKind); 4] = [
    ("activity", ComponentKind::Activity),
    ("receiver", ComponentKind::Receiver),
    ("service", ComponentKind::Service),
    ("provider", ComponentKind::Provider),
];
const STATES: [Enabled; 5] = [
    Enabled::Default,
    Enabled::Enabled,
    Enabled::Disabled,
    Enabled::DisabledByUser,
    Enabled::DisabledUntilUsed,
];
const FLAGS: [u64; 4] = [
    MATCH_DEFAULT_ONLY,
    MATCH_DISABLED,
    MATCH_DISABLED_UNTIL_USED,
    MATCH_SYSTEM_ONLY,
];

/// Scripts as AOSP's side reads them, and what ours answers.
#[derive(Default)]
struct Script {
    lines: Vec<String>,
    answers: Vec<String>,
    packages: Packages,
}

impl Script {
    fn say(&mut self, fields: &[&str]) {
        self.lines.push(fields.join("\u{1f}"));
    }
}

fn one<T: Copy>(rng: &mut Rng, of: &[T]) -> T {
    of[rng.usize(..of.len())]
}

/// Each with half a chance.
fn some<'a>(rng: &mut Rng, of: &[&'a str]) -> Vec<&'a str> {
    of.iter().filter(|_| rng.bool()).copied().collect()
}

fn optional(it: Option<&str>) -> String {
    it.map_or_else(|| "-".to_owned(), |it| format!("+{it}"))
}

fn joined(of: &[&str]) -> String {
    let of: Vec<String> = of.iter().map(|it| format!("+{it}")).collect();
    of.join("\u{1e}")
}

fn owned(of: &[&str]) -> Vec<String> {
    of.iter().map(|&it| it.to_owned()).collect()
}

fn word(is_on: bool) -> &'static str {
    if is_on { "on" } else { "off" }
}

fn filter(script: &mut Script, rng: &mut Rng) -> IntentFilter {
    let priority = rng.i32(-1..3);
    let actions = some(rng, &ACTIONS);
    let categories = some(rng, &CATEGORIES);
    let of_data = |rng: &mut Rng, of: &[&'static str]| match rng.u8(..6) {
        0 => some(rng, of),
        _ => Vec::new(),
    };
    let (schemes, types) = (of_data(rng, &SCHEMES), of_data(rng, &TYPES));
    script.say(&[
        "filter",
        &priority.to_string(),
        &joined(&actions),
        &joined(&categories),
        &joined(&schemes),
        &joined(&types),
    ]);
    let of_scheme = schemes.iter().map(|&it| DataPattern {
        scheme: Some(it.to_owned()),
        ..DataPattern::default()
    });
    let of_type = types.iter().map(|&it| DataPattern {
        mime_type: Some(it.to_owned()),
        ..DataPattern::default()
    });
    IntentFilter {
        priority,
        actions: owned(&actions),
        categories: owned(&categories),
        data: of_scheme.chain(of_type).collect(),
    }
}

/// A package that is new, or takes the place of an older one.
fn install(script: &mut Script, rng: &mut Rng) {
    let name = one(rng, &PACKAGES);
    if script.packages.get(name).is_some() {
        script.say(&["remove", name]);
        script.packages.uninstall(name);
    }
    let (is_system, is_enabled) = (rng.u8(..3) == 0, rng.u8(..8) > 0);
    let owner = if is_system { "system" } else { "other" };
    script.say(&["package", name, owner, word(is_enabled)]);
    let mut manifest = world::manifest(name, 1);
    manifest.application.is_enabled = is_enabled;
    for class in CLASSES {
        let (kind, of_manifest) = one(rng, &KINDS);
        let mut component = world::component(of_manifest, class);
        component.is_enabled = rng.u8(..8) > 0;
        if of_manifest == ComponentKind::Provider {
            component.authorities = vec![format!("{name}.{class}")];
        }
        script.say(&["component", kind, class, word(component.is_enabled)]);
        for _ in 0..rng.u8(..4) {
            component.intent_filters.push(filter(script, rng));
        }
        manifest.application.components.push(component);
    }
    script.say(&["add"]);
    let candidate = Candidate {
        is_system,
        ..world::signed(manifest, "somebody")
    };
    script.packages.install(candidate).expect("it is sound");
}

/// Switches a package or one of its components. Android knows fewer states of a component.
fn switch(script: &mut Script, rng: &mut Rng) {
    let name = one(rng, &PACKAGES);
    if script.packages.get(name).is_none() {
        return;
    }
    let class = rng.bool().then(|| one(rng, &CLASSES));
    let states = if class.is_some() { 3 } else { STATES.len() };
    let state = rng.usize(..states);
    script.say(&["state", name, &optional(class), &state.to_string()]);
    script.packages.set_enabled(name, class, STATES[state]);
}

fn query(script: &mut Script, rng: &mut Rng) {
    let (kind, of_manifest) = one(rng, &KINDS);
    let flags = FLAGS.iter().filter(|_| rng.u8(..6) == 0);
    let flags: u64 = flags.fold(0, |all, it| all | it);
    let action = (rng.u8(..8) > 0).then(|| one(rng, &ACTIONS));
    let data = (rng.u8(..8) == 0).then(|| one(rng, &["http://a/b", "file:///c", "other:d"]));
    let mime = (rng.u8(..8) == 0).then(|| one(rng, &["text/plain", "text/css", "image/png"]));
    let categories: Vec<&str> = if rng.u8(..6) == 0 {
        some(rng, &CATEGORIES)
    } else {
        Vec::new()
    };
    let package = (rng.u8(..8) == 0).then(|| one(rng, &PACKAGES));
    script.say(&[
        "query",
        kind,
        &flags.to_string(),
        &optional(action),
        &optional(mime),
        &optional(data),
        &joined(&categories),
        &optional(package),
    ]);
    let intent = Intent {
        action: action.map(str::to_owned),
        data: data.map(Uri::new),
        kind: mime.map(str::to_owned),
        categories: categories.iter().map(|&it| it.to_owned()).collect(),
        package: package.map(str::to_owned),
        ..Intent::default()
    };
    let found = script.packages.query(Kind::of(of_manifest), &intent, flags);
    let said: Vec<String> = found
        .iter()
        .map(|it| {
            let name = it.name();
            let closeness = it.closeness.map_or(0, |it| it.number());
            let (package, class) = (name.package, name.class);
            format!(
                "{package}/{class}:{}:{}:{closeness}",
                it.priority, it.is_default
            )
        })
        .collect();
    script.answers.push(format!("[{}]", said.join(", ")));
}

#[test]
fn aosp_finds_the_same_components_in_the_same_order() {
    let mut rng = Rng::with_seed(SEED);
    let mut all = Script::default();
    for _ in 0..SCRIPTS {
        all.say(&["new"]);
        all.packages = Packages::default();
        for _ in 0..rng.u8(2..5) {
            install(&mut all, &mut rng);
            switch(&mut all, &mut rng);
        }
        for _ in 0..6 {
            query(&mut all, &mut rng);
        }
    }
    let theirs = ask_class("takt.framework.ComponentScript", &all.lines);
    assert_eq!(all.answers.len(), theirs.len());
    let mut answers = all.answers.iter().zip(&theirs);
    let mut script: Vec<&String> = Vec::new();
    for line in &all.lines {
        match &line[..3] {
            "new" => script.clear(),
            "que" => {
                let (ours, theirs) = answers.next().expect("an answer for each");
                assert_eq!(
                    ours, theirs,
                    "ours and AOSP's for {line:?} after {script:#?}"
                );
            }
            _ => script.push(line),
        }
    }
    let several = all.answers.iter().filter(|it| it.contains(", ")).count();
    assert!(several > 4_000, "only {several} queries find several");
}
