// SPDX-License-Identifier: Apache-2.0
//! The server's loop: [`Daemon`] starts processes, hears their deaths and what they say, lets
//! commands in, and keeps the time. [`Host`] is what it is told about starting a process.
//!
//! One thread starts processes and hears them; loopers serve their calls; each command has a
//! thread. What they share is [`Shared`].

// Lock order: store, state.

use std::collections::BTreeMap;
use std::io::{self, Read as _};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use agent::place::Place;
use agent::senders::SenderNode;
use agent::{Agent, Frequencies, ISystemStub, Keeper, Start, State};
use apk::Apk;
use binder::{Binder, Process, Side};
use rt::bell::{Bell, Bells, Hearing};
use rt::clock::{Clock, Monotonic};
use rt::frequency::Cpufreq;
use rt::peer::PidFd;
use rt::policy::{Policy, Priority};
use rt::socket::Socket;
use rt::stop::StopBell;
use rt::sync::PiMutex;
use rt::sys::Errno;
use rt::thread::Builder;
use rustix::process::{Resource, getrlimit, setrlimit};
use server::memory::{Claims, MemoryError};
use server::packages::{InstallError, Settings};
use server::processes::Limits;
use server::store::{Store, StoreError};
use server::{Death, ProcessId, ProcessKey, Server};
use timer::AlarmClock;

use crate::disk::RealDisk;
use crate::door::Door;
use crate::inside::Inside;
use crate::jobs::Looks;
use crate::protocol::BoundRow;
use crate::remains::{adopt_orphans, end_all_of};
use crate::saver::Saver;
use crate::sweeps::Sweeps;
use crate::template::{Again, Entry, Running, Template};
use crate::world::World;

/// What the loop hears: each process has two numbers of its own behind these.
const DOOR: u64 = 0;
const BELL: u64 = 1;
const STOP: u64 = 2;
const TEMPLATE: u64 = 3;
const FIRST: u64 = 16;
/// For descriptors to be given back.
const SHUT_NS: u64 = 100_000_000;
/// Files that a server holds at once: some twenty for each of 64 processes, with room.
const FILES_MAX: u64 = 16_384;
/// The bound that gives a package a user of its own.
const OWN_USER: &str = "own user";
/// Read of one log at a time: others come next.
const LOG_BYTES: usize = 16 << 10;
/// Read of a log whose process has ended, at most: its last words.
const LAST_READS: usize = 16;

/// Where a server lives.
#[derive(Clone, Debug)]
pub struct Options {
    /// The folder of what is kept.
    pub state: PathBuf,
    /// The socket of the commands.
    pub socket: PathBuf,
    /// How long processes have.
    pub limits: Limits,
    /// Whether it ends processes for memory, and tells the kernel their order: not in an experiment
    /// that shows what becomes of them else.
    pub keeps_memory: bool,
    /// Packages that a person has named as real-time ones, and what that person says of the memory
    /// that each has; else its manifest does.
    pub real_time: BTreeMap<String, Option<u64>>,
    /// What the framework's own package declares.
    pub framework: apk::Manifest,
    /// What real-time tasks of packages are judged by.
    pub machine: admission::Machine,
}

/// What is known of a process that is to be started.
pub struct App<'a> {
    /// Its package.
    pub manifest: &'a apk::Manifest,
    /// What was decided about that.
    pub settings: &'a Settings,
    /// Its own name and user.
    pub process: &'a ProcessKey,
    /// The package's file.
    pub code: PathBuf,
    /// Its native libraries; nothing is there if it has none.
    pub libraries: PathBuf,
    /// Its place for data.
    pub data: PathBuf,
    /// What it may have of the machine's memory; none if it is an ordinary one.
    pub memory: Option<u64>,
}

/// How packages are verified and processes made: an assembler's knowledge.
pub trait Host: Send + Sync {
    /// The architecture of native libraries that can be loaded.
    fn abi(&self) -> &str;

    /// Verifies what `Apk::parse` has left; the certificates of the signers.
    ///
    /// # Errors
    ///
    /// The fault, in words.
    fn verify(&self, package: &Apk<'_>) -> Result<Vec<String>, String>;

    /// What becomes a process. Its standard input will be the server's socket, its standard error
    /// the log.
    ///
    /// # Errors
    ///
    /// What is missing, in words.
    fn start(&self, app: &App<'_>) -> Result<Prepared, String>;

    /// What becomes the template of all processes; none if each starts from nothing. Its standard
    /// input will be the server's socket.
    ///
    /// # Errors
    ///
    /// What is missing, in words.
    fn template(&self) -> Result<Option<Command>, String>;
}

/// A process that is ready to be started.
pub struct Prepared {
    /// What is started.
    pub command: Command,
    /// What it is confined by; none if it is not.
    pub sandbox: Option<Vec<BoundRow>>,
    /// Who grants its threads real-time policies; none if nobody is asked.
    pub grants: Option<Grants>,
    /// What a copy of the template becomes in place of the command; none if it may be no copy.
    pub entry: Option<Entry>,
}

/// Real-time policies that the server grants a process from outside.
pub struct Grants {
    /// The most urgent of them.
    pub most: Priority,
    /// Grants them to the process of this number, until it and all that it has started are gone.
    pub keep: Box<dyn FnOnce(i32) + Send>,
}

/// Why a server does not begin.
#[derive(Debug, thiserror::Error)]
pub enum SystemError {
    /// The folder, or what lies there.
    #[error("cannot use {0}: {1}")]
    State(PathBuf, io::Error),
    /// What was kept is damaged.
    #[error("{0}: {1}")]
    Store(PathBuf, StoreError),
    /// A package that was installed is not what it was.
    #[error("{0} of {1} is not what was installed: {2}")]
    Package(String, PathBuf, String),
    /// A real-time package's memory is not there.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// No socket.
    #[error("cannot listen at {0}: {1}")]
    Socket(PathBuf, io::Error),
    /// No threads or bells.
    #[error("cannot begin: {0}")]
    Machine(String),
}

/// What all threads of a server share.
pub(crate) struct Shared {
    world: PiMutex<World>,
    pub(crate) store: PiMutex<Store<RealDisk>>,
    pub(crate) saver: Saver,
    pub(crate) looks: Looks,
    pub(crate) host: Arc<dyn Host>,
    /// The store's folder, for paths.
    pub(crate) place: Place,
    /// Rings when there is something to start, or to wake for earlier.
    bell: Bell,
    pub(crate) machine: admission::Machine,
    pub(crate) frequencies: Frequencies,
    /// Rings when a process may be needed more or less than before.
    pub(crate) moved: Bell,
    pub(crate) binder: Process,
}

impl Shared {
    /// The loop looks around.
    pub(crate) fn ring(&self) {
        self.bell.ring();
    }

    /// One event: what it does, and what follows from it.
    pub(crate) fn with<T>(&self, event: impl FnOnce(&mut World) -> T) -> T {
        let mut world = self.world.lock();
        let (wake, moves, jobs) = (world.next_wake(), world.moves, world.jobs_stand());
        let outcome = event(&mut world);
        world.settle(Monotonic.now_ns());
        let has_moved = world.moves != moves;
        let is_earlier = world
            .next_wake()
            .is_some_and(|it| wake.is_none_or(|was| it < was));
        let has_work = world.has_starts() || world.is_frequency_due();
        let is_due = has_work || is_earlier || world.jobs_stand() != jobs;
        drop(world);
        if is_due {
            self.bell.ring();
        }
        if has_moved {
            self.moved.ring();
        }
        outcome
    }
}

impl Keeper for Shared {
    fn with<T>(&self, event: impl FnOnce(&mut State) -> T) -> T {
        self.with(|world| event(world))
    }

    fn place(&self) -> &Place {
        &self.place
    }

    fn changed(this: &Arc<Self>) {
        Saver::changed(this);
    }

    fn frequencies(&self) -> &Frequencies {
        &self.frequencies
    }

    fn make_sender(&self) -> Binder {
        self.binder.add(SenderNode)
    }
}

/// A server that has begun and does not run yet.
pub struct Daemon {
    shared: Arc<Shared>,
    door: Door,
    bells: Bells,
    /// Rings in `bells`.
    _stop: StopBell,
    kept: BTreeMap<ProcessId, Kept>,
    sweeps: Sweeps,
    alarms: Arc<AlarmClock>,
    template: Option<Template>,
    template_again: Again,
    /// Jobs that are kept had changed so often when the last change was told.
    kept_jobs: u64,
    /// The door is not heard until then.
    shut_until: Option<u64>,
}

/// What the loop has of a process.
struct Kept {
    child: Running,
    /// The user that its package alone has.
    own_user: Option<u32>,
    pidfd: PidFd,
}

/// Opens what is kept, and listens. [`Daemon::run`] does the rest.
///
/// # Errors
///
/// [`SystemError`]
pub fn open(options: &Options, host: Arc<dyn Host>) -> Result<Daemon, SystemError> {
    raise_files();
    // Where that cannot be, what loses its parent goes to the system's first process, as before.
    let _ = adopt_orphans();
    let place = &options.state;
    let disk = RealDisk::open(place).map_err(|it| SystemError::State(place.clone(), it))?;
    let store = Store::open(disk).map_err(|it| SystemError::Store(place.clone(), it))?;
    let (store, mut world) = restored(store, place)?;
    world.server.processes.limits = options.limits;
    world.server.packages.know_framework(&options.framework);
    claim(&mut world.server, options.real_time.clone())?;
    // Their packages' permissions are known now.
    let left_out = world.restore_jobs(store.jobs(), Monotonic.now_ns());
    if left_out > 0 {
        eprintln!("takt system: {left_out} persisted jobs are not taken up again");
    }
    let machine = |it: Errno| SystemError::Machine(it.to_string());
    let binder = Process::start(&binder::Options::new("system"));
    let binder = binder.map_err(|it| SystemError::Machine(it.to_string()))?;
    let stop = StopBell::on_signals().map_err(|it| SystemError::Machine(it.to_string()))?;
    let bells = Bells::new().map_err(machine)?;
    let socket = &options.socket;
    let door = Door::open(socket).map_err(|it| SystemError::Socket(socket.clone(), it))?;
    let shared = Arc::new(Shared {
        world: PiMutex::new(world),
        store: PiMutex::new(store),
        saver: Saver::default(),
        looks: Looks::default(),
        host,
        place: Place::new(place),
        bell: Bell::new().map_err(machine)?,
        machine: options.machine,
        frequencies: frequencies(),
        moved: Bell::new().map_err(machine)?,
        binder,
    });
    let alarms = crate::alarms::begin(&shared);
    let alarms = alarms.map_err(|it| SystemError::Machine(it.to_string()))?;
    if options.keeps_memory {
        let kept = crate::memory::begin(&shared);
        kept.map_err(|it| SystemError::Machine(it.to_string()))?;
    }
    let root = shared.binder.add(ISystemStub(Agent(Arc::clone(&shared))));
    shared.binder.set_root(Some(root));
    for (fd, number, hearing) in [
        (door.as_fd(), DOOR, Hearing::WhileReadable),
        (shared.bell.as_fd(), BELL, Hearing::EachRing),
        (stop.as_fd(), STOP, Hearing::WhileReadable),
    ] {
        bells.add(fd, number, hearing).map_err(machine)?;
    }
    Ok(Daemon {
        shared,
        door,
        bells,
        _stop: stop,
        kept: BTreeMap::new(),
        sweeps: Sweeps::default(),
        alarms,
        template: None,
        template_again: Again::default(),
        kept_jobs: 0,
        shut_until: None,
    })
}

/// What a server that was killed has left of the frequency's limits is put back.
fn frequencies() -> Frequencies {
    let cpufreq = Cpufreq::default();
    match cpufreq.put_back_left() {
        Ok(true) => eprintln!("takt system: a killed one held the frequency: its limits are back"),
        Ok(false) => {}
        Err(error) => eprintln!("takt system: the frequency's limits: {error}"),
    }
    Frequencies::new(cpufreq)
}

/// Packages that are there must fit as those that come.
fn claim(server: &mut Server, real_time: BTreeMap<String, Option<u64>>) -> Result<(), MemoryError> {
    let machine = crate::memory::left().map_or(u64::MAX, |it| it.total);
    server.memory.claims = Claims::new(machine, real_time);
    let mut all = server.packages.iter();
    all.try_for_each(|it| server.admit_memory(&it.manifest))
}

/// Shells begin with 1,024 files, and let programs raise that.
fn raise_files() {
    let mut limit = getrlimit(Resource::Nofile);
    let wanted = limit.maximum.map_or(FILES_MAX, |it| it.min(FILES_MAX));
    if limit.current.is_some_and(|it| it < wanted) {
        limit.current = Some(wanted);
        // One that stays low refuses commands and processes sooner, each by name.
        let _ = setrlimit(Resource::Nofile, limit);
    }
}

/// Reads every package again that was installed.
fn restored(
    mut store: Store<RealDisk>,
    place: &Path,
) -> Result<(Store<RealDisk>, World), SystemError> {
    let mut world = World::default();
    let all: Vec<Settings> = store.packages().cloned().collect();
    for settings in all {
        let name = settings.name.clone();
        let fault = |it: String| SystemError::Package(name, place.to_owned(), it);
        let bytes = match store.code(&settings) {
            Ok(bytes) => bytes,
            Err(error) => return Err(fault(error.to_string())),
        };
        let restored = Apk::parse(&bytes)
            .map_err(|it| it.to_string())
            .and_then(|it| {
                let restored: Result<(), InstallError> =
                    world.server.packages.restore(it.manifest, settings);
                restored.map_err(|it| it.to_string())
            });
        restored.map_err(fault)?;
    }
    world.server.restore_grants(store.grants());
    if rt::process::uid() == 0 {
        // A server that was killed took its applications with it, and not what they had started.
        for package in world.server.packages.iter() {
            end_all_of(package.settings.uid);
        }
    }
    Ok((store, world))
}

impl Daemon {
    /// Where commands come to.
    pub fn socket(&self) -> &Path {
        self.door.path()
    }

    /// What is installed.
    pub fn packages(&self) -> usize {
        self.shared.with(|it| it.server.packages.len())
    }

    /// The server as experiments have it.
    pub fn inside(&self) -> Inside {
        Inside(Arc::clone(&self.shared))
    }

    /// Runs until a signal asks it to stop. All processes end with it.
    pub fn run(mut self) {
        self.begin_template();
        // What was restored may wait for what there is.
        self.look_at_jobs();
        loop {
            let wake = self.shared.with(|it| it.next_wake());
            let others = [self.shut_until, self.template_again.at];
            let wake = wake.into_iter().chain(others.into_iter().flatten()).min();
            let heard = self.bells.wait_until(wake);
            for number in heard.numbers() {
                match *number {
                    DOOR => self.admit(),
                    BELL => {}
                    STOP => return self.end(),
                    TEMPLATE => self.hear_template(),
                    other => self.hear(other - FIRST),
                }
            }
            let now = Monotonic.now_ns();
            if wake.is_some_and(|it| it <= now) {
                self.shared.with(|it| it.tick(now));
            }
            if self.shut_until.is_some_and(|it| it <= now) {
                self.shut_until = None;
                self.listen();
            }
            if self.template_again.at.is_some_and(|it| it <= now) {
                self.template_again.at = None;
                self.begin_template();
            }
            self.look_at_jobs();
            self.start_all();
        }
    }

    /// Those that are kept go to the disk, and those that wait for what there is want a look.
    fn look_at_jobs(&mut self) {
        Looks::begin(&self.shared);
        let kept = self.shared.with(|it| it.server.jobs.kept_changes());
        if std::mem::replace(&mut self.kept_jobs, kept) != kept {
            Saver::changed(&self.shared);
        }
    }

    /// By this thread, whose end is the template's, and that of all copies.
    fn begin_template(&mut self) {
        let started = self.shared.host.template();
        let started = started.and_then(|it| it.map(Template::start).transpose());
        match started {
            Ok(None) => {}
            Ok(Some(template)) => {
                let heard = self
                    .bells
                    .add(template.socket(), TEMPLATE, Hearing::WhileReadable);
                crate::memory::place_template(template.id());
                self.template = Some(template);
                if let Err(error) = heard {
                    self.end_template(&error.to_string());
                }
            }
            Err(text) => self.end_template(&text),
        }
    }

    /// It speaks once, or ends.
    fn hear_template(&mut self) {
        let Some(template) = &mut self.template else {
            return;
        };
        // What it says from then on is an answer.
        let _ = self.bells.remove(template.socket());
        match template.hear() {
            Ok(()) => {
                let id = template.id();
                self.template_again.began(Monotonic.now_ns());
                self.shared.with(|it| it.template = Some(id));
            }
            Err(text) => self.end_template(&text),
        }
    }

    /// Applications start from nothing until there is another: as slowly as without a template, and
    /// no worse.
    fn end_template(&mut self, why: &str) {
        eprintln!("takt system: applications start without a template: {why}");
        self.template_again.failed(Monotonic.now_ns());
        self.shared.with(|it| it.template = None);
        if let Some(template) = self.template.take() {
            let _ = self.bells.remove(template.socket());
            template.end();
        }
    }

    /// Lets in who waits. Where the machine gives no descriptor, the door is not heard for a while:
    /// who waits there would be heard again and again.
    fn admit(&mut self) {
        if self.door.admit(&self.shared) {
            return;
        }
        let is_deaf = self.bells.remove(self.door.as_fd()).is_ok();
        self.shut_until = is_deaf.then(|| Monotonic.now_ns() + SHUT_NS);
    }

    fn listen(&mut self) {
        let heard = self
            .bells
            .add(self.door.as_fd(), DOOR, Hearing::WhileReadable);
        if heard.is_err() {
            self.shut_until = Some(Monotonic.now_ns() + SHUT_NS);
        }
    }

    /// Processes end with this one anyway; here their ends are waited for.
    fn end(mut self) {
        self.alarms.close();
        if let Some(template) = self.template.take() {
            template.end();
        }
        for (_, mut kept) in std::mem::take(&mut self.kept) {
            kept.child.kill();
            let _ = kept.child.wait();
            kept.own_user.map(end_all_of);
        }
        for uid in self.sweeps.users() {
            end_all_of(uid);
        }
        // Nobody is left who might want one.
        self.shared.frequencies.end();
    }

    fn start(&mut self, start: &Start) {
        let now = Monotonic.now_ns();
        match self.spawn(start) {
            Ok(kept) => {
                self.kept.insert(start.process, kept);
            }
            Err(text) => {
                eprintln!("takt system: {}: cannot start: {text}", start.key.name);
                let dead = start.process;
                self.shared.with(|it| it.died(dead, Death::Fault, now));
            }
        }
    }

    fn spawn(&mut self, start: &Start) -> Result<Kept, String> {
        let package = self.shared.with(|it| {
            let package = it.server.packages.get(&start.package)?;
            let memory = it.server.memory.claims.of(&package.manifest);
            Some((package.manifest.clone(), package.settings.clone(), memory))
        });
        let (manifest, settings, memory) = package.ok_or("its package is gone")?;
        let place = &self.shared.place;
        let prepared = self.shared.host.start(&App {
            manifest: &manifest,
            settings: &settings,
            process: &start.key,
            code: place.code(&settings.code),
            libraries: place.libraries(&settings.code),
            data: place.data(&settings.name),
            memory: memory.map_err(|it| it.to_string())?,
        })?;
        let Prepared {
            command,
            sandbox,
            grants,
            entry,
        } = prepared;
        let (near, far) = Socket::pair().map_err(|it| it.to_string())?;
        // Before the other end can speak: its messages name their sender.
        let near = Socket::adopt(near.into_fd()).map_err(|it| it.to_string())?;
        // Our copy of the child's end goes in there: then its death closes the socket.
        let mut child = self.process(command, entry, far.into_fd())?;
        let own_user = prepared_user(sandbox.as_deref(), start.key.uid);
        let most = grants.as_ref().map(|it| it.most);
        let begun = keep_grants(grants, child.id().cast_signed())
            .and_then(|()| self.begin(start, &mut child, (near.into_fd(), sandbox)));
        if begun.is_err() {
            child.kill();
            let _ = child.wait();
        }
        let pidfd = begun?;
        self.shared.with(|it| it.granted(start.process, most));
        Ok(Kept {
            child,
            own_user,
            pidfd,
        })
    }

    /// A copy of the template, or a program where that cannot be.
    fn process(
        &mut self,
        mut command: Command,
        entry: Option<Entry>,
        input: OwnedFd,
    ) -> Result<Running, String> {
        let template = self.template.as_ref().filter(|it| it.is_ready());
        match template
            .zip(entry)
            .map(|(it, entry)| it.copy(&entry, &input))
        {
            Some(Ok(running)) => return Ok(running),
            Some(Err(text)) => self.end_template(&text),
            None => {}
        }
        command.stdin(Stdio::from(input));
        command.stderr(Stdio::piped());
        let child = command.spawn().map_err(|it| it.to_string())?;
        Ok(Running::program(child))
    }

    /// A child is there: it is heard from now on, and greeted when it speaks.
    fn begin(
        &self,
        start: &Start,
        child: &mut Running,
        (socket, sandbox): (OwnedFd, Option<Vec<BoundRow>>),
    ) -> Result<PidFd, String> {
        let text = |it: Errno| it.to_string();
        let pid = child.id().cast_signed();
        let (pidfd, other) = (PidFd::open(pid), PidFd::open(pid));
        let (pidfd, other) = (pidfd.map_err(text)?, other.map_err(text)?);
        let log = child.log.as_ref().ok_or("it has no log")?;
        rustix::io::ioctl_fionbio(log, true).map_err(|it| it.to_string())?;
        let number = FIRST + start.process.0 * 2;
        for (fd, number) in [(pidfd.as_fd(), number), (log.as_fd(), number + 1)] {
            let heard = self.bells.add(fd, number, Hearing::WhileReadable);
            heard.map_err(text)?;
        }
        self.shared.with(|it| {
            it.logs.begin(child.id(), &start.key.name, &start.package);
            it.began(start.process, other, sandbox);
        });
        greet(&self.shared, pid, socket).map_err(|it| it.to_string())?;
        Ok(pidfd)
    }

    /// A process has said something, or has ended.
    fn hear(&mut self, number: u64) {
        let process = ProcessId(number / 2);
        let Some(kept) = self.kept.get_mut(&process) else {
            return;
        };
        if number % 2 == 1 {
            if !read_log(&self.shared, kept) {
                kept.child.log = None;
            }
            return;
        }
        let Some(mut kept) = self.kept.remove(&process) else {
            return;
        };
        for _ in 0..LAST_READS {
            if !read_log(&self.shared, &mut kept) {
                break;
            }
        }
        let status = kept.child.wait();
        let how = match status.as_ref().map(|it| it.code()) {
            Ok(Some(0)) => Death::Exit,
            _ => Death::Fault,
        };
        let words = status.map_or_else(|it| it.to_string(), |it| it.to_string());
        let now = Monotonic.now_ns();
        self.shared.with(|it| {
            let text = format!("process ended: {words}\n");
            it.logs.hear(kept.child.id(), text.as_bytes());
        });
        drop(kept.pidfd);
        // Before its death is known, so before a process of the package starts again.
        let is_used = |uid| self.kept.values().any(|it| it.own_user == Some(uid));
        match kept.own_user.filter(|it| !is_used(*it)) {
            Some(uid) => self.sweeps.begin(uid, process, how, &self.shared),
            None => self.shared.with(|it| it.died(process, how, now)),
        }
    }

    /// Tells deaths whose remains are gone, and starts what there is to start.
    fn start_all(&mut self) {
        if self.shared.with(|it| it.take_frequency_due()) {
            self.shared.frequencies.settle(&*self.shared);
        }
        for swept in self.sweeps.take() {
            let now = Monotonic.now_ns();
            self.shared
                .with(|it| it.died(swept.process, swept.how, now));
        }
        for start in self.sweeps.released() {
            let is_wanted = |it: &mut World| it.server.processes.get(start.process).is_some();
            if self.shared.with(is_wanted) {
                self.start(&start);
            }
        }
        while let Some(start) = self.shared.with(|it| it.next_start()) {
            if self.sweeps.lets(&start) {
                self.start(&start);
            }
        }
    }
}

/// Threads wait for who grants them a policy, so that one is as urgent as they may be. It is no
/// more urgent: a process that asks all the time takes no more than its own threads might.
fn keep_grants(grants: Option<Grants>, pid: i32) -> Result<(), String> {
    let Some(Grants { most, keep }) = grants else {
        return Ok(());
    };
    let builder = Builder::new("grants").policy(Policy::Fifo(most));
    let thread = builder.spawn(move || keep(pid));
    thread.map(drop).map_err(|it| it.to_string())
}

/// The user of a package that has one of its own.
fn prepared_user(sandbox: Option<&[BoundRow]>, uid: u32) -> Option<u32> {
    let mut bounds = sandbox?.iter();
    bounds
        .any(|it| it.name == OWN_USER && it.holds)
        .then_some(uid)
}

/// Takes some of what a process has said; false if no more comes now.
fn read_log(shared: &Shared, kept: &mut Kept) -> bool {
    let Some(log) = &mut kept.child.log else {
        return false;
    };
    let mut bytes = [0; LOG_BYTES];
    match log.read(&mut bytes) {
        Ok(0) => false,
        Ok(size) => {
            let pid = kept.child.id();
            shared.with(|it| it.logs.hear(pid, &bytes[..size]));
            true
        }
        Err(error) => error.kind() == io::ErrorKind::Interrupted,
    }
}

/// Waits for a process's first words, on a thread of its own: it may never speak.
fn greet(shared: &Arc<Shared>, pid: i32, socket: OwnedFd) -> Result<(), rt::thread::SpawnError> {
    let shared = Arc::clone(shared);
    let builder = Builder::new("greeter").policy(Policy::ordinary());
    builder
        .spawn(move || {
            let start_ns = shared.with(|it| it.server.processes.limits.start_ns);
            let due_ns = Monotonic.now_ns() + start_ns;
            // One that does not speak in time ends by the state machine's clock.
            if let Ok(joined) = shared.binder.connect(socket, Side::Listener, due_ns)
                && joined.peer().pid != pid
            {
                joined.close();
            }
        })
        .map(drop)
}
