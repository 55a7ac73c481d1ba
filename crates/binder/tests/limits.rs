// SPDX-License-Identifier: Apache-2.0
//! A node states whether and how far it inherits, a proxy whether it lends.
//!
//! The others are this program again, told their part by the environment; their standard input is
//! the socket.

mod hog;
mod left;
mod pair;
mod service;

use binder::{Binder, Call, CallError, Options, Parcel, Process, Service};
use hog::DEADLINE;
use pair::{Other, Pair, join, start};
use rt::clock::{Clock, Monotonic};
use rt::peer::{PidFd, Urgency};
use rt::policy::{Policy, Tid};
use rt::thread::Builder;
use service::{HOLD, KEEP, RELAY, RELAY_KEPT, SLEEP, TID, ask, await_that, give, number, player};

/// The other program ([`pair`]).
#[test]
fn child() {
    pair::child();
}

/// Says how urgently it is served.
struct Looks {
    inherits: Urgency,
    own: PidFd,
}

const LOOK: u32 = 1;
/// The policy that the thread has by itself, as an urgency.
const BASE: u32 = 2;

impl Looks {
    fn new(inherits: u32) -> Self {
        Self {
            inherits: Urgency::new(inherits),
            own: PidFd::open(std::process::id().cast_signed()).unwrap(),
        }
    }

    /// By the kernel's word, with what is lent.
    fn now(&self) -> i32 {
        let urgency = self.own.urgency(Tid::current(), Urgency::DEADLINE);
        i32::from(urgency.unwrap().get())
    }
}

impl Service for Looks {
    fn descriptor(&self) -> &str {
        "takt.test.ILooks"
    }

    fn inherits(&self) -> Urgency {
        self.inherits
    }

    fn on_transact(
        &self,
        _: &Call,
        code: u32,
        data: &mut Parcel,
        reply: &mut Parcel,
    ) -> Result<(), CallError> {
        if code == BASE {
            return Ok(reply.write_i32(i32::from(Urgency::of_current().get()))?);
        }
        // The caller lends a moment after it was heard; more than is expected is seen for a while.
        let expected = number(data)?;
        await_that("it is as urgent as it should be", || self.now() == expected);
        let looks = (0..10).map(|_| {
            Monotonic.sleep_until(Monotonic.now_ns() + 200_000);
            self.now()
        });
        Ok(reply.write_i32(looks.max().unwrap_or_default())?)
    }
}

/// How urgently a caller of this policy is served, three times in a row.
#[track_caller]
fn assert_served(remote: &Binder, policy: Policy, expected: i32) {
    let remote = remote.clone();
    let call = move || {
        for _ in 0..3 {
            let mut seen = ask(&remote, LOOK, expected).expect("served as it should be");
            assert_eq!(seen.read_i32(), Some(expected));
        }
    };
    Builder::new("caller")
        .policy(policy)
        .spawn(call)
        .unwrap()
        .join();
}

/// Two processes of this program, and the second's node as the first knows it.
fn joined(service: impl Service) -> (Process, Process, Binder) {
    let near = Process::start(&Options::new("near")).unwrap();
    let far = Process::start(&Options::new("far")).unwrap();
    far.set_root(Some(far.add(service)));
    let (connection, _) = join(&near, &far);
    let remote = connection.root().unwrap().unwrap();
    (near, far, remote)
}

const ORDINARY: Policy = Policy::Other { nice: 0 };

#[test]
fn a_node_inherits_as_far_as_it_says() {
    for (limit, served) in [(100, [0, 40, 80, 100]), (50, [0, 40, 50, 50]), (0, [0; 4])] {
        let (near, far, remote) = joined(Looks::new(limit));
        let policies = [ORDINARY, Policy::fifo(40), Policy::fifo(80), DEADLINE];
        for (policy, expected) in policies.into_iter().zip(served) {
            assert_served(&remote, policy, expected);
            // By its own policy where more would be lent, and by that alone.
            let base = Builder::new("caller").policy(policy).spawn({
                let remote = remote.clone();
                move || ask(&remote, BASE, 0).unwrap().read_i32()
            });
            let own = if limit == 50 && expected == 50 { 50 } else { 0 };
            assert_eq!(
                base.unwrap().join(),
                Some(own),
                "{policy} at a limit of {limit}"
            );
        }
        assert_served(&remote, ORDINARY, 0);
        assert_eq!((near.counters().broken, far.counters().broken), (0, 0));
        assert_eq!(far.counters().declined, 0);
    }
}

#[test]
fn a_proxy_that_stops_lending_lends_nothing() {
    let (_near, _far, remote) = joined(Looks::new(100));
    let Binder::Remote(proxy) = &remote else {
        panic!("another process's");
    };
    assert_served(&remote, Policy::fifo(80), 80);
    proxy.stop_lending();
    for policy in [ORDINARY, Policy::fifo(80), DEADLINE] {
        assert_served(&remote, policy, 0);
    }
    proxy.lend();
    assert_served(&remote, Policy::fifo(80), 80);
}

/// Who lends nothing hears all the same of answers, due times and ends; and is called back.
#[test]
fn a_call_that_lends_nothing_is_a_call_in_all_else() {
    let mut pair = Pair::new("serve", false);
    let Binder::Remote(proxy) = &pair.remote else {
        panic!("another process's");
    };
    proxy.stop_lending();
    let (own, _played) = player(&pair.near);
    let home = Tid::current().raw();
    for _ in 0..100 {
        let (mut data, mut reply) = (Parcel::new(), Parcel::new());
        data.write_binder(Some(own.clone())).unwrap();
        data.write_i32(TID.cast_signed()).unwrap();
        data.write_i32(0).unwrap();
        let outcome = pair.remote.transact(RELAY, &mut data, &mut reply, None);
        outcome.unwrap();
        assert_eq!(reply.read_i32(), Some(home), "a call back");
    }
    let (mut data, mut reply) = (Parcel::new(), Parcel::new());
    data.write_i32(40).unwrap();
    let due_ns = Some(Monotonic.now_ns() + 2_000_000);
    let late = pair.remote.transact(SLEEP, &mut data, &mut reply, due_ns);
    assert_eq!(late, Err(CallError::TimedOut));
    assert_eq!(pair.remote.ping(), Ok(()));
    let remote = pair.remote.clone();
    let held = Builder::new("held").spawn(move || ask(&remote, HOLD, 0).map(drop));
    Monotonic.sleep_until(Monotonic.now_ns() + 20_000_000);
    pair.child.kill().unwrap();
    assert_eq!(held.unwrap().join(), Err(CallError::DeadObject));
    pair.child.wait().unwrap();
    assert_eq!(pair.near.counters().broken, 0);
}

/// A→B→C→A: A's thread waits without lending, and is found all the same.
#[test]
fn a_call_comes_home_to_a_thread_that_lends_nothing() {
    let near = Process::start(&Options::new("near")).unwrap();
    let others = [(); 2].map(|()| Other::of(&near, start("serve", false)));
    let (own, _played) = player(&near);
    give(&others[0].root, KEEP, Some(&others[1].root)).unwrap();
    give(&others[1].root, KEEP, Some(&own)).unwrap();
    let Binder::Remote(proxy) = &others[0].root else {
        panic!("another process's");
    };
    proxy.stop_lending();
    let home = Tid::current().raw();
    for _ in 0..100 {
        let (mut data, mut reply) = (Parcel::new(), Parcel::new());
        data.write_i32(RELAY_KEPT.cast_signed()).unwrap();
        data.write_i32(TID.cast_signed()).unwrap();
        data.write_i32(0).unwrap();
        let outcome = others[0]
            .root
            .transact(RELAY_KEPT, &mut data, &mut reply, None);
        outcome.unwrap();
        assert_eq!(reply.read_i32(), Some(home));
    }
    assert_eq!(near.counters().broken, 0);
    for other in others {
        other.end();
    }
}
