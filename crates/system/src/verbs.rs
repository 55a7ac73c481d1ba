// SPDX-License-Identifier: Apache-2.0
//! What commands ask for, carried out: each verb is one function.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs::File;
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::{AcqRel, Acquire};

use agent::payloads::flat;
use agent::{Totals, Wish};
use apk::Apk;
use intent::{Component, Intent};
use rt::clock::{Clock, Monotonic};
use rt::policy::{Policy, Tid};
use rustix::fs::{SealFlags, fcntl_get_seals};
use server::broadcasts::{Sender, Shout};
use server::jobs::Waits;
use server::packages::{Best, Candidate, Grant, Installed, Kind};
use server::processes::ProcessState;
use server::services::StartKind;
use server::store::Store;
use server::{Jobs, Notices, ProcessKey, Server};

use crate::bridge::keys;
use crate::daemon::Shared;
use crate::disk::PACKAGE_BYTES_MAX;
use crate::protocol::{
    Answer, Intention, LedgerRow, ProcessRow, Request, RunState, TEXT_BYTES_MAX,
};
use crate::tasks::{Judgement, judge};
use crate::world::World;

/// `FLAG_ACTIVITY_NEW_TASK`: a person has no task of its own.
const NEW_TASK: u32 = server::activities::flags::NEW_TASK;
/// For processes that were ended to be gone.
const ENDED_NS: u64 = 5_000_000_000;
/// Between looks for that.
const LOOK_NS: u64 = 5_000_000;

/// Clients that follow the logs at once: half of all places are left for other commands.
const FOLLOWERS_MAX: usize = 8;
/// Between looks for new lines.
const LINES_NS: u64 = 50_000_000;
/// Without a line for so long, a client is asked whether it is there.
const QUIET_NS: u64 = 1_000_000_000;

/// What was done in words, or why nothing was.
type Outcome = Result<String, String>;

/// Does what a command asks for. `part` hands a part of the answer on, and says whether anybody
/// still listens.
pub(crate) fn carry_out(
    shared: &Shared,
    request: Request,
    file: Option<OwnedFd>,
    part: impl FnMut(Answer) -> bool,
) -> Outcome {
    match request {
        Request::Install { is_forced } => install(shared, file, is_forced),
        Request::Uninstall { package } => uninstall(shared, &package),
        Request::Processes => processes(shared, part),
        Request::StartActivity(wish) => start_activity(shared, &wish),
        Request::StartService(wish) => start_service(shared, &wish),
        Request::Broadcast(wish) => broadcast(shared, &wish),
        Request::ForceStop { package } => force_stop(shared, &package),
        Request::TrimMemory { package, level } => trim(shared, &package, level),
        Request::Logs { package, follow } => match follow {
            true => follow_logs(shared, package.as_deref(), part),
            false => logs(shared, package.as_deref(), part),
        },
        Request::Dump => dump(shared, part),
        Request::AllowKey { line } => keys::allow(shared.store.lock().disk(), &line),
        Request::RevokeKey { print } => keys::revoke(shared.store.lock().disk(), &print),
        Request::Keys => keys::list(shared.store.lock().disk()),
    }
}

/// A package in memory that nobody can change: what is checked is what is kept.
fn sealed(file: Option<OwnedFd>) -> Result<Vec<u8>, String> {
    let file = file.ok_or("no package came with the request")?;
    let seals = fcntl_get_seals(&file).map_err(|_| "the package is no memory file")?;
    let needed = SealFlags::WRITE | SealFlags::SHRINK | SealFlags::GROW;
    if !seals.contains(needed) {
        return Err("the package's memory file is not sealed".to_owned());
    }
    let mut bytes = Vec::new();
    let mut file = File::from(file).take(PACKAGE_BYTES_MAX + 1);
    std::io::Seek::rewind(file.get_mut()).map_err(|it| it.to_string())?;
    file.read_to_end(&mut bytes).map_err(|it| it.to_string())?;
    match bytes.len() as u64 <= PACKAGE_BYTES_MAX {
        true => Ok(bytes),
        false => Err(format!("more than {PACKAGE_BYTES_MAX} bytes")),
    }
}

/// What is said of a package's real-time tasks beside the others'.
///
/// # Errors
///
/// They do not fit, and nobody forces them.
fn judged(shared: &Shared, package: &apk::Manifest, is_forced: bool) -> Outcome {
    let judgement = shared.with(|it| {
        let others = it.server.packages.iter().map(|it| &it.manifest);
        judge(&shared.machine, package, others)
    });
    let (is_fit, mut said) = match judgement {
        Judgement::NoTask => return Ok(String::new()),
        Judgement::Admitted(verdict) => {
            let text = format!("\nall real-time tasks are in time:\n{verdict}");
            (true, text)
        }
        Judgement::Refused(text) if is_forced => {
            let text = format!("\nforced, so deadlines are not promised any more: {text}");
            (true, text)
        }
        Judgement::Refused(text) => (false, format!("--force installs it all the same: {text}")),
    };
    said.truncate(said.floor_char_boundary(TEXT_BYTES_MAX));
    match is_fit {
        true => Ok(said.trim_end().to_owned()),
        false => Err(said),
    }
}

fn install(shared: &Shared, file: Option<OwnedFd>, is_forced: bool) -> Outcome {
    let bytes = sealed(file)?;
    let package = Apk::parse(&bytes).map_err(|it| it.to_string())?;
    let signers = shared.host.verify(&package)?;
    // From here on installs come one after the other: what is tried is what will be.
    let mut store = shared.store.lock();
    let mut candidate = Candidate {
        manifest: package.manifest.clone(),
        signers: signers.into_iter().collect::<BTreeSet<String>>(),
        code: String::new(),
        // The installer grants what is asked for, as `adb install -g`.
        dangerous: Grant::Granted,
        is_system: false,
    };
    let mut trial = shared.with(|it| it.server.packages.clone());
    let refused = |it: server::packages::InstallError| it.to_string();
    trial.install(candidate.clone()).map_err(refused)?;
    let judged = judged(shared, &candidate.manifest, is_forced)?;
    let code = store.keep_code(&bytes).map_err(|it| it.to_string())?;
    let unpacked = store.disk().unpack(&code, &package, shared.host.abi());
    if let Err(error) = unpacked {
        // What belongs to nobody goes when the store is opened the next time, if not now.
        let _ = server::store::Disk::remove(store.disk(), &format!("code/{code}"));
        return Err(error.to_string());
    }
    let name = candidate.manifest.package.clone();
    candidate.code = code;
    let mut trial = shared.with(|it| it.server.packages.clone());
    trial.install(candidate.clone()).map_err(refused)?;
    let settings = trial.get(&name).map(|it| it.settings.clone());
    let settings = settings.ok_or("it is not there after its install")?;
    put(&mut store, &settings)?;
    let version = settings.version;
    let installed = shared.with(|it| it.server.install(candidate, Monotonic.now_ns()));
    match installed.map_err(refused)? {
        Installed::New(uid) => Ok(format!("installed {name} {version}, user {uid}{judged}")),
        Installed::Replaced(uid) => Ok(format!("replaced {name} by {version}, user {uid}{judged}")),
    }
}

/// Keeps a package's settings. Where the disk fails, what it has is what counts.
fn put(
    store: &mut Store<crate::disk::RealDisk>,
    settings: &server::packages::Settings,
) -> Result<(), String> {
    let Err(error) = store.put(settings) else {
        return Ok(());
    };
    store.reopen().map_err(|it| format!("{error}; then {it}"))?;
    match store.packages().any(|it| it == settings) {
        true => Ok(()),
        false => Err(error.to_string()),
    }
}

fn uninstall(shared: &Shared, package: &str) -> Outcome {
    let mut store = shared.store.lock();
    stopped(shared, package)?;
    if let Err(error) = store.remove(package) {
        store.reopen().map_err(|it| format!("{error}; then {it}"))?;
        if store.packages().any(|it| it.name == package) {
            return Err(error.to_string());
        }
    }
    shared.with(|it| it.server.uninstall(package, Monotonic.now_ns()));
    Ok(format!("uninstalled {package}"))
}

fn force_stop(shared: &Shared, package: &str) -> Outcome {
    let ended = stopped(shared, package)?;
    Ok(format!("stopped {package}: {ended} processes ended"))
}

fn trim(shared: &Shared, package: &str, level: i32) -> Outcome {
    match shared.with(|it| it.server.trim(package, level)) {
        0 => Err(format!("no process of {package} runs")),
        count => Ok(format!("{count} processes of {package} are told")),
    }
}

/// Ends all that runs of a package, and waits until it is gone.
fn stopped(shared: &Shared, package: &str) -> Result<usize, String> {
    let now = Monotonic.now_ns();
    let (is_there, ending) = shared.with(|it| {
        let all = it.server.processes.iter();
        let own = all.filter(|(_, its)| its.package == package);
        let own: Vec<_> = own.map(|(id, _)| id).collect();
        let own: Vec<_> = own
            .into_iter()
            .filter(|id| it.running.contains_key(id))
            .collect();
        let uid = it.server.packages.get(package).map(|it| it.settings.uid);
        if let Some(uid) = uid {
            // Those of others' PendingIntents, which it was given, go as well.
            it.alarms.end_user(uid);
        }
        (it.server.force_stop(package, now), own)
    });
    if !is_there {
        return Err(not_installed(package));
    }
    let is_left = |it: &mut World| ending.iter().any(|id| it.running.contains_key(id));
    while shared.with(|it| is_left(it)) {
        if Monotonic.now_ns() > now + ENDED_NS {
            return Err(format!("{package} does not end, although it was killed"));
        }
        Monotonic.sleep_until(Monotonic.now_ns() + LOOK_NS);
    }
    Ok(ending.len())
}

fn not_installed(package: &str) -> String {
    format!("{package} is not installed: `takt dumpsys` lists what is")
}

/// As an application's process reads it, and what the server looks at.
fn wish(intention: &Intention) -> Wish {
    let component = |(package, class): &(String, String)| {
        flat(&Component {
            package: package.clone(),
            class: class.clone(),
        })
    };
    let extras = intention.extras.iter();
    Wish {
        action: intention.action.clone(),
        data: intention.data.clone(),
        r#type: intention.kind.clone(),
        identifier: None,
        target: intention.package.clone(),
        component: intention.component.as_ref().map(component),
        categories: intention.categories.clone(),
        flags: intention.flags.cast_signed(),
        extras: extras
            .flat_map(|(name, text)| [name.clone(), text.clone()])
            .collect(),
        ..Wish::default()
    }
}

fn start_activity(shared: &Shared, intention: &Intention) -> Outcome {
    let mut intention = intention.clone();
    intention.flags |= NEW_TASK;
    shared.with(|state| {
        let asked = state.asked(0, wish(&intention));
        let (asked, now) = (asked.map_err(|it| it.to_string())?, Monotonic.now_ns());
        let found = component(state, Kind::Activity, &asked.intent)?;
        let payload = asked.payload;
        let started = state.server.start_activity(asked, now);
        let (_, name) = started.map_err(|it| it.to_string())?;
        state.payloads.resolve(payload, &name);
        Ok(format!("started {}", flat(&found)))
    })
}

fn start_service(shared: &Shared, intention: &Intention) -> Outcome {
    shared.with(|state| {
        let asked = state.asked(0, wish(intention));
        let (asked, now) = (asked.map_err(|it| it.to_string())?, Monotonic.now_ns());
        let found = component(state, Kind::Service, &asked.intent)?;
        let payload = asked.payload;
        let started = state.server.start_service(&asked, StartKind::Ordinary, now);
        started.map_err(|it| it.to_string())?;
        state.payloads.resolve(payload, &found);
        Ok(format!("started {}", flat(&found)))
    })
}

fn broadcast(shared: &Shared, intention: &Intention) -> Outcome {
    shared.with(|state| {
        let (person, now) = (Sender::default(), Monotonic.now_ns());
        let sent = state.broadcast(person, wish(intention), Shout::default(), now);
        let count = sent.map_err(|it| it.to_string())?;
        Ok(format!("sent to {count} receivers"))
    })
}

/// Who takes an intent; of an activity what its other name stands for.
fn component(state: &World, kind: Kind, intent: &Intent) -> Result<Component, String> {
    let flags = match kind {
        Kind::Activity => server::packages::MATCH_DEFAULT_ONLY,
        _ => 0,
    };
    match state.server.packages.best(kind, intent, flags) {
        Best::One(found) if kind == Kind::Activity => {
            Ok(found.package.activity(found.component).component)
        }
        Best::One(found) => Ok(found.name()),
        Best::Several(all) => {
            let all: Vec<String> = all.iter().map(|it| flat(&it.name())).collect();
            Err(format!(
                "several take it, name one by -n: {}",
                all.join(", ")
            ))
        }
        Best::None => Err(match &intent.component {
            Some(name) if state.server.packages.get(&name.package).is_none() => {
                not_installed(&name.package)
            }
            Some(name) => format!("{} has no such component: {}", name.package, name.class),
            None => "nothing that is installed takes it".to_owned(),
        }),
    }
}

fn processes(shared: &Shared, mut part: impl FnMut(Answer) -> bool) -> Outcome {
    let rows = shared.with(|it| rows(it));
    let count = rows.len();
    for mut row in rows {
        if let Some(pid) = row.pid {
            of_kernel(pid, &mut row);
        }
        if !part(Answer::Process(row)) {
            break;
        }
    }
    Ok(format!("{count} processes"))
}

/// Processes, and names of services that wait until their process may start again.
fn rows(state: &World) -> Vec<ProcessRow> {
    let now = Monotonic.now_ns();
    let until = |at: u64| Some(at.saturating_sub(now) / 1_000_000);
    let processes = &state.server.processes;
    let mut rows = Vec::new();
    let row = |key: &ProcessKey, package: &str| ProcessRow {
        name: key.name.clone(),
        package: package.to_owned(),
        user: key.uid,
        pid: None,
        state: RunState::HeldBack,
        faults: processes.faults(key),
        restart_in_ms: None,
        memory_kib: None,
        threads: None,
        real_time_threads: None,
        policies: Vec::new(),
        real_time_max: None,
        ledger: None,
        sandbox: None,
    };
    for (id, it) in processes.iter() {
        let running = state.running.get(&id);
        let pid = running.map(|it| it.pid.unsigned_abs());
        let bounds = state.bounds(id);
        let (run, restart_in_ms) = match it.state {
            ProcessState::Running => (RunState::Running, None),
            ProcessState::Starting(_) => (RunState::Starting, None),
            ProcessState::Waiting(at) => (RunState::HeldBack, until(at)),
        };
        rows.push(ProcessRow {
            pid,
            state: run,
            restart_in_ms,
            ledger: running.and_then(|it| it.totals()).map(ledger_row),
            sandbox: bounds.and_then(|it| it.sandbox.clone()),
            real_time_max: bounds.and_then(|it| it.granted).map(|it| it.get().into()),
            ..row(&it.key, &it.package)
        });
    }
    for (_, service) in state.server.services.iter() {
        let key = &service.declaration.process;
        let Some(at) = service.restart_at() else {
            continue;
        };
        let is_named = rows
            .iter()
            .any(|it| it.name == key.name && it.user == key.uid);
        if !is_named {
            rows.push(ProcessRow {
                restart_in_ms: until(at),
                ..row(key, &service.declaration.component.package)
            });
        }
    }
    rows
}

fn ledger_row(of: Totals) -> LedgerRow {
    LedgerRow {
        releases: of.releases,
        skipped: of.skipped,
        deadline_misses: of.deadline_misses,
        cost_overruns: of.cost_overruns,
    }
}

/// Memory and threads, as /proc has them; nothing of a process that has gone.
fn of_kernel(pid: u32, row: &mut ProcessRow) {
    let read = |name: &str| std::fs::read_to_string(format!("/proc/{pid}/{name}"));
    let (status, limits) = (read("status"), read("limits"));
    let field = |text: &str, name: &str| {
        let line = text.lines().find_map(|it| it.strip_prefix(name))?;
        line.split_whitespace().next()?.parse::<u64>().ok()
    };
    let small = |it: u64| u32::try_from(it).unwrap_or(u32::MAX);
    row.memory_kib = field(&status.unwrap_or_default(), "VmRSS:");
    let limit = field(&limits.unwrap_or_default(), "Max realtime priority");
    // By its limit, or by the server.
    row.real_time_max = row.real_time_max.max(limit.map(small));
    let Ok(threads) = std::fs::read_dir(format!("/proc/{pid}/task")) else {
        return;
    };
    let tids = threads.filter_map(|it| it.ok()?.file_name().to_str()?.parse().ok());
    let (mut count, mut policies) = (0, BTreeMap::<String, u32>::new());
    for tid in tids.filter_map(Tid::new) {
        count += 1;
        if let Ok(policy @ (Policy::Fifo(_) | Policy::RoundRobin(_) | Policy::Deadline(_))) =
            Policy::of(tid)
        {
            *policies.entry(policy.to_string()).or_default() += 1;
        }
    }
    row.threads = Some(count);
    row.real_time_threads = Some(policies.values().sum());
    row.policies = policies.into_iter().collect();
}

fn logs(shared: &Shared, package: Option<&str>, mut part: impl FnMut(Answer) -> bool) -> Outcome {
    let (lines, _) = shared.with(|it| it.logs.since(0, package));
    let count = lines.len();
    for line in lines {
        if !part(Answer::Line(line)) {
            break;
        }
    }
    Ok(format!("{count} lines"))
}

/// Until the client goes, which is seen when it is told something.
fn follow_logs(
    shared: &Shared,
    package: Option<&str>,
    mut part: impl FnMut(Answer) -> bool,
) -> Outcome {
    let _place = Follower::take()?;
    let (mut number, mut quiet_ns) = (0, 0);
    loop {
        let (lines, last) = shared.with(|it| it.logs.since(number, package));
        number = last;
        quiet_ns = match lines.is_empty() {
            true => quiet_ns + LINES_NS,
            false => 0,
        };
        let is_due = quiet_ns >= QUIET_NS;
        let quiet = is_due
            .then(|| std::mem::take(&mut quiet_ns))
            .map(|_| Answer::Quiet);
        let answers = lines.into_iter().map(Answer::Line).chain(quiet);
        for answer in answers {
            if !part(answer) {
                return Ok(String::new());
            }
        }
        Monotonic.sleep_until(Monotonic.now_ns() + LINES_NS);
    }
}

/// One of the clients that follow the logs.
struct Follower;

static FOLLOWERS: AtomicUsize = AtomicUsize::new(0);

impl Follower {
    fn take() -> Result<Self, String> {
        let taken =
            FOLLOWERS.fetch_update(AcqRel, Acquire, |it| (it < FOLLOWERS_MAX).then_some(it + 1));
        match taken {
            Ok(_) => Ok(Self),
            Err(_) => Err(format!("{FOLLOWERS_MAX} follow the logs already: use -d")),
        }
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        FOLLOWERS.fetch_sub(1, AcqRel);
    }
}

fn dump(shared: &Shared, mut part: impl FnMut(Answer) -> bool) -> Outcome {
    let mut text = shared.with(|it| dumped(it));
    text.push_str(&shared.binder.dump());
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let mut end = rest.len().min(TEXT_BYTES_MAX);
        while !rest.is_char_boundary(end) {
            end -= 1;
        }
        let (now, later) = rest.split_at(end);
        if !part(Answer::Text(now.to_owned())) {
            break;
        }
        rest = later;
    }
    Ok(String::new())
}

fn dump_notices(notices: &Notices, text: &mut String) {
    let all = notices.list();
    // Nothing fails that is written to a text.
    let _ = writeln!(text, "notifications: {}", all.len());
    for (key, it) in all {
        let tag = key.tag.as_deref().unwrap_or("no tag");
        let kind = match (it.service.is_some(), it.is_ongoing) {
            (true, _) => ", of a service in the foreground",
            (false, true) => ", ongoing",
            (false, false) => "",
        };
        let _ = writeln!(
            text,
            "  {} {} ({tag}) in channel {:?}{kind}: {:?} {:?}",
            key.package, key.id, it.channel, it.title, it.text
        );
    }
}

/// Whether the processors are held at a level, and for whom.
fn frequency(server: &Server) -> String {
    let Some(level) = server.frequency.level() else {
        return "not held".to_owned();
    };
    let holders = server.frequency.holders();
    let named = holders.filter_map(|(id, count)| Some((server.processes.get(id)?, count)));
    let named: Vec<String> = named
        .map(|(it, count)| format!("{} {count} times", it.key.name))
        .collect();
    format!(
        "held at {} percent by {}",
        level.percent(),
        named.join(", ")
    )
}

fn dump_jobs(jobs: &Jobs, text: &mut String) {
    let (now, (count, running)) = (Monotonic.now_ns(), jobs.counts());
    // Nothing fails that is written to a text.
    let _ = writeln!(text, "jobs: {count}, {running} of them run");
    for it in jobs.iter() {
        let key = &it.asked.key;
        let space = key
            .space
            .as_deref()
            .map_or(String::new(), |it| format!(" of {it:?}"));
        let waits = match jobs.waits(it, now) {
            Waits::Runs => "runs".to_owned(),
            Waits::Time => format!("waits {} ms", (it.earliest_ns - now) / 1_000_000),
            Waits::Place => "waits for a place".to_owned(),
            Waits::Conditions(lacks) => format!("waits for {}", lacks.words().join(", ")),
        };
        let kept = match it.asked.kept {
            Some(_) => ", persisted",
            None => "",
        };
        let (name, failures) = (flat(&it.asked.service.component), it.failures);
        let _ = writeln!(
            text,
            "  job {}{space} {name}: {waits}, {failures} failures{kept}",
            key.id
        );
    }
}

fn dump_tasks(server: &Server, text: &mut String) {
    // Nothing fails that is written to a text.
    let _ = writeln!(
        text,
        "tasks, from the back: {}",
        server.activities.tasks().len()
    );
    for task in server.activities.tasks() {
        let _ = writeln!(text, "  task {} {:?}", task.id.0, task.affinity);
        for id in &task.activities {
            if let Some(record) = server.activities.get(*id) {
                let name = flat(&record.declaration.component);
                let saved = match record.saved {
                    Some(_) => ", saved",
                    None => "",
                };
                let _ = writeln!(
                    text,
                    "    activity {} {name} {:?}{saved}",
                    id.0, record.state
                );
            }
        }
    }
}

fn dumped(state: &World) -> String {
    let mut text = String::new();
    let server = &state.server;
    // Nothing fails that is written to a text.
    let _ = writeln!(text, "packages: {}", server.packages.len());
    for it in server.packages.iter() {
        let settings = &it.settings;
        let _ = writeln!(
            text,
            "  {} version {} user {} in {}",
            settings.name, settings.version, settings.uid, settings.code
        );
    }
    let template = state.template.map(|it| format!("process {it}"));
    let template = template.as_deref().unwrap_or("none");
    let _ = writeln!(text, "template: {template}");
    let _ = writeln!(text, "processes: {}", server.processes.len());
    for it in rows(state) {
        let _ = writeln!(
            text,
            "  {} of {}: {:?}, pid {:?}, {} faults",
            it.name, it.package, it.state, it.pid, it.faults
        );
    }
    dump_tasks(server, &mut text);
    let _ = writeln!(text, "services: {}", server.services.len());
    for (id, it) in server.services.iter() {
        let name = flat(&it.declaration.component);
        let (is_started, is_created) = (it.is_started, it.is_created);
        let _ = writeln!(
            text,
            "  service {} {name}: made {is_created}, started {is_started}",
            id.0
        );
    }
    dump_jobs(&server.jobs, &mut text);
    dump_notices(&server.notices, &mut text);
    let _ = writeln!(text, "frequency: {}", frequency(server));
    let ((payloads, bytes), (lines, dropped)) = (state.payloads.counts(), state.logs.counts());
    let _ = writeln!(
        text,
        "intents: {payloads} with {bytes} bytes\nlog: {lines} lines, {dropped} dropped\n\
         broadcasts that were lost: {}",
        state.lost
    );
    let (receivers, ordered, sticky) = server.broadcasts.counts();
    let _ = writeln!(
        text,
        "receivers of code: {receivers}\nordered broadcasts: {ordered}, sticky: {sticky}\n\
         pending intents: {}\nalarms: {}\nproviders: {}, changes nobody heard of: {}",
        server.pending.len(),
        state.alarms.len(),
        server.providers.len(),
        state.contents.lost
    );
    text
}
