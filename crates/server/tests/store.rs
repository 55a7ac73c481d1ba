// SPDX-License-Identifier: Apache-2.0
//! A crash after each step of each change: what was acknowledged is there, and nothing by halves.

use std::collections::{BTreeMap, BTreeSet};

use server::grants::KeptGrant;
use server::jobs::KeptJob;
use server::packages::{Enabled, Settings};
use server::store::simulated::SimulatedDisk;
use server::store::{Disk, Store, StoreError};

const SEED: u64 = 22;
/// Crashes differ in what they leave, so each step is tried so often.
const TRIES: u64 = 24;

/// Packages with version and code, who keeps a grant of whose, and who has a job.
type Model = (
    BTreeMap<String, (u64, Vec<u8>)>,
    BTreeSet<(String, String)>,
    BTreeSet<String>,
);

#[derive(Clone, Copy, Debug)]
enum Change {
    Install(&'static str, u64),
    Switch(&'static str),
    Lend(&'static str, &'static str),
    Plan(&'static str),
    Remove(&'static str),
}

const SCRIPT: [Change; 13] = [
    Change::Install("p.one", 1),
    Change::Install("p.two", 1),
    Change::Install("p.one", 2),
    Change::Lend("p.two", "p.one"),
    Change::Switch("p.two"),
    Change::Plan("p.one"),
    Change::Plan("p.two"),
    Change::Lend("p.two", "p.two"),
    Change::Remove("p.one"),
    Change::Install("p.one", 3),
    Change::Lend("p.one", "p.two"),
    Change::Remove("p.two"),
    Change::Install("p.three", 1),
];

fn code(name: &str, version: u64) -> Vec<u8> {
    format!("{name} in version {version}")
        .repeat(9)
        .into_bytes()
}

fn settings(name: &str, version: u64, code: String) -> Settings {
    Settings {
        name: name.to_owned(),
        version,
        signers: ["s".to_owned()].into(),
        uid: 10_000,
        code,
        is_system: false,
        granted: Default::default(),
        enabled: Enabled::Default,
        components: BTreeMap::new(),
    }
}

fn job(package: &str) -> KeptJob {
    let text = format!(
        r#"{{"package": "{package}", "space": null, "id": 7, "class": "Worker", "terms":
        {{"latency_ns": 5, "deadline_ns": null, "period": null, "back_off": {{"first_ns": 1,
        "is_linear": true}}, "needs": 1, "priority": 300, "is_expedited": false}},
        "earliest_ns": 8, "latest_ns": 9, "period_end_ns": 0, "sdk": 35, "bytes": "00ff"}}"#
    );
    serde_json::from_str(&text).expect("a job")
}

fn apply(store: &mut Store<SimulatedDisk>, change: Change) -> Result<(), StoreError> {
    match change {
        Change::Install(name, version) => {
            let code = store.keep_code(&code(name, version))?;
            store.put(&settings(name, version, code))
        }
        Change::Switch(name) => {
            let found = store.packages().find(|it| it.name == name).cloned();
            let mut found = found.expect("the script installs it before");
            found.enabled = Enabled::Disabled;
            store.put(&found)
        }
        Change::Lend(holder, provider) => {
            let mut grants = store.grants().to_vec();
            grants.push(KeptGrant {
                holder: holder.to_owned(),
                provider: provider.to_owned(),
                address: "content://a/\u{1}".to_owned(),
                is_prefix: false,
                modes: 1,
                since_ms: 7,
            });
            store.put_grants(grants)
        }
        Change::Plan(package) => {
            let mut jobs = store.jobs().to_vec();
            jobs.push(job(package));
            store.put_jobs(jobs)
        }
        Change::Remove(name) => store.remove(name),
    }
}

fn model(changes: &[Change]) -> Model {
    let (mut model, mut grants, mut jobs) = Model::default();
    for change in changes {
        match *change {
            Change::Install(name, version) => {
                model.insert(name.to_owned(), (version, code(name, version)));
            }
            Change::Switch(_) => {}
            Change::Lend(holder, provider) => {
                grants.insert((holder.to_owned(), provider.to_owned()));
            }
            Change::Plan(package) => {
                jobs.insert(package.to_owned());
            }
            Change::Remove(name) => {
                model.remove(name);
                jobs.remove(name);
                grants.retain(|(holder, provider)| holder != name && provider != name);
            }
        }
    }
    (model, grants, jobs)
}

fn kept(store: &mut Store<SimulatedDisk>) -> Model {
    let all: Vec<Settings> = store.packages().cloned().collect();
    let mut packages = BTreeMap::new();
    for it in all {
        let code = store.code(&it).expect("each has its code");
        packages.insert(it.name, (it.version, code));
    }
    let grants = store.grants().iter();
    let grants = grants.map(|it| (it.holder.clone(), it.provider.clone()));
    let jobs = store.jobs().iter().inspect(|it| {
        assert_eq!(**it, job(&it.package), "whole");
    });
    let jobs = jobs.map(|it| it.package.clone());
    (packages, grants.collect(), jobs.collect())
}

/// Steps of the whole script, without a crash.
fn steps() -> u64 {
    let mut store = Store::open(SimulatedDisk::default()).expect("it opens");
    for change in SCRIPT {
        apply(&mut store, change).expect("nothing fails");
    }
    assert_eq!(kept(&mut store), model(&SCRIPT));
    store.disk().steps()
}

#[test]
fn a_crash_after_each_step_keeps_what_was_acknowledged() {
    let steps = steps();
    assert!(steps > 80, "only {steps} steps");
    for step in 0..steps {
        for attempt in 0..TRIES {
            let seed = SEED + step * TRIES + attempt;
            crash(step, &mut fastrand::Rng::with_seed(seed));
        }
    }
}

fn crash(step: u64, rng: &mut fastrand::Rng) {
    let mut disk = SimulatedDisk::default();
    disk.crash_after(Some(step));
    let mut acknowledged = 0;
    let mut last = None;
    if let Ok(mut store) = Store::open(disk.clone()) {
        for change in SCRIPT {
            if apply(&mut store, change).is_err() {
                break;
            }
            acknowledged += 1;
        }
        last = Some(store.disk().clone());
    }
    let disk = last.unwrap_or(disk);
    let left = disk.after_crash(|below| rng.usize(..below));
    let mut store = Store::open(left).expect("it opens after any crash");
    let found = kept(&mut store);
    let before = model(&SCRIPT[..acknowledged]);
    let after = model(&SCRIPT[..SCRIPT.len().min(acknowledged + 1)]);
    assert!(
        found == before || found == after,
        "step {step}: {found:?} is neither {before:?} nor {after:?}"
    );
    let names: Vec<_> = found.0.keys().cloned().collect();
    assert_eq!(store.disk().places().expect("names"), names, "a place each");
    assert_eq!(
        store.disk().codes().expect("names").len(),
        names.len(),
        "no other code"
    );
    // And it goes on.
    apply(&mut store, Change::Install("p.new", 1)).expect("it goes on");
    assert!(kept(&mut store).0.contains_key("p.new"));
}

#[test]
fn damage_is_named_and_nothing_is_forgotten_silently() {
    let mut store = Store::open(SimulatedDisk::default()).expect("it opens");
    apply(&mut store, Change::Install("p.one", 1)).expect("nothing fails");
    let good = store
        .disk()
        .read("state")
        .expect("names")
        .expect("it is there");
    for at in 0..good.len() {
        let mut bad = good.clone();
        bad[at] ^= 0x20;
        let mut disk = store.disk().clone();
        disk.write("state", &bad).expect("nothing fails");
        let opened = Store::open(disk);
        assert!(matches!(opened, Err(StoreError::Damaged(_))), "byte {at}");
    }
}
