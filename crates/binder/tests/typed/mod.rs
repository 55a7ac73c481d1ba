// SPDX-License-Identifier: Apache-2.0
//! ITypes in Rust, by the stubs that `crates/aidl` makes: a service of it, and what a caller looks
//! for, no matter who serves.

/// What `crates/aidl` makes of ITypes.aidl.
#[allow(
    dead_code,
    unreachable_pub,
    reason = "stubs are made for crates that others use"
)]
pub(crate) mod stubs {
    include!("../golden/types.rs");
}

use std::sync::Arc;

use binder::Binder;
use binder::stub::{Answer, Exception, Failure};
use stubs::{Colour, ITypes, ITypesProxy, Point};

/// A service for ITypes.
pub(crate) struct Types;

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

/// What a caller of ITypes looks for: every type, there and back.
pub(crate) fn check(root: &Binder) {
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
            std::slice::from_ref(root),
            Some(&[None, Some(root.clone())]),
        )
        .unwrap();
    assert!(binders.len() == 2 && binders.iter().all(|it| it.is_same(root)));
    assert!(types.self_(None).unwrap().is_none());
    assert!(types.self_(Some(&types)).unwrap().unwrap().0.is_same(root));
    assert_eq!(types.maybe(None), Ok(None));
    assert_eq!(types.maybe(Some(&[7])), Ok(Some(vec![7])));
    assert_eq!(types.r#type(None), Ok(()));
    let refused = types.specific(-9).unwrap_err();
    assert_eq!(
        refused,
        Failure::Exception(Exception::specific(-9, "its own"))
    );
}
