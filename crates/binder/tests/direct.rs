// SPDX-License-Identifier: Apache-2.0
//! Two processes inside one program: calls, errors, references, deaths, calls without an answer.

mod service;

use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::SeqCst;

use binder::{Binder, CallError, Caller, End, Options, Parcel, Process, clear_caller};
use service::{
    ADD, DOWN, ECHO, FAIL, FD, KEEP, PANIC, Played, RELAY, TID, WHO, ask, await_that, give, player,
};

/// Two processes; the second one's node as the first has it.
struct Pair {
    near: Process,
    far: Process,
    end: End,
    remote: Binder,
    played: Arc<Played>,
}

fn pair() -> Pair {
    let near = Process::start(&Options::new("near")).unwrap();
    let far = Process::start(&Options::new("far")).unwrap();
    let (node, played) = player(&far);
    far.set_root(Some(node));
    let (end, _) = Process::join(&near, &far);
    let remote = end.root().unwrap().unwrap();
    Pair {
        near,
        far,
        end,
        remote,
        played,
    }
}

#[test]
fn a_call_is_answered_on_the_callers_thread() {
    let pair = pair();
    let mut data = Parcel::new();
    data.write_blob(Some(b"hello")).unwrap();
    let mut reply = Parcel::new();
    pair.remote
        .transact(ECHO, &mut data, &mut reply, None)
        .unwrap();
    assert_eq!(reply.read_blob(), Some(&b"hello"[..]));
    let mut tid = ask(&pair.remote, TID, 0).unwrap();
    assert_eq!(tid.read_i32(), Some(rt::policy::Tid::current().raw()));
    assert_eq!(pair.far.counters().served, 2);
}

#[test]
fn errors_come_back_as_they_are() {
    let pair = pair();
    let error = |code, value| ask(&pair.remote, code, value).unwrap_err();
    assert_eq!(error(99, 0), CallError::UnknownTransaction);
    assert_eq!(error(FAIL, 7), CallError::Status(7));
    assert_eq!(error(PANIC, 0), CallError::Failed);
    assert_eq!(error(KEEP, 0), CallError::BadParcel);
    assert_eq!(pair.far.counters().failed, 1);
    assert_eq!(pair.remote.ping(), Ok(()), "it lives on");
}

#[test]
fn every_node_has_a_descriptor_and_a_dump() {
    let pair = pair();
    assert_eq!(pair.remote.descriptor().unwrap(), "takt.test.IPlayer");
    ask(&pair.remote, ADD, 5).unwrap();
    assert_eq!(pair.remote.dump().unwrap(), "sum 5");
    let dump = pair.far.dump();
    assert!(
        dump.contains("3 loopers, 1 of them for real time"),
        "{dump}"
    );
    assert!(dump.contains("(direct)"), "{dump}");
}

#[test]
fn one_node_is_one_proxy_and_comes_home_as_itself() {
    let pair = pair();
    let again = pair.end.root().unwrap().unwrap();
    assert!(pair.remote.is_same(&again));
    let (own, _) = player(&pair.near);
    let mut none = give(&pair.remote, KEEP, Some(&own)).unwrap();
    assert!(none.read_binder().unwrap().is_none());
    let back = give(&pair.remote, KEEP, None)
        .unwrap()
        .read_binder()
        .unwrap();
    assert!(back.unwrap().is_same(&own));
    let itself = give(&pair.remote, KEEP, Some(&pair.remote));
    itself.unwrap();
    let kept = pair.played.kept.lock().take();
    assert!(
        matches!(kept, Some(Binder::Local(_))),
        "a node at home is no proxy"
    );
}

#[test]
fn the_caller_is_known_and_can_be_put_aside() {
    let pair = pair();
    let mut who = ask(&pair.remote, WHO, 0).unwrap();
    assert_eq!(who.read_i32(), Some(std::process::id().cast_signed()));
    assert_eq!(who.read_i32(), Some(rt::process::uid().cast_signed()));
    let _cleared = clear_caller();
    assert_eq!(Caller::current(), Caller::own());
}

#[test]
fn calls_nest_between_both() {
    let pair = pair();
    let (own, _) = player(&pair.near);
    let mut data = Parcel::new();
    data.write_binder(Some(own)).unwrap();
    data.write_i32(6).unwrap();
    let mut reply = Parcel::new();
    pair.remote
        .transact(DOWN, &mut data, &mut reply, None)
        .unwrap();
    let tid = rt::policy::Tid::current().raw();
    let tids: Vec<_> = std::iter::from_fn(|| reply.read_i32()).collect();
    assert_eq!(tids, [tid; 7]);
}

#[test]
fn a_descriptor_arrives_as_another_for_the_same_file() {
    let pair = pair();
    let (near, far) = std::os::unix::net::UnixStream::pair().unwrap();
    let mut data = Parcel::new();
    let raw = near.as_raw_fd();
    data.write_fd(Arc::new(near.into())).unwrap();
    let mut reply = Parcel::new();
    pair.remote
        .transact(FD, &mut data, &mut reply, None)
        .unwrap();
    let back = reply.read_fd().unwrap();
    assert_ne!(back.as_raw_fd(), raw);
    drop((data, reply));
    let stream = std::os::unix::net::UnixStream::from(Arc::into_inner(back).unwrap());
    std::io::Write::write_all(&mut &stream, b"x").unwrap();
    let mut byte = [0];
    std::io::Read::read_exact(&mut &far, &mut byte).unwrap();
    assert_eq!(&byte, b"x");
}

#[test]
fn references_end_at_zero_and_weak_ones_revive_what_lives() {
    let pair = pair();
    let (own, played) = player(&pair.near);
    give(&pair.remote, KEEP, Some(&own)).unwrap();
    assert_eq!(pair.near.references(), (1, 1));
    let weak = pair.remote.downgrade();
    let Pair {
        near,
        far,
        remote,
        played: far_played,
        ..
    } = pair;
    drop(remote);
    assert_eq!(near.references().1, 0, "the proxy is gone");
    assert_eq!(far.references().0, 0, "and its count");
    let revived = weak.promote().expect("its process's root holds it");
    assert_eq!(revived.ping(), Ok(()));
    drop(revived);
    far.set_root(None);
    assert!(weak.promote().is_none(), "nobody holds it any more");
    let kept = far_played.kept.lock().take();
    let weak_own = own.downgrade();
    drop((own, played));
    assert!(weak_own.promote().is_some(), "the other process holds it");
    drop(kept);
    assert!(weak_own.promote().is_none());
    assert_eq!(near.references(), (0, 0));
    assert_eq!(far.references(), (0, 0));
}

#[test]
fn recipients_are_told_once_or_not_at_all() {
    let pair = pair();
    let told = Arc::new(AtomicU32::new(0));
    let recipient = || {
        let told = Arc::clone(&told);
        move || {
            told.fetch_add(1, SeqCst);
        }
    };
    let kept = pair.remote.link_to_death(recipient()).unwrap();
    let taken = pair.remote.link_to_death(recipient()).unwrap();
    let Binder::Remote(proxy) = &pair.remote else {
        unreachable!("it is of the other process");
    };
    assert!(proxy.unlink_to_death(taken));
    assert!(!proxy.unlink_to_death(taken));
    drop(pair.far);
    assert_eq!(told.load(SeqCst), 1);
    assert!(!proxy.unlink_to_death(kept));
    assert!(pair.remote.link_to_death(recipient()).is_none());
    assert!(!pair.remote.is_alive());
    assert_eq!(pair.remote.ping(), Err(CallError::DeadObject));
    assert_eq!(pair.near.counters().deaths, 1);
    assert_eq!(pair.near.references(), (0, 0));
}

#[test]
fn calls_without_an_answer_keep_their_order_and_have_a_bound() {
    let pair = pair();
    let send = |value: i32| {
        let mut data = Parcel::new();
        data.write_i32(value).unwrap();
        pair.remote.send(ADD, &data)
    };
    let gate = pair.played.order.lock();
    let mut sent = 0;
    let refused = loop {
        match send(sent) {
            Ok(()) => sent += 1,
            Err(error) => break error,
        }
    };
    assert_eq!(refused, CallError::QueueFull);
    assert!((256..=258).contains(&sent), "{sent}");
    drop(gate);
    await_that("all are served", || {
        pair.played.order.lock().len() == sent as usize
    });
    assert_eq!(*pair.played.order.lock(), (0..sent).collect::<Vec<_>>());
    await_that("the queue has room", || send(0).is_ok());
    assert!(pair.far.counters().refused >= 1);
}

#[test]
fn a_third_processs_node_is_handed_on() {
    let pair = pair();
    let third = Process::start(&Options::new("third")).unwrap();
    let (node, played) = player(&third);
    third.set_root(Some(node));
    let (end, _) = Process::join(&pair.near, &third);
    let foreign = end.root().unwrap().unwrap();
    let (mut data, mut reply) = (Parcel::new(), Parcel::new());
    data.write_binder(Some(foreign)).unwrap();
    data.write_i32(ADD.cast_signed()).unwrap();
    data.write_i32(5).unwrap();
    pair.remote
        .transact(RELAY, &mut data, &mut reply, None)
        .unwrap();
    assert_eq!(played.sum.load(SeqCst), 5);
}
