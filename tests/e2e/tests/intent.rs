// SPDX-License-Identifier: Apache-2.0
//! Which filter takes which intent: `crates/intent` against AOSP's own classes, on random scripts.

use e2e::apps::ask_class;
use fastrand::Rng;
use intent::{Authority, Filter, FilterId, Intent, Pattern, PatternKind, Resolver, Uri};

const SCRIPTS: u64 = 10_000;
const SEED: u64 = 26;

const ACTIONS: [&str; 3] = ["VIEW", "SEND", "EDIT"];
const CATEGORIES: [&str; 4] = [intent::CATEGORY_DEFAULT, "BROWSABLE", "HOME", "Ä"];
const SCHEMES: [&str; 5] = ["http", "content", "file", "HTTP", ""];
const HOSTS: [&str; 7] = [
    "a.example",
    "*.example",
    "*",
    "A.Example",
    "b",
    "",
    "ı.example",
];
const PORTS: [&str; 4] = ["", "80", "8080", "0"];
const TYPES: [&str; 8] = [
    "text/plain",
    "text/*",
    "*/*",
    "image/png",
    "image/*",
    "text",
    "/x",
    "text/",
];
const PACKAGES: [&str; 3] = ["p", "q", "r"];
/// What texts, paths and patterns are made of.
const PIECES: [&str; 20] = [
    "a", "b", "/", "/a", ".", "*", ".*", "\\", "[a-b]", "[^a]", "+", "{1,2}", "%20", "%", "%C3%A4",
    "?", "#", ":", "@", "ä",
];

/// A script as AOSP's side reads it, and what ours answers.
#[derive(Default)]
struct Script {
    lines: Vec<String>,
    answers: Vec<String>,
    resolver: Resolver<usize>,
    filters: Vec<FilterId>,
}

impl Script {
    fn say(&mut self, fields: &[&str]) {
        self.lines.push(fields.join("\u{1f}"));
    }
}

fn some<'a>(rng: &mut Rng, of: &[&'a str], max: usize) -> Vec<&'a str> {
    let mut chosen: Vec<&str> = Vec::new();
    for _ in 0..rng.usize(..=max) {
        let it = of[rng.usize(..of.len())];
        if !chosen.contains(&it) {
            chosen.push(it);
        }
    }
    chosen
}

fn one<'a>(rng: &mut Rng, of: &[&'a str]) -> &'a str {
    of[rng.usize(..of.len())]
}

fn text(rng: &mut Rng) -> String {
    (0..rng.usize(..6)).map(|_| one(rng, &PIECES)).collect()
}

/// The default half of the time.
fn sometimes<T: Default>(rng: &mut Rng, make: impl FnOnce(&mut Rng) -> T) -> T {
    if rng.bool() { make(rng) } else { T::default() }
}

fn optional(it: Option<&str>) -> String {
    it.map_or_else(|| "-".to_owned(), |it| format!("+{it}"))
}

fn joined(of: &[impl AsRef<str>]) -> String {
    let of: Vec<String> = of.iter().map(|it| format!("+{}", it.as_ref())).collect();
    of.join("\u{1e}")
}

/// A pattern that can be read, as Android's number for its kind and the text.
fn pattern(rng: &mut Rng) -> (String, Pattern) {
    loop {
        let (number, kind, text) = raw_pattern(rng);
        if let Some(pattern) = Pattern::new(kind, text.clone()) {
            return (format!("{number}{text}"), pattern);
        }
    }
}

fn raw_pattern(rng: &mut Rng) -> (usize, PatternKind, String) {
    let kinds = [
        PatternKind::Literal,
        PatternKind::Prefix,
        PatternKind::SimpleGlob,
        PatternKind::AdvancedGlob,
        PatternKind::Suffix,
    ];
    let number = rng.usize(..kinds.len());
    (number, kinds[number], text(rng))
}

fn patterns(rng: &mut Rng) -> (Vec<String>, Vec<Pattern>) {
    let count = sometimes(rng, |it| it.usize(..3));
    (0..count).map(|_| pattern(rng)).unzip()
}

fn uri(rng: &mut Rng) -> String {
    let scheme = one(rng, &["http:", "content:", "file:", "HTTP:", ":", ""]);
    let authority = if rng.u8(..4) > 0 {
        let host = one(
            rng,
            &["a.example", "x.example", "A.EXAMPLE", "b", "", "I.example"],
        );
        let port = one(rng, &["", ":80", ":8080", ":0", ":", ":x"]);
        let user = one(rng, &["", "", "me@", "me:1@"]);
        format!("//{user}{host}{port}")
    } else {
        String::new()
    };
    format!("{scheme}{authority}{}", text(rng))
}

fn add_filter(script: &mut Script, rng: &mut Rng) {
    let mut filter = Filter::new(rng.i32(-2..3));
    let package = one(rng, &PACKAGES);
    let actions = some(rng, &ACTIONS, 2);
    let categories = some(rng, &CATEGORIES, 4);
    let schemes = sometimes(rng, |it| some(it, &SCHEMES, 3));
    let types = sometimes(rng, |it| some(it, &TYPES, 3));
    let own = |of: &[&str]| of.iter().map(|it| (*it).to_owned()).collect();
    filter.actions = own(&actions);
    filter.categories = own(&categories);
    filter.schemes = own(&schemes);
    let (parts, patterns_of_parts) = patterns(rng);
    filter.scheme_specific_parts = patterns_of_parts;
    let (paths, patterns_of_paths) = patterns(rng);
    filter.paths = patterns_of_paths;
    let mut authorities = Vec::new();
    for host in sometimes(rng, |it| some(it, &HOSTS, 3)) {
        let port = one(rng, &PORTS);
        authorities.push(format!("{host}:{port}"));
        filter
            .authorities
            .push(Authority::new(host, port.parse().ok()));
    }
    for kind in &types {
        // AOSP's side passes over what is no type, too.
        let _ = filter.add_type(kind);
    }
    script.say(&[
        "filter",
        &filter.priority.to_string(),
        package,
        &joined(&actions),
        &joined(&categories),
        &joined(&schemes),
        &joined(&parts),
        &joined(&authorities),
        &joined(&paths),
        &joined(&types),
    ]);
    let number = script.filters.len();
    script
        .filters
        .push(script.resolver.add(number, package, filter));
}

fn query(script: &mut Script, rng: &mut Rng) {
    let action = (rng.u8(..4) > 0).then(|| one(rng, &ACTIONS).to_owned());
    let kind = sometimes(rng, |it| Some(one(it, &TYPES).to_owned()));
    let data = sometimes(rng, |it| Some(uri(it)));
    let package = (rng.u8(..8) == 0).then(|| one(rng, &PACKAGES).to_owned());
    let categories = sometimes(rng, |it| some(it, &CATEGORIES, 1));
    let default_only = rng.u8(..4) == 0;
    let intent = Intent {
        action: action.clone(),
        data: data.clone().map(Uri::new),
        kind: kind.clone(),
        categories: categories.iter().map(|it| (*it).to_owned()).collect(),
        package: package.clone(),
        ..Intent::default()
    };
    script.say(&[
        "query",
        &optional(action.as_deref()),
        &optional(kind.as_deref()),
        &optional(data.as_deref()),
        &joined(&categories),
        &optional(package.as_deref()),
        if default_only { "default" } else { "all" },
    ]);
    let found = script.resolver.query(&intent, default_only);
    let found: Vec<String> = found
        .iter()
        .map(|it| {
            format!(
                "{}:{}:{}",
                it.filter.priority,
                it.owner,
                it.closeness.number()
            )
        })
        .collect();
    script.answers.push(format!("[{}]", found.join(", ")));
}

fn parts(script: &mut Script, rng: &mut Rng) {
    let text = uri(rng);
    let uri = Uri::new(text.clone());
    let said = |it: Option<String>| it.unwrap_or_else(|| "null".to_owned());
    script.say(&["uri", &text]);
    let answer = format!(
        "{} {} {} {} {}",
        said(uri.scheme().map(str::to_owned)),
        said(uri.host()),
        uri.port().unwrap_or(-1),
        said(uri.path()),
        uri.scheme_specific_part()
    );
    script.answers.push(answer.replace(['\n', '\r'], "!"));
}

fn match_pattern(script: &mut Script, rng: &mut Rng) {
    let (number, kind, pattern) = raw_pattern(rng);
    let text = text(rng);
    script.say(&["pattern", &format!("{number}{pattern}"), &text]);
    let matches = Pattern::new(kind, pattern).is_some_and(|it| it.matches(&text));
    script.answers.push(matches.to_string());
}

fn script(script: &mut Script, rng: &mut Rng) {
    script.say(&["new"]);
    script.resolver = Resolver::default();
    script.filters.clear();
    for _ in 0..rng.usize(1..8) {
        add_filter(script, rng);
    }
    for _ in 0..4 {
        query(script, rng);
    }
    let number = rng.usize(..script.filters.len());
    assert_eq!(script.resolver.remove(script.filters[number]), Some(number));
    script.say(&["remove", &number.to_string()]);
    query(script, rng);
    parts(script, rng);
    match_pattern(script, rng);
}

#[test]
fn aosp_answers_as_ours() {
    let mut rng = Rng::with_seed(SEED);
    let mut all = Script::default();
    for _ in 0..SCRIPTS {
        script(&mut all, &mut rng);
    }
    let theirs = ask_class("takt.framework.IntentScript", &all.lines);
    let mut answers = all.answers.iter().zip(&theirs);
    let mut script = Vec::new();
    for line in &all.lines {
        match &line[..3] {
            "new" => script.clear(),
            "que" | "uri" | "pat" => {
                let (ours, theirs) = answers.next().expect("an answer for each");
                assert_eq!(
                    ours, theirs,
                    "ours and AOSP's for {line:?} after {script:#?}"
                );
            }
            _ => script.push(line),
        }
    }
    assert_eq!(all.answers.len(), theirs.len());
    let full = all
        .answers
        .iter()
        .filter(|it| it.starts_with("[") && *it != "[]");
    let hits = full.count();
    assert!(hits > 5_000, "only {hits} queries find a filter");
}
