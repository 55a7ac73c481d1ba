// SPDX-License-Identifier: Apache-2.0
//! [`Queue`]: the steps that wait for one process, and what of them outlives it.
//!
//! Broadcasts go in the order of their rank, whatever else waits; equals as they came. The rest has
//! the rank of ordinary ones, so a process's activities and services keep their order.
//!
//! A broadcast without order for a manifest's receiver is not its process's own: if that dies
//! before it fetches the broadcast, the next process of the receiver gets it. The rest goes with
//! its process: the state machine says again what is still wanted.

use std::collections::{BTreeMap, HashMap, VecDeque};

use server::broadcasts::Standing;

use crate::calls::{ISystemProxy, Step};

/// Deaths that a broadcast outlives. A process that fails at each start is started again for it so
/// often: with the waits between that takes some four minutes.
pub(crate) const DEATHS_MAX: u8 = 8;

/// Broadcasts without order of one user that wait for a process: a quarter of all steps.
pub(crate) const SHOUTS_PER_USER_MAX: usize = 256;
/// Of all ordinary senders: what is left is for urgent ones, and for what is no broadcast.
pub(crate) const SHOUTS_MAX: usize = 768;

/// See the module. Who fills it bounds it.
#[derive(Default)]
pub(crate) struct Queue {
    /// By rank; at most a hundred lanes, which stay once they were used.
    lanes: BTreeMap<u8, VecDeque<Waiting>>,
    count: usize,
    /// Broadcasts without order: by their senders' users, and those without a rank.
    shouts: HashMap<i64, usize>,
    ordinary_shouts: usize,
}

/// A step, and how often its process has died.
pub(crate) struct Waiting {
    pub(crate) step: Step,
    /// Of a broadcast.
    pub(crate) standing: Standing,
    deaths: u8,
}

/// Whether there are steps without a rank, and the highest of the others; 0 if there are none.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Waits {
    pub(crate) ordinary: bool,
    pub(crate) urgent: u8,
}

impl From<Step> for Waiting {
    fn from(step: Step) -> Self {
        Self {
            step,
            standing: Standing::default(),
            deaths: 0,
        }
    }
}

impl From<(Step, Standing)> for Waiting {
    fn from((step, standing): (Step, Standing)) -> Self {
        Self {
            step,
            standing,
            deaths: 0,
        }
    }
}

impl Queue {
    /// What waits now.
    pub(crate) fn waits(&self) -> Waits {
        let has = |lane: &VecDeque<Waiting>| !lane.is_empty();
        let mut urgent = self.lanes.range(1..).rev();
        Waits {
            ordinary: self.lanes.get(&0).is_some_and(has),
            urgent: urgent.find(|it| has(it.1)).map_or(0, |it| *it.0),
        }
    }

    /// Whether a broadcast's sender may have one more here: a storm of one leaves room for others.
    pub(crate) fn has_room_for(&self, waiting: &Waiting) -> bool {
        let Some(user) = waiting.step.shouts() else {
            return true;
        };
        let own = self.shouts.get(&user).copied().unwrap_or(0);
        let is_full = waiting.standing.rank == 0 && self.ordinary_shouts >= SHOUTS_MAX;
        own < SHOUTS_PER_USER_MAX && !is_full
    }

    /// O(log of the lanes).
    pub(crate) fn push(&mut self, waiting: Waiting) {
        if let Some(user) = waiting.step.shouts() {
            *self.shouts.entry(user).or_default() += 1;
            self.ordinary_shouts += usize::from(waiting.standing.rank == 0);
        }
        let lane = self.lanes.entry(waiting.standing.rank).or_default();
        lane.push_back(waiting);
        self.count += 1;
    }

    /// What its process fetches; that is not sent again, whatever becomes of the process.
    pub(crate) fn pop(&mut self) -> Option<Waiting> {
        let mut lanes = self.lanes.values_mut().rev();
        let first = lanes.find_map(VecDeque::pop_front)?;
        self.count -= 1;
        if let Some(user) = first.step.shouts() {
            self.ordinary_shouts -= usize::from(first.standing.rank == 0);
            if let Some(own) = self.shouts.get_mut(&user) {
                *own -= 1;
                if *own == 0 {
                    self.shouts.remove(&user);
                }
            }
        }
        Some(first)
    }

    pub(crate) fn front(&self) -> Option<&Waiting> {
        let mut lanes = self.lanes.values().rev();
        lanes.find_map(VecDeque::front)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Step> + Clone {
        let lanes = self.lanes.values().rev();
        lanes.flatten().map(|it| &it.step)
    }

    pub(crate) fn len(&self) -> usize {
        self.count
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Its process has died: what is sent again, in order, and how many have died too often.
    pub(crate) fn outliving(self) -> (Vec<Waiting>, u64) {
        let mut lost = 0;
        let mut left = Vec::new();
        for mut it in self.lanes.into_values().rev().flatten() {
            if !it.step.outlives() {
                continue;
            }
            it.deaths += 1;
            match it.deaths <= DEATHS_MAX {
                true => left.push(it),
                false => lost += 1,
            }
        }
        (left, lost)
    }
}

impl Step {
    /// An ordered broadcast: its numbers are user, receiver and the broadcast's own.
    pub(crate) fn is_ordered(&self) -> bool {
        self.kind == ISystemProxy::STEP_BROADCAST && self.numbers.get(2).is_some_and(|it| *it != 0)
    }

    /// The user that sent it, of a broadcast without order.
    fn shouts(&self) -> Option<i64> {
        let is_broadcast = self.kind == ISystemProxy::STEP_BROADCAST;
        let user = self.numbers.first().copied();
        user.filter(|_| is_broadcast && !self.is_ordered())
    }

    /// One without order, for a manifest's receiver: only such a step names a component.
    fn outlives(&self) -> bool {
        self.shouts().is_some() && self.component.is_some()
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command, Stdio};
    use std::sync::Arc;
    use std::sync::atomic::AtomicU64;
    use std::sync::atomic::Ordering::SeqCst;

    use apk::{Application, Component, ComponentKind, IntentFilter, Manifest};
    use rt::clock::{Clock, Monotonic};
    use rt::peer::PidFd;
    use server::broadcasts::{Registration, Sender, Shout};
    use server::packages::{Candidate, Grant};
    use server::processes::BACK_OFF_NS_MAX;
    use server::{Death, ProcessId, ProcessKey};

    use super::*;
    use crate::calls::{IApp, IAppProxy, IAppStub, Wish};
    use crate::state::State;

    const CODE: i64 = 7;

    fn package() -> Candidate {
        let mut receiver = Component::new(ComponentKind::Receiver, "p.Ear");
        receiver.is_exported = true;
        receiver.intent_filters.push(IntentFilter {
            priority: 0,
            actions: vec!["act".to_owned()],
            categories: Vec::new(),
            data: Vec::new(),
        });
        let manifest = Manifest {
            application: Application {
                has_code: true,
                is_enabled: true,
                components: vec![receiver],
                ..Application::default()
            },
            ..Manifest::new("p")
        };
        Candidate {
            code: "1.apk".to_owned(),
            manifest,
            signers: ["s".to_owned()].into(),
            dangerous: Grant::Denied,
            is_system: false,
        }
    }

    /// A state with one package, whose receiver hears `act`, and what stands for its process.
    struct World {
        state: State,
        uid: u32,
        now: u64,
        /// The priority of who sends.
        sender: u8,
        child: Option<Child>,
    }

    impl World {
        fn new() -> Self {
            let mut state = State::default();
            state.server.install(package(), 0).expect("it is new");
            let installed = state.server.packages.get("p").expect("it is there");
            let uid = installed.settings.uid;
            Self {
                state,
                uid,
                now: 0,
                sender: 0,
                child: None,
            }
        }

        /// One whose extra is a number.
        fn send(&mut self, number: usize, is_ordered: bool) {
            let wish = Wish {
                action: Some("act".to_owned()),
                identifier: Some(number.to_string()),
                ..Wish::default()
            };
            let shout = Shout {
                is_ordered,
                ..Shout::default()
            };
            let sender = Sender {
                uid: self.uid,
                priority: self.sender,
                ..Sender::default()
            };
            let sent = self.state.broadcast(sender, wish, shout, self.now);
            sent.expect("it is taken");
            self.state.settle(self.now);
        }

        /// The kernel has the process that is to start; at once, or when it has waited.
        fn begin(&mut self) -> ProcessId {
            if !self.state.has_starts() {
                self.wait();
            }
            let start = self.state.next_start().expect("it is wanted");
            let mut command = Command::new("sleep");
            let child = command.arg("1000").stdin(Stdio::null()).spawn();
            let child = child.expect("it is there");
            let pidfd = PidFd::open(child.id().cast_signed()).expect("it runs");
            self.child = Some(child);
            self.state.began(start.process, pidfd);
            start.process
        }

        /// The longest wait behind a fault.
        fn wait(&mut self) {
            self.now += BACK_OFF_NS_MAX;
            self.state.tick(self.now);
            self.state.settle(self.now);
        }

        fn end_child(&mut self) {
            if let Some(mut child) = self.child.take() {
                child.kill().expect("it is ours");
                child.wait().expect("it is ours");
            }
        }

        /// The kernel's word comes.
        fn die(&mut self, process: ProcessId) {
            self.end_child();
            self.state.died(process, Death::Fault, self.now);
            self.state.settle(self.now);
        }

        /// What a process fetches until nothing is left: the receivers' numbers and the extras.
        fn fetch(&mut self, process: ProcessId) -> Vec<(i64, usize)> {
            let mut all = Vec::new();
            loop {
                let steps = self.state.take_steps(process);
                if steps.is_empty() {
                    return all;
                }
                all.extend(steps.iter().map(said));
            }
        }
    }

    impl Drop for World {
        fn drop(&mut self) {
            self.end_child();
        }
    }

    fn said(step: &Step) -> (i64, usize) {
        let number = step.wishes[0].identifier.as_ref();
        let number = number.and_then(|it| it.parse().ok());
        (step.numbers[1], number.expect("a number"))
    }

    fn of_manifest(numbers: std::ops::Range<usize>) -> Vec<(i64, usize)> {
        numbers.map(|it| (0, it)).collect()
    }

    #[test]
    fn what_a_dead_process_did_not_fetch_comes_to_the_next_in_order_and_once() {
        let mut world = World::new();
        (0..20).for_each(|it| world.send(it, false));
        let first = world.begin();
        let fetched = world.state.take_steps(first);
        let count = fetched.len();
        assert!((1..20).contains(&count));
        let fetched: Vec<_> = fetched.iter().map(said).collect();
        assert_eq!(fetched, of_manifest(0..count));
        // The kernel has ended it, and nobody has told the server.
        world.end_child();
        (20..22).for_each(|it| world.send(it, false));
        world.die(first);
        world.send(22, false);
        let second = world.begin();
        assert_eq!(world.fetch(second), of_manifest(count..23));
        world.die(second);
        world.wait();
        assert!(world.state.next_start().is_none());
        assert_eq!(world.state.lost, 0);
    }

    #[test]
    fn what_its_code_has_registered_dies_with_it_and_an_ordered_one_goes_on() {
        let mut world = World::new();
        world.send(0, false);
        let first = world.begin();
        let key = ProcessKey {
            uid: world.uid,
            name: "p".to_owned(),
        };
        let mut filter = intent::Filter::new(0);
        filter.actions.push("act".to_owned());
        let registration = Registration {
            receiver: CODE,
            filter,
            permission: None,
            is_exported: true,
        };
        let broadcasts = &mut world.state.server.broadcasts;
        let registered = broadcasts.register(first, &key, "p", registration);
        registered.expect("there is room");
        world.send(1, false);
        world.send(2, true);
        world.die(first);
        let second = world.begin();
        let mut all = world.fetch(second);
        // The ordered one's turn went on to the manifest's receiver when code's was gone.
        all.sort_unstable();
        assert_eq!(all, of_manifest(0..3));
    }

    #[test]
    fn one_that_does_not_start_in_time_hands_on_and_one_that_is_stopped_does_not() {
        let mut world = World::new();
        world.send(0, false);
        let first = world.begin();
        let late = world.now + world.state.server.processes.limits.start_ns;
        world.state.tick(late);
        world.state.settle(late);
        // Behind what waits already, though the kernel has not said that the first is dead.
        world.send(1, false);
        world.die(first);
        let second = world.begin();
        world.send(2, false);
        assert_eq!(world.fetch(second), of_manifest(0..3));
        world.send(3, false);
        assert!(world.state.server.force_stop("p", world.now));
        world.state.settle(world.now);
        world.die(second);
        world.wait();
        assert!(world.state.next_start().is_none());
    }

    #[test]
    fn a_process_that_never_fetches_is_started_again_a_bounded_number_of_times() {
        let mut world = World::new();
        world.send(0, false);
        for _ in 0..=DEATHS_MAX {
            let process = world.begin();
            world.die(process);
        }
        world.wait();
        assert!(world.state.next_start().is_none());
        assert_eq!(world.state.lost, 1);
    }

    #[test]
    fn urgent_broadcasts_are_fetched_first_and_alone_and_equals_as_they_came() {
        let mut world = World::new();
        world.send(0, false);
        let first = world.begin();
        let mut expected = Vec::new();
        let mut random = fastrand::Rng::with_seed(7);
        for number in 1..40 {
            world.sender = random.u8(..4) * 20;
            world.send(number, false);
            expected.push((world.sender, number));
        }
        expected.push((0, 0));
        expected.sort_by_key(|it| (99 - it.0, it.1));
        let mut fetched = Vec::new();
        loop {
            let steps = world.state.take_steps(first);
            if steps.is_empty() {
                break;
            }
            let is_urgent = steps.iter().any(|it| it.numbers[5] > 0);
            assert!(!is_urgent || steps.len() == 1);
            let read = |it: &Step| (u8::try_from(it.numbers[5]).expect("0 to 99"), said(it).1);
            fetched.extend(steps.iter().map(read));
        }
        assert_eq!(fetched, expected);
    }

    #[test]
    fn a_storm_of_one_sender_is_lost_and_leaves_room_for_urgent_ones() {
        let mut world = World::new();
        world.send(0, false);
        let first = world.begin();
        (1..400).for_each(|it| world.send(it, false));
        // Its own user's: the same bound, no matter who is urgent.
        world.sender = 30;
        world.send(400, false);
        let own = world.uid;
        world.uid = 1_000;
        world.send(401, false);
        world.uid = own;
        // What is ordered has bounds of its own.
        world.sender = 0;
        world.send(402, true);
        let mut expected = vec![(0, 401)];
        expected.extend(of_manifest(0..SHOUTS_PER_USER_MAX));
        expected.push((0, 402));
        assert_eq!(world.fetch(first), expected);
        assert_eq!(world.state.lost, (400 - SHOUTS_PER_USER_MAX + 1) as u64);
        // Who fetches has room again; what was sent holds no room either.
        world.send(403, false);
        assert_eq!(world.fetch(first), of_manifest(403..404));
    }

    /// Counts how often it is told.
    struct Told(Arc<AtomicU64>);

    impl IApp for Told {
        fn look(&self) -> binder::stub::Answer<()> {
            self.0.fetch_add(1, SeqCst);
            Ok(())
        }

        fn hurry(&self, _priority: i32) -> binder::stub::Answer<()> {
            self.look()
        }

        fn provided(&self, _component: &str, _is_there: bool) -> binder::stub::Answer<()> {
            Ok(())
        }

        fn trim(&self, _level: i32) -> binder::stub::Answer<()> {
            Ok(())
        }
    }

    /// Keeps what it is to give up.
    struct Trimmed(Arc<AtomicU64>);

    impl IApp for Trimmed {
        fn look(&self) -> binder::stub::Answer<()> {
            Ok(())
        }

        fn provided(&self, _component: &str, _is_there: bool) -> binder::stub::Answer<()> {
            Ok(())
        }

        fn hurry(&self, _priority: i32) -> binder::stub::Answer<()> {
            Ok(())
        }

        fn trim(&self, level: i32) -> binder::stub::Answer<()> {
            self.0.store(u64::from(level.unsigned_abs()), SeqCst);
            Ok(())
        }
    }

    /// It need not fetch anything for that. Then it ends, and what it has not fetched waits for the
    /// next one.
    #[test]
    fn a_process_hears_of_a_shortage_and_is_ended_for_it() {
        const TRIM_MEMORY_COMPLETE: u64 = 80;
        let mut world = World::new();
        world.send(0, false);
        let first = world.begin();
        let process = binder::Process::start(&binder::Options::new("app"));
        let process = process.expect("there is room");
        let heard = Arc::<AtomicU64>::default();
        let node = IAppStub(Trimmed(Arc::clone(&heard)));
        world.state.attached(first, IAppProxy(process.add(node)), 0);
        let nothing = server::memory::Left {
            available: 0,
            total: 1 << 30,
        };
        assert!(world.state.server.tell_of_shortage(nothing, world.now));
        world.state.settle(world.now);
        let until = Monotonic.now_ns() + 10_000_000_000;
        while heard.load(SeqCst) == 0 && Monotonic.now_ns() < until {
            Monotonic.sleep_until(Monotonic.now_ns() + 1_000_000);
        }
        assert_eq!(heard.load(SeqCst), TRIM_MEMORY_COMPLETE);
        let ended = world.state.server.end_for_memory(nothing, world.now);
        assert_eq!(ended.map(|(_, it)| it.process), Some(first));
        world.state.settle(world.now);
        assert!(world.state.next_start().is_none(), "not at once");
        world.die(first);
        let second = world.begin();
        assert_eq!(world.fetch(second), of_manifest(0..1));
    }

    #[test]
    fn the_real_time_thread_of_a_process_takes_what_is_urgent_alone() {
        let mut world = World::new();
        world.send(0, false);
        let first = world.begin();
        world.sender = 30;
        (1..4).for_each(|it| world.send(it, false));
        let process = binder::Process::start(&binder::Options::new("app"));
        let process = process.expect("there is room");
        let told = [Arc::<AtomicU64>::default(), Arc::default()];
        let ear = |at: usize| {
            let node = IAppStub(Told(Arc::clone(&told[at])));
            IAppProxy(process.add(node))
        };
        let await_told = |at: usize, count| {
            let until = Monotonic.now_ns() + 10_000_000_000;
            while told[at].load(SeqCst) < count && Monotonic.now_ns() < until {
                Monotonic.sleep_until(Monotonic.now_ns() + 1_000_000);
            }
            assert_eq!(told[at].load(SeqCst), count);
        };
        world.state.attached(first, ear(0), 0);
        await_told(0, 1);
        world.state.attached_urgent(first, ear(1));
        await_told(1, 1);
        // What goes before all that waits raises the thread; the rest waits for it anyhow.
        world.sender = 20;
        world.send(4, false);
        world.sender = 40;
        world.send(5, false);
        await_told(1, 2);
        // Nothing is before what is urgent, also where the ordinary thread is sooner.
        assert_eq!(world.fetch(first), []);
        let urgent: Vec<usize> = (0..6)
            .flat_map(|_| world.state.take_urgent(first))
            .map(|it| said(&it).1)
            .collect();
        assert_eq!(urgent, [5, 1, 2, 3, 4]);
        await_told(0, 2);
        assert_eq!(world.fetch(first), of_manifest(0..1));
        // Where the order is another, it has nothing.
        world.state.server.broadcasts.order = server::broadcasts::Order::FirstCome;
        world.send(6, false);
        assert_eq!(world.fetch(first), of_manifest(6..7));
        await_told(1, 2);
    }
}
