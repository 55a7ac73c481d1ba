// SPDX-License-Identifier: Apache-2.0
//! Services of rsbinder's that do what the interfaces say.

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use rsbinder::{
    BinderResult, ExceptionCode, Interface, ParcelFileDescriptor, SIBinder, Status, StatusCode,
    Strong,
};

use crate::peer::{BnPeer, IPeer};
use crate::types::{BnTypes, Colour, ITypes, Point};

/// What a peer keeps.
#[derive(Default)]
pub struct Peer {
    kept: Mutex<Option<SIBinder>>,
    told: Mutex<Vec<i32>>,
    /// Itself, for calls back.
    own: OnceLock<Strong<dyn IPeer>>,
}

/// A peer that is served, typed; it lives as long as the program.
pub fn own_peer() -> Strong<dyn IPeer> {
    let peer = Shared(Arc::default());
    let state = Arc::clone(&peer.0);
    let binder = BnPeer::new_binder(peer);
    state.own.get_or_init(|| binder.clone());
    binder
}

pub fn peer() -> SIBinder {
    own_peer().as_binder()
}

pub fn types() -> SIBinder {
    BnTypes::new_binder(Types).as_binder()
}

/// A caller lends when it waits, and another processor may have taken the call before that.
const CALLER_WAITS: Duration = Duration::from_millis(50);

/// A field of the calling thread's `stat`, as proc(5) numbers them.
fn stat(field: i32) -> Option<i32> {
    std::thread::sleep(CALLER_WAITS);
    let stat = std::fs::read_to_string("/proc/thread-self/stat").ok()?;
    let (_, rest) = stat.rsplit_once(')')?;
    let index = usize::try_from(field).ok()?.checked_sub(3)?;
    rest.split_whitespace().nth(index)?.parse().ok()
}

pub fn thread_number() -> i32 {
    stat_of_self().expect("a thread has a number")
}

fn stat_of_self() -> Option<i32> {
    let link = std::fs::read_link("/proc/thread-self").ok()?;
    link.file_name()?.to_str()?.parse().ok()
}

struct Shared(Arc<Peer>);

impl Interface for Shared {}

impl IPeer for Shared {
    fn echo(&self, text: Option<&str>) -> BinderResult<Option<String>> {
        Ok(text.map(Into::into))
    }

    fn caller(&self) -> BinderResult<i32> {
        Ok(rsbinder::thread_state::get_calling_pid())
    }

    fn stat(&self, field: i32) -> BinderResult<i32> {
        stat(field).ok_or_else(|| ExceptionCode::IllegalArgument.into())
    }

    fn keep(&self, binder: Option<&SIBinder>) -> BinderResult<Option<SIBinder>> {
        let mut kept = self.0.kept.lock().expect("nobody panics with it");
        Ok(std::mem::replace(&mut kept, binder.cloned()))
    }

    fn threads(&self, back: &Strong<dyn IPeer>, depth: i32) -> BinderResult<Vec<i32>> {
        let own = self.0.own.get().ok_or(StatusCode::DeadObject)?;
        let mut threads = match depth {
            0 => Vec::new(),
            _ => back.threads(own, depth - 1)?,
        };
        threads.push(thread_number());
        Ok(threads)
    }

    fn stream(&self, text: &str) -> BinderResult<ParcelFileDescriptor> {
        let (mut near, far) = UnixStream::pair().map_err(|_| StatusCode::NoMemory)?;
        near.write_all(text.as_bytes())
            .map_err(|_| StatusCode::NoMemory)?;
        Ok(ParcelFileDescriptor::new(far))
    }

    fn fail(&self, code: i32) -> BinderResult<()> {
        let why = Some("as asked".to_owned());
        Err(Status::new_service_specific_error(code, why))
    }

    fn tell(&self, number: i32) -> BinderResult<()> {
        let mut told = self.0.told.lock().expect("nobody panics with it");
        told.push(number);
        Ok(())
    }

    fn told(&self) -> BinderResult<Vec<i32>> {
        Ok(self.0.told.lock().expect("nobody panics with it").clone())
    }

    fn die(&self) -> BinderResult<()> {
        std::process::abort()
    }
}

struct Types;

impl Interface for Types {}

impl ITypes for Types {
    fn letter(&self, letter: u16, small: i8, real: f32) -> BinderResult<u16> {
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
    ) -> BinderResult<()> {
        let sizes = [truths.len(), letters.len(), reals.len(), wide.len()];
        for (it, size) in longs.iter_mut().zip(sizes) {
            *it += size as i64;
        }
        Ok(())
    }

    fn moved(&self, point: Option<&Point>, by: i32) -> BinderResult<Option<Point>> {
        Ok(point.map(|it| Point {
            x: it.x + by,
            ..copy_of(it)
        }))
    }

    fn grow(&self, point: &mut Point, copy: &mut Point) -> BinderResult<()> {
        point.x *= 2;
        *copy = copy_of(point);
        Ok(())
    }

    fn reversed(&self, points: &[Point]) -> BinderResult<Vec<Point>> {
        Ok(points.iter().rev().map(copy_of).collect())
    }

    fn listed(
        &self,
        points: &[Point],
        names: &mut Vec<String>,
        more: &mut Vec<String>,
    ) -> BinderResult<()> {
        *names = points.iter().filter_map(|it| it.name.clone()).collect();
        more.push("more".into());
        Ok(())
    }

    fn next(
        &self,
        colour: Colour,
        colours: &[Colour],
        all: &mut Vec<Colour>,
    ) -> BinderResult<Colour> {
        *all = colours.to_vec();
        Ok(Colour(colour.0 + 1))
    }

    fn kept(&self, fd: &ParcelFileDescriptor) -> BinderResult<ParcelFileDescriptor> {
        Ok(fd.try_clone()?)
    }

    fn none(
        &self,
        fd: Option<&ParcelFileDescriptor>,
    ) -> BinderResult<Option<ParcelFileDescriptor>> {
        Ok(fd.map(ParcelFileDescriptor::try_clone).transpose()?)
    }

    fn binders(
        &self,
        binders: &[SIBinder],
        more: Option<&[Option<SIBinder>]>,
    ) -> BinderResult<Vec<SIBinder>> {
        let more = more.unwrap_or_default().iter().flatten();
        Ok(binders.iter().chain(more).cloned().collect())
    }

    fn own(&self, types: Option<&Strong<dyn ITypes>>) -> BinderResult<Option<Strong<dyn ITypes>>> {
        Ok(types.cloned())
    }

    fn maybe(&self, numbers: Option<&[i32]>) -> BinderResult<Option<Vec<i32>>> {
        Ok(numbers.map(<[i32]>::to_vec))
    }

    fn r#type(&self, _: Option<&str>) -> BinderResult<()> {
        Ok(())
    }

    fn specific(&self, number: i32) -> BinderResult<()> {
        let why = Some("its own".to_owned());
        Err(Status::new_service_specific_error(number, why))
    }
}

/// Its parcelables are not copied by `Clone`.
fn copy_of(point: &Point) -> Point {
    Point {
        x: point.x,
        y: point.y,
        name: point.name.clone(),
        unit: point.unit.clone(),
        colour: point.colour,
        owner: point.owner.clone(),
        tail: point.tail.clone(),
        size: crate::types::takt::test::Size::Size {
            width: point.size.width,
            labels: point.size.labels.clone(),
        },
        scale: point.scale,
        bytes: point.bytes.clone(),
    }
}
