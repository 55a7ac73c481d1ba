// SPDX-License-Identifier: Apache-2.0
//! What a client of rsbinder's looks for in a service, no matter who serves.

use std::error::Error;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rsbinder::{ExceptionCode, Interface, ParcelFileDescriptor, StatusCode, Strong};

use crate::peer::IPeer;
use crate::services;
use crate::types::{Colour, ITypes, Point};

const PATIENCE: Duration = Duration::from_secs(60);
const TELLS: i32 = 50;

pub fn peer(remote: &Strong<dyn IPeer>) -> Result<(), Box<dyn Error>> {
    let root = remote.as_binder();
    assert_eq!(root.descriptor(), "takt.test.IPeer");
    root.ping_binder()?;
    let long = "x".repeat(100_000);
    for text in [None, Some(""), Some("grüße"), Some(&*long)] {
        assert_eq!(remote.echo(text)?.as_deref(), text);
    }
    assert_eq!(remote.caller()?, std::process::id().cast_signed());
    let own = services::own_peer();
    for depth in 0..5 {
        let mut threads = remote.threads(&own, depth)?;
        threads.reverse();
        assert_eq!(threads.len(), depth as usize + 1);
        for (index, thread) in threads.iter().enumerate() {
            let is_ours = *thread == services::thread_number();
            assert_eq!(is_ours, index % 2 == 1, "{threads:?}");
            assert_eq!(*thread, threads[index % 2], "{threads:?}");
        }
    }
    assert!(remote.keep(Some(&own.as_binder()))?.is_none());
    let back = remote.keep(Some(&root))?.ok_or("it was kept")?;
    assert!(back == own.as_binder(), "our node comes back as itself");
    let back = remote.keep(None)?.ok_or("it was kept")?;
    assert!(back == root, "its node comes back as the same proxy");
    let stream: OwnedFd = remote.stream("through it")?.into();
    let mut text = String::new();
    UnixStream::from(stream).read_to_string(&mut text)?;
    assert_eq!(text, "through it");
    let failed = remote.fail(-7).expect_err("as asked");
    assert_eq!(failed.exception_code(), ExceptionCode::ServiceSpecific);
    assert_eq!(failed.service_specific_error(), -7);
    for number in 0..TELLS {
        remote.tell(number)?;
    }
    let start = Instant::now();
    while remote.told()?.len() < TELLS as usize {
        assert!(start.elapsed() < PATIENCE, "all was told");
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(remote.told()?, (0..TELLS).collect::<Vec<_>>());
    Ok(())
}

fn point(x: i32, name: Option<&str>) -> Point {
    Point {
        x,
        name: name.map(Into::into),
        tail: vec![1, 2],
        ..Point::default()
    }
}

pub fn types(types: &Strong<dyn ITypes>) -> Result<(), Box<dyn Error>> {
    assert_eq!(types.letter(u16::MAX, -3, 0.5)?, u16::MAX);
    let mut longs = vec![i64::MIN, 0, 1, 2];
    types.numbers(&[true], &[1, 2], &[0.5; 3], &[0.5; 4], &mut longs)?;
    assert_eq!(longs, [i64::MIN + 1, 2, 4, 6]);
    assert!(types.moved(None, 1)?.is_none());
    let moved = types.moved(Some(&point(1, None)), 1)?.ok_or("a point")?;
    assert_eq!(format!("{moved:?}"), format!("{:?}", point(2, None)));
    assert_eq!((moved.y, moved.unit.as_str()), (-1, "mm"));
    assert_eq!(moved.colour, Colour::GREEN);
    let (mut grown, mut copy) = (point(3, Some("p")), Point::default());
    types.grow(&mut grown, &mut copy)?;
    assert_eq!((grown.x, copy.x, copy.name.as_deref()), (6, 6, Some("p")));
    let reversed = types.reversed(&[point(1, None), point(2, None)])?;
    assert_eq!(reversed.iter().map(|it| it.x).collect::<Vec<_>>(), [2, 1]);
    let (mut names, mut more) = (Vec::new(), vec!["first".to_owned()]);
    types.listed(&[point(1, Some("n"))], &mut names, &mut more)?;
    assert_eq!(
        (names, more),
        (vec!["n".into()], vec!["first".into(), "more".into()])
    );
    let mut all = vec![Colour::default(); 2];
    let next = types.next(Colour::GREEN, &[Colour(9), Colour::RED], &mut all)?;
    assert_eq!((next, all), (Colour::BLUE, vec![Colour(9), Colour::RED]));
    let (near, _far) = UnixStream::pair()?;
    types.kept(&ParcelFileDescriptor::new(near))?;
    assert!(types.none(None)?.is_none());
    let root = types.as_binder();
    let binders = types.binders(&[root.clone()], Some(&[None, Some(root.clone())]))?;
    assert!(binders.len() == 2 && binders.iter().all(|it| *it == root));
    assert!(types.own(None)?.is_none());
    let same = types.own(Some(types))?.ok_or("it comes back")?;
    assert!(same.as_binder() == root);
    assert_eq!(types.maybe(None)?, None);
    assert_eq!(types.maybe(Some(&[7]))?, Some(vec![7]));
    types.r#type(None)?;
    let refused = types.specific(-9).expect_err("its own");
    assert_eq!(refused.service_specific_error(), -9);
    assert_ne!(refused.transaction_error(), StatusCode::DeadObject);
    Ok(())
}
