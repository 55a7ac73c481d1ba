// SPDX-License-Identifier: Apache-2.0
//! Stubs that `crates/aidl` makes: that they speak over `direct` and `lent`, what lies in their
//! parcels, and what they say to parcels that are not theirs.

mod golden;
mod hog;
mod pair;
mod service;

/// What `crates/aidl` makes of ITypes.aidl.
#[allow(unreachable_pub, reason = "stubs are made for crates that others use")]
mod types {
    include!("golden/types.rs");
}

use std::os::fd::AsFd;
use std::sync::Arc;

use binder::stub::{Answer, Exception, Failure, OUT_ITEMS_MAX, Read, Write};
use binder::{Binder, CallError, Options, Parcel, Process, Side};
use golden::Golden;
use golden::stubs::{IGoldenProxy, IGoldenStub};
use pair::Pair;
use rt::clock::{Clock, Monotonic};
use types::{Colour, ITypes, ITypesProxy, ITypesStub, Point};

/// A service for ITypes.
struct Types;

impl ITypes for Types {
    fn letter(&self, letter: u16, small: i8, real: f32) -> Answer<u16> {
        assert!(small == -3 && real == 0.5);
        Ok(letter)
    }

    fn numbers(
        &self,
        truths: &[bool],
        letters: &[u16],
        reals: &[f32],
        wide: &[f64],
        longs: &mut Vec<i64>,
    ) -> Answer<()> {
        let sizes = [truths.len(), letters.len(), reals.len(), wide.len()];
        for (it, size) in longs.iter_mut().zip(sizes) {
            *it += size as i64;
        }
        Ok(())
    }

    fn moved(&self, point: Option<&Point>, by: i32) -> Answer<Option<Point>> {
        Ok(point.map(|it| Point {
            x: it.x + by,
            ..it.clone()
        }))
    }

    fn grow(&self, point: &mut Point, copy: &mut Point) -> Answer<()> {
        point.x *= 2;
        *copy = point.clone();
        Ok(())
    }

    fn reversed(&self, points: &[Point]) -> Answer<Vec<Point>> {
        Ok(points.iter().rev().cloned().collect())
    }

    fn listed(
        &self,
        points: &[Point],
        names: &mut Vec<String>,
        more: &mut Vec<String>,
    ) -> Answer<()> {
        names.extend(points.iter().filter_map(|it| it.name.clone()));
        more.push("more".into());
        Ok(())
    }

    fn next(&self, colour: Colour, colours: &[Colour], all: &mut Vec<Colour>) -> Answer<Colour> {
        all.copy_from_slice(colours);
        Ok(Colour(colour.0 + 1))
    }

    fn kept(&self, fd: &Arc<std::os::fd::OwnedFd>) -> Answer<Arc<std::os::fd::OwnedFd>> {
        Ok(Arc::clone(fd))
    }

    fn none(
        &self,
        fd: Option<&Arc<std::os::fd::OwnedFd>>,
    ) -> Answer<Option<Arc<std::os::fd::OwnedFd>>> {
        Ok(fd.cloned())
    }

    fn binders(&self, binders: &[Binder], more: Option<&[Option<Binder>]>) -> Answer<Vec<Binder>> {
        let more = more.unwrap_or_default().iter().flatten();
        Ok(binders.iter().chain(more).cloned().collect())
    }

    fn self_(&self, types: Option<&ITypesProxy>) -> Answer<Option<ITypesProxy>> {
        Ok(types.cloned())
    }

    fn maybe(&self, numbers: Option<&[i32]>) -> Answer<Option<Vec<i32>>> {
        Ok(numbers.map(<[i32]>::to_vec))
    }

    fn r#type(&self, _: Option<&str>) -> Answer<()> {
        Ok(())
    }

    fn specific(&self, number: i32) -> Answer<()> {
        Err(Exception::specific(number, "its own").into())
    }
}

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

fn pipe_end() -> std::os::fd::OwnedFd {
    std::os::unix::net::UnixStream::pair().unwrap().0.into()
}

fn point(x: i32, name: Option<&str>) -> Point {
    Point {
        x,
        name: name.map(Into::into),
        tail: vec![1, 2],
        ..Point::default()
    }
}

#[test]
fn every_type_goes_there_and_back() {
    let (_near, _far, root) = joined(ITypesStub(Types));
    let types = ITypesProxy(root.clone());
    assert_eq!(types.letter(u16::MAX, -3, 0.5), Ok(u16::MAX));
    let mut longs = vec![i64::MIN, 0, 1, 2];
    types
        .numbers(&[true], &[1, 2], &[0.5; 3], &[0.5; 4], &mut longs)
        .unwrap();
    assert_eq!(longs, [i64::MIN + 1, 2, 4, 6]);
    assert!(types.moved(None, 1).unwrap().is_none());
    let moved = types.moved(Some(&point(1, None)), 1).unwrap().unwrap();
    assert_eq!(format!("{moved:?}"), format!("{:?}", point(2, None)));
    assert_eq!(
        (moved.y, moved.unit.as_str(), moved.colour),
        (-1, "mm", Colour::GREEN)
    );
    let (mut grown, mut copy) = (point(3, Some("p")), Point::default());
    types.grow(&mut grown, &mut copy).unwrap();
    assert_eq!((grown.x, copy.x, copy.name.as_deref()), (6, 6, Some("p")));
    let reversed = types.reversed(&[point(1, None), point(2, None)]).unwrap();
    assert_eq!(reversed.iter().map(|it| it.x).collect::<Vec<_>>(), [2, 1]);
    let (mut names, mut more) = (vec!["gone".to_owned()], vec!["first".to_owned()]);
    types
        .listed(&[point(1, Some("n"))], &mut names, &mut more)
        .unwrap();
    assert_eq!(
        (names, more),
        (vec!["n".into()], vec!["first".into(), "more".into()])
    );
    let mut all = vec![Colour::default(); 2];
    let next = types.next(Colour::GREEN, &[Colour(9), Colour::RED], &mut all);
    assert_eq!(
        (next, all),
        (Ok(Colour::BLUE), vec![Colour(9), Colour::RED])
    );
    assert!(types.kept(&Arc::new(pipe_end())).is_ok());
    assert!(types.none(None).unwrap().is_none());
    let binders = types
        .binders(
            std::slice::from_ref(&root),
            Some(&[None, Some(root.clone())]),
        )
        .unwrap();
    assert!(binders.len() == 2 && binders.iter().all(|it| it.is_same(&root)));
    assert!(types.self_(None).unwrap().is_none());
    assert!(types.self_(Some(&types)).unwrap().unwrap().0.is_same(&root));
    assert_eq!(types.maybe(None), Ok(None));
    assert_eq!(types.maybe(Some(&[7])), Ok(Some(vec![7])));
    assert_eq!(types.r#type(None), Ok(()));
    let refused = types.specific(-9).unwrap_err();
    assert_eq!(
        refused,
        Failure::Exception(Exception::specific(-9, "its own"))
    );
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
    let size = types::Size {
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
