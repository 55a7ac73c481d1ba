// SPDX-License-Identifier: Apache-2.0
//! Stubs that `crates/aidl` makes: that they speak over `direct` and `lent`, what lies in their
//! parcels, and what they say to parcels that are not theirs.

mod golden;
mod hog;
mod pair;
mod service;
mod typed;

use std::os::fd::AsFd;

use binder::stub::{Exception, Failure, OUT_ITEMS_MAX, Read, Write};
use binder::{Binder, CallError, Options, Parcel, Process, Side};
use golden::Golden;
use golden::stubs::{IGoldenProxy, IGoldenStub};
use pair::Pair;
use rt::clock::{Clock, Monotonic};
use typed::Types;
use typed::stubs::{ITypes, ITypesProxy, ITypesStub, Point, Size};

/// Two processes of this program, and what the first has of the second's root.
fn joined(root: impl binder::Service) -> (Process, Process, Binder) {
    let [near, far] = ["near", "far"].map(|it| Process::start(&Options::new(it)).unwrap());
    far.set_root(Some(far.add(root)));
    let (end, _) = Process::join(&near, &far);
    let root = end.root().unwrap().unwrap();
    (near, far, root)
}

#[test]
fn the_golden_interface_is_spoken_inside_a_program() {
    let (near, _far, root) = joined(IGoldenStub(Golden::default()));
    assert_eq!(root.descriptor().unwrap(), "takt.test.IGolden");
    assert_eq!(IGoldenProxy::VERSION, 1);
    golden::check(&IGoldenProxy(root), &near).unwrap();
}

/// The other program: without a part it returns.
#[test]
fn child() {
    if std::env::var_os(pair::PART).is_none() {
        return;
    }
    let socket = std::io::stdin().as_fd().try_clone_to_owned().unwrap();
    let process = Process::start(&Options::new("child")).unwrap();
    process.set_root(Some(process.add(IGoldenStub(Golden::default()))));
    let connection = process.connect(socket, Side::Listener, pair::due_ns());
    let connection = connection.unwrap();
    while connection.is_alive() {
        Monotonic.sleep_until(Monotonic.now_ns() + 1_000_000);
    }
}

#[test]
fn the_golden_interface_is_spoken_between_two_programs() {
    let pair = Pair::new("golden", false);
    let golden = IGoldenProxy(pair.remote.clone());
    golden::check(&golden, &pair.near).unwrap();
    drop(golden);
    pair.end();
}

#[test]
fn every_type_goes_there_and_back() {
    let (_near, _far, root) = joined(ITypesStub(Types));
    typed::check(&root);
    let constants = (
        ITypesProxy::MASK,
        ITypesProxy::NAME,
        ITypesProxy::IS_SMALL,
        Point::DIMENSIONS,
    );
    assert_eq!(constants, (-1, "types", true, 2));
}

/// A parcel of ITypes' token and what `write` writes, and how it is answered.
fn asked(
    root: &Binder,
    code: u32,
    write: impl FnOnce(&mut Parcel),
) -> (Result<(), CallError>, Parcel) {
    let (mut data, mut reply) = (Parcel::new(), Parcel::new());
    for it in [0, -1, 0x5359_5354] {
        data.write_i32(it).unwrap();
    }
    ITypesProxy::DESCRIPTOR.write(&mut data).unwrap();
    write(&mut data);
    (root.transact(code, &mut data, &mut reply, None), reply)
}

#[test]
fn counts_that_cannot_be_are_refused_before_there_is_room_for_them() {
    let (_near, _far, root) = joined(ITypesStub(Types));
    for count in [i32::MAX, 1 << 20, 3] {
        // `reversed`: there is room for two points at most.
        let (outcome, _) = asked(&root, 5, |data| {
            [count, 0, 0]
                .iter()
                .try_for_each(|it| it.write(data))
                .unwrap();
        });
        assert_eq!(outcome, Err(CallError::BadParcel), "{count}");
    }
    let too_many = OUT_ITEMS_MAX as i32 + 1;
    for (count, expected) in [(2, Ok(())), (too_many, Err(CallError::BadParcel))] {
        // `next`: a colour, no colours, and an array that comes back. It has two colours only.
        let (outcome, _) = asked(&root, 7, |data| {
            [5, 2, 0, 0, count]
                .iter()
                .try_for_each(|it| it.write(data))
                .unwrap();
        });
        assert_eq!(outcome, expected, "{count}");
    }
}

#[test]
fn a_parcelable_stays_inside_its_size() {
    let (_near, _far, root) = joined(ITypesStub(Types));
    let moved = |size: i32, rest: &[i32]| {
        let (outcome, mut reply) = asked(&root, 3, |data| {
            1.write(data).unwrap();
            size.write(data).unwrap();
            rest.iter().try_for_each(|it| it.write(data)).unwrap();
        });
        outcome.map(|()| {
            assert_eq!(reply.read_i32(), Some(0));
            Option::<Point>::read(&mut reply).unwrap().unwrap()
        })
    };
    // One field, then the number to move by; what the sender has not is as at first.
    let short = moved(8, &[40, 2]).unwrap();
    assert_eq!((short.x, short.y, short.unit.as_str()), (42, -1, "mm"));
    for size in [-1, 0, 3, 1 << 20, i32::MAX] {
        assert_eq!(
            moved(size, &[40, 2]).unwrap_err(),
            CallError::BadParcel,
            "{size}"
        );
    }
    // The second field would reach behind the end.
    assert_eq!(moved(12, &[40, 2, 0, 0]).unwrap_err(), CallError::BadParcel);
}

#[test]
fn null_and_foreign_tokens_are_answered_as_exceptions() {
    let (_near, _far, root) = joined(IGoldenStub(Golden::default()));
    let wrong = ITypesProxy(root).specific(1).unwrap_err();
    let Failure::Exception(wrong) = wrong else {
        panic!("{wrong}");
    };
    assert_eq!(wrong.code, Exception::SECURITY);
    let (_near, _far, root) = joined(ITypesStub(Types));
    // `reversed` with no array.
    let (outcome, mut reply) = asked(&root, 5, |data| (-1).write(data).unwrap());
    assert_eq!(
        (outcome, reply.read_i32()),
        (Ok(()), Some(Exception::NULL_POINTER))
    );
    let (outcome, _) = asked(&root, 99, |_| ());
    assert_eq!(outcome, Err(CallError::UnknownTransaction));
}

#[test]
fn a_point_lies_in_its_parcel_as_debians_stubs_have_it() {
    let mut parcel = Parcel::new();
    let size = Size {
        width: 1.0,
        labels: vec!["a".into()],
    };
    size.write(&mut parcel).unwrap();
    let expected = [
        1, 0, 0, 0, // not null
        24, 0, 0, 0, // the size, itself included
        0, 0, 0, 0, 0, 0, 0xf0, 0x3f, // 1.0
        1, 0, 0, 0, // one label
        1, 0, 0, 0, b'a', 0, 0, 0,
    ];
    assert_eq!(parcel.bytes(), expected);
}
