// SPDX-License-Identifier: Apache-2.0
//! References to nodes of third processes over `lent`: A passes C's node to B, which calls
//! C itself.
//!
//! The others are this program again, told their part by the environment; their standard input is
//! the socket.

mod hog;
mod left;
mod pair;
mod service;

use std::sync::{Arc, OnceLock};

use binder::{Binder, Call, CallError, Options, Parcel, Process, Service};
use left::{Left, alone};
use pair::{Other, all_are_stopped, join, signal, start};
use rt::clock::{Clock, Monotonic};
use rt::policy::Tid;
use rt::thread::Builder;
use service::{
    GIVE, KEEP, RELAY, RELAY_KEPT, SAME, TID, TOLD, WATCH, WHO, ask, await_that, give, player,
};

/// The other programs ([`pair`]).
#[test]
fn child() {
    pair::child();
}

fn other(near: &Process) -> Other {
    Other::of(near, start("serve", false))
}

/// This process, and two others that do not know each other.
fn three() -> (Process, Other, Other) {
    let near = Process::start(&Options::new("near")).unwrap();
    let (left, right) = (other(&near), other(&near));
    (near, left, right)
}

/// By way of `of`: `target`, with a code and a number.
fn relay(of: &Binder, target: &Binder, code: u32, value: i32) -> Result<Parcel, CallError> {
    let (mut data, mut reply) = (Parcel::new(), Parcel::new());
    data.write_binder(Some(target.clone()))?;
    data.write_i32(code.cast_signed())?;
    data.write_i32(value)?;
    of.transact(RELAY, &mut data, &mut reply, None)?;
    Ok(reply)
}

/// `of` gives `target` what it keeps, by a code.
fn hand_on(of: &Binder, target: &Binder, code: u32) -> Result<Parcel, CallError> {
    let (mut data, mut reply) = (Parcel::new(), Parcel::new());
    data.write_binder(Some(target.clone()))?;
    data.write_i32(code.cast_signed())?;
    of.transact(GIVE, &mut data, &mut reply, None)?;
    Ok(reply)
}

fn kept(of: &Binder) -> Option<Binder> {
    let mut kept = give(of, KEEP, None).unwrap();
    kept.read_binder().unwrap()
}

fn int(reply: Result<Parcel, CallError>) -> i32 {
    reply.unwrap().read_i32().expect("a number")
}

#[test]
fn a_third_process_is_called_by_whoever_was_given_its_node() {
    let (near, left, right) = three();
    let mut who = relay(&left.root, &right.root, WHO, 0).unwrap();
    assert_eq!(who.read_i32(), Some(left.pid()), "not ours");
    assert_eq!(who.read_i32(), Some(rt::process::uid().cast_signed()));
    // And by an answer: what the right one keeps is the left one's, and not of this process.
    give(&right.root, KEEP, Some(&left.root)).unwrap();
    give(&left.root, KEEP, Some(&right.root)).unwrap();
    assert!(kept(&left.root).unwrap().is_same(&right.root));
    assert!(kept(&right.root).unwrap().is_same(&left.root));
    await_that("nothing is left but two roots", || {
        near.references() == (0, 2)
    });
    left.end();
    right.end();
}

/// A→B→C→A, and once more around from there: at each place the thread that waits.
#[test]
fn a_call_that_comes_home_arrives_on_the_thread_that_waits() {
    let (near, left, right) = three();
    let (own, _played) = player(&near);
    give(&left.root, KEEP, Some(&right.root)).unwrap();
    give(&right.root, KEEP, Some(&own)).unwrap();
    give(&own, KEEP, Some(&left.root)).unwrap();
    // So many relays, then a thread's number.
    let around = |relays: usize| {
        let (mut data, mut reply) = (Parcel::new(), Parcel::new());
        for _ in 1..relays {
            data.write_i32(RELAY_KEPT.cast_signed()).unwrap();
        }
        data.write_i32(TID.cast_signed()).unwrap();
        data.write_i32(0).unwrap();
        let outcome = left.root.transact(RELAY_KEPT, &mut data, &mut reply, None);
        outcome.unwrap();
        reply.read_i32().expect("a number")
    };
    let home = Tid::current().raw();
    for _ in 0..100 {
        assert_eq!(around(2), home);
    }
    for _ in 0..20 {
        assert_eq!(around(5), home, "once more around");
    }
    // One that ends elsewhere is not for this thread, nor another thread's.
    assert_ne!(around(1), home);
    let remote = right.root.clone();
    let call = move || int(ask(&remote, RELAY_KEPT, TID.cast_signed()));
    let beside = Builder::new("beside").spawn(call).unwrap();
    assert_ne!(beside.join(), home);
    assert_eq!(near.counters().broken, 0);
    left.end();
    right.end();
}

/// Has the left process keep this node, and call it.
struct Round {
    left: Binder,
    own: Arc<OnceLock<Binder>>,
}

const AROUND: u32 = 100;

impl Service for Round {
    fn descriptor(&self) -> &str {
        "takt.test.IRound"
    }

    fn on_transact(
        &self,
        _: &Call,
        code: u32,
        _: &mut Parcel,
        reply: &mut Parcel,
    ) -> Result<(), CallError> {
        let home = Tid::current().raw();
        if code != AROUND {
            return Ok(reply.write_i32(home)?);
        }
        give(&self.left, KEEP, self.own.get())?;
        let mut again = ask(&self.left, RELAY_KEPT, TID.cast_signed())?;
        assert_eq!(again.read_i32(), Some(home));
        Ok(reply.write_i32(home)?)
    }
}

/// A→B→C→A→B→A: the last call is not for A's first wait, in which nobody listens any more.
#[test]
fn a_call_back_of_one_that_came_home_comes_home_as_well() {
    let (near, left, right) = three();
    let cell = Arc::new(OnceLock::new());
    let own = near.add(Round {
        left: left.root.clone(),
        own: Arc::clone(&cell),
    });
    cell.set(own.clone()).unwrap();
    give(&right.root, KEEP, Some(&own)).unwrap();
    for _ in 0..20 {
        give(&left.root, KEEP, Some(&right.root)).unwrap();
        let mut data = Parcel::new();
        data.write_i32(RELAY_KEPT.cast_signed()).unwrap();
        data.write_i32(AROUND.cast_signed()).unwrap();
        let mut reply = Parcel::new();
        let outcome = left.root.transact(RELAY_KEPT, &mut data, &mut reply, None);
        outcome.unwrap();
        assert_eq!(reply.read_i32(), Some(Tid::current().raw()));
    }
    assert_eq!(near.counters().broken, 0);
    left.end();
    right.end();
}

/// What is handed from one to the other is the same there as what this process gives.
#[test]
fn one_node_has_one_proxy_whoever_gave_it() {
    let (near, left, right) = three();
    let third = other(&near);
    give(&left.root, KEEP, Some(&third.root)).unwrap();
    give(&right.root, KEEP, Some(&third.root)).unwrap();
    assert_eq!(int(hand_on(&left.root, &right.root, SAME)), 1);
    assert_eq!(int(give(&right.root, SAME, Some(&third.root))), 1);
    assert_eq!(int(give(&right.root, SAME, Some(&left.root))), 0);
    // By an answer: right asks left for what it keeps, and hands it on to left again.
    assert_eq!(int(give(&left.root, SAME, kept(&right.root).as_ref())), 1);
    // Home again.
    assert!(kept(&left.root).unwrap().is_same(&third.root));
    for other in [left, right, third] {
        other.end();
    }
}

#[test]
fn a_node_lives_as_long_as_a_third_process_holds_it() {
    let (near, left, right) = three();
    let (own, played) = player(&near);
    let weak = own.downgrade();
    give(&left.root, KEEP, Some(&own)).unwrap();
    drop((own, played));
    // Left, to which we gave it, gives it to right, and lets it go.
    hand_on(&left.root, &right.root, KEEP).unwrap();
    drop(kept(&left.root));
    assert_eq!(int(hand_on(&right.root, &right.root, SAME)), 1);
    let held = weak.promote().expect("the right one holds it");
    assert!(kept(&right.root).unwrap().is_same(&held));
    drop(held);
    await_that("the node goes", || weak.promote().is_none());
    await_that("nothing is left but two roots", || {
        near.references() == (0, 2)
    });
    left.end();
    right.end();
}

#[test]
fn a_third_process_that_dies_is_told_to_whoever_was_given_its_node() {
    let (_near, left, mut right) = three();
    give(&left.root, KEEP, Some(&right.root)).unwrap();
    assert_eq!(int(ask(&left.root, WATCH, 0)), 1);
    right.kill();
    await_that("it is told", || int(ask(&left.root, TOLD, 0)) == 1);
    // What is dead is given as what is dead.
    let dead = kept(&left.root).unwrap();
    assert!(!dead.is_alive());
    assert_eq!(dead.ping(), Err(CallError::DeadObject));
    assert_eq!(right.root.ping(), Err(CallError::DeadObject));
    give(&left.root, KEEP, Some(&right.root)).unwrap();
    assert_eq!(int(ask(&left.root, WATCH, 0)), 0);
    assert_eq!(int(ask(&left.root, TOLD, 0)), 1, "told once");
    left.end();
}

/// Who passes its node on waits for it until its due time; who answers with it does not wait.
#[test]
fn a_third_process_that_stands_still_keeps_nobody_who_serves() {
    let (_near, left, right) = three();
    give(&left.root, KEEP, Some(&right.root)).unwrap();
    signal(right.pid(), "STOP");
    await_that("it stands still", || all_are_stopped(right.pid()));
    let (mut data, mut reply) = (Parcel::new(), Parcel::new());
    data.write_binder(Some(right.root.clone())).unwrap();
    let mut call = |code, data: &mut Parcel| {
        let due_ns = Some(Monotonic.now_ns() + 20_000_000);
        left.root.transact(code, data, &mut reply, due_ns)
    };
    assert_eq!(call(SAME, &mut data), Err(CallError::TimedOut));
    let mut none = Parcel::new();
    none.write_binder(None).unwrap();
    // The answer is there; what it names is not.
    assert_eq!(call(KEEP, &mut none), Err(CallError::TimedOut));
    assert_eq!(left.root.ping(), Ok(()));
    signal(right.pid(), "CONT");
    give(&left.root, KEEP, Some(&right.root)).unwrap();
    assert!(kept(&left.root).unwrap().is_same(&right.root));
    left.end();
    right.end();
}

#[test]
fn what_was_introduced_stays_when_the_introducer_goes() {
    let near = Process::start(&Options::new("near")).unwrap();
    let between = Process::start(&Options::new("between")).unwrap();
    let third = other(&between);
    let (node, played) = player(&near);
    near.set_root(Some(node));
    let (left, right) = join(&near, &between);
    give(&right.root().unwrap().unwrap(), KEEP, Some(&third.root)).unwrap();
    left.close();
    await_that("both ends know", || !right.is_alive());
    let kept = played.kept.lock().take().unwrap();
    let mut who = ask(&kept, WHO, 0).unwrap();
    assert_eq!(
        who.read_i32(),
        Some(std::process::id().cast_signed()),
        "it is still called"
    );
    assert!(near.dump().contains(&format!("to pid {}", third.pid())));
    drop(kept);
    await_that("nothing is left", || near.references() == (0, 0));
    third.end();
}

/// A node of a process goes over a second link to the same process: it comes home.
#[test]
fn a_node_comes_home_over_another_link_of_its_process() {
    let near = Process::start(&Options::new("near")).unwrap();
    let far = Process::start(&Options::new("far")).unwrap();
    let (node, played) = player(&far);
    far.set_root(Some(node.clone()));
    let ((one, _far_one), (two, _far_two)) = (join(&near, &far), join(&near, &far));
    let (one, two) = (one.root().unwrap().unwrap(), two.root().unwrap().unwrap());
    give(&one, KEEP, Some(&two)).unwrap();
    assert!(played.kept.lock().take().unwrap().is_same(&node));
}

#[test]
fn a_oneway_call_and_many_references_carry_them_too() {
    let (near, left, right) = three();
    let mut data = Parcel::new();
    data.write_binder(Some(right.root.clone())).unwrap();
    left.root.send(KEEP, &data).unwrap();
    await_that("it arrives", || {
        kept(&left.root).is_some_and(|it| it.is_same(&right.root))
    });
    for _ in 1..64 {
        data.write_binder(Some(right.root.clone())).unwrap();
    }
    let mut reply = Parcel::new();
    left.root
        .transact(KEEP, &mut data, &mut reply, None)
        .unwrap();
    data.write_binder(Some(right.root.clone())).unwrap();
    let refused = left.root.transact(KEEP, &mut data, &mut reply, None);
    assert_eq!(refused, Err(CallError::TooLarge));
    drop((data, reply, kept(&left.root)));
    await_that("nothing is left but two roots", || {
        near.references() == (0, 2)
    });
    left.end();
    right.end();
}

/// Three calls in a row come home: over the third process the first is called by the last.
#[test]
fn a_call_comes_home_through_a_third_process() {
    let (near, left, right) = three();
    let (own, _) = player(&near);
    give(&right.root, KEEP, Some(&own)).unwrap();
    give(&left.root, KEEP, Some(&right.root)).unwrap();
    let mut data = Parcel::new();
    for word in [RELAY_KEPT, WHO, 0] {
        data.write_i32(word.cast_signed()).unwrap();
    }
    let mut who = Parcel::new();
    left.root
        .transact(RELAY_KEPT, &mut data, &mut who, None)
        .unwrap();
    assert_eq!(who.read_i32(), Some(right.pid()));
    left.end();
    right.end();
}

/// Kills a process that others were introduced to: nothing of it is left here.
#[test]
fn a_killed_third_process_leaves_nothing() {
    alone("a_killed_third_process_leaves_nothing", || {
        let near = Process::start(&Options::new("near")).unwrap();
        let left = other(&near);
        let before = Left::now();
        for _ in 0..10 {
            let mut right = other(&near);
            give(&right.root, KEEP, Some(&left.root)).unwrap();
            give(&left.root, KEEP, Some(&right.root)).unwrap();
            right.kill();
            drop(right);
            drop(kept(&left.root));
            await_that("no reference is left", || near.references() == (0, 1));
            before.await_no_more(&"a third process", || ());
        }
        assert_eq!(near.counters().broken, 0);
        left.end();
    });
}
