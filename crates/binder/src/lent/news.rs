// SPDX-License-Identifier: Apache-2.0
//! What comes while a looper reads the request that it has chosen: the more urgent is served first,
//! and each request is read once.
//!
//! A test plays both ends by hand, by the words of a looper that no thread is.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use rt::clock::{Clock, Monotonic};
use rt::peer::Urgency;
use rt::policy::{Policy, Tid};
use rt::sync::PiMutex;

use super::hostile::{due_ns, join};
use super::layout::{Area, Header, Kind, LOOPERS_MAX, SLOTS};
use super::lents::Known;
use super::looper::{self, Request};
use super::message::{self, Load, SPARES_AT_HAND, SPARES_MAX};
use super::steps::Step;
use super::words;
use crate::proxy::Proxy;
use crate::{Binder, Call, CallError, Connection, Options, Parcel, Process, Service};

/// Nobody's.
const LOOPER: usize = LOOPERS_MAX - 1;

type News = Box<dyn FnMut(Step)>;

thread_local! {
    static NEWS: RefCell<Option<News>> = const { RefCell::new(None) };
}

/// A step of the calling thread: it may bring news. Steps of what brings them count for nothing.
pub(super) fn reach(step: Step) {
    if let Some(mut news) = NEWS.take() {
        news(step);
        NEWS.set(Some(news));
    }
}

/// Keeps the codes that it is called by, in order.
#[derive(Default)]
struct Order(PiMutex<Vec<u32>>);

impl Service for Arc<Order> {
    fn descriptor(&self) -> &str {
        "takt.test.IOrder"
    }

    fn on_transact(
        &self,
        _: &Call,
        code: u32,
        data: &mut Parcel,
        _: &mut Parcel,
    ) -> Result<(), CallError> {
        assert_eq!(data.read_i32(), Some(code.cast_signed()));
        assert!(data.read_binder()?.is_some());
        self.0.lock().push(code);
        Ok(())
    }

    fn inherits(&self) -> Urgency {
        reach(Step::Served);
        Urgency::DEADLINE
    }
}

/// What requests name.
struct Named;

impl Service for Named {
    fn descriptor(&self) -> &str {
        "takt.test.INamed"
    }

    fn on_transact(
        &self,
        _: &Call,
        _: u32,
        _: &mut Parcel,
        _: &mut Parcel,
    ) -> Result<(), CallError> {
        Ok(())
    }
}

/// A process that calls another one.
struct Caller {
    process: Process,
    calls: Connection,
    root: Arc<Proxy>,
    node: Binder,
}

impl Caller {
    /// Posts a call of the calling thread's, as urgent as it says, without waiting. Its code is the
    /// claim as well, and tells its slot.
    fn post(&self, claim: u8) {
        let (lent, slot) = (self.calls.lent(), slot_of(claim));
        let request = Header {
            target: self.root.number,
            code: u32::from(claim),
            tid: rt::sys::tid::current(),
            claim: u32::from(claim),
            sequence: 1,
            ..Header::default()
        };
        let mut data = Parcel::new();
        data.write_i32(i32::from(claim)).unwrap();
        data.write_binder(Some(self.node.clone())).unwrap();
        let (link, load) = (self.calls.link(), Load::of(&data));
        let written = lent.write(link, Area::Requests, slot, request, load);
        written.unwrap();
        words::open(lent.turn(lent.side, slot));
        // The thread is caller and looper.
        let offer = lent.lock(lent.side, slot).offer(Tid::current(), true);
        assert!(offer.is_ok());
        words::post(lent.posted(lent.side, LOOPER), slot, || false, || ());
    }

    fn answer(&self, claim: u8) -> Option<Kind> {
        let answer = self.calls.lent().header(Area::Answers, slot_of(claim));
        answer.filter(|it| it.sequence == 1).map(|it| it.kind)
    }
}

fn slot_of(claim: u8) -> usize {
    usize::from(claim) % SLOTS
}

/// The process that is called.
struct Called {
    process: Process,
    order: Arc<Order>,
    known: Known,
    requests: Vec<Request>,
    end: Connection,
}

impl Called {
    /// The claim of the request that is next, and its place.
    fn next(&mut self) -> (usize, u8) {
        let (known, requests) = (&self.known, &mut self.requests);
        let (place, urgency) = looper::choose_and_read(known, LOOPER, requests, true).unwrap();
        (place, urgency.get())
    }

    fn serve(&mut self, place: usize, is_declined: bool) {
        let request = self.requests.remove(place);
        let news = || looper::has_news(&self.known, LOOPER);
        let back = looper::serve(self.process.inner(), request, is_declined, news);
        self.requests.extend(back);
    }
}

fn ends() -> (Rc<Caller>, Called) {
    let [near, far] = ["near", "far"].map(|it| Process::start(&Options::new(it)).unwrap());
    let order = Arc::new(Order::default());
    far.set_root(Some(far.add(Arc::clone(&order))));
    let (calls, called) = join(&near, &far);
    let Some(Binder::Remote(root)) = calls.root().unwrap() else {
        panic!("a node of another process");
    };
    let mut known = Known::default();
    known.learn(&far.inner().lents);
    message::prepare();
    let caller = Caller {
        node: near.add(Named),
        process: near,
        root,
        calls,
    };
    let called = Called {
        process: far,
        order,
        known,
        requests: Vec::new(),
        end: called,
    };
    (Rc::new(caller), called)
}

/// What the requests named is let go, and nobody broke the protocol.
fn assert_nothing_left(caller: &Caller, called: &Called) {
    let end_ns = due_ns();
    while caller.process.references().0 > 0 {
        assert!(Monotonic.now_ns() < end_ns, "something is held still");
        Monotonic.sleep_until(Monotonic.now_ns() + 200_000);
    }
    assert_eq!(called.process.counters().broken, 0);
}

/// Runs `body` on a thread to which the kernel grants any claim; `news` whenever it comes to a
/// step. Gives how many requests it has read.
fn with_news(at: Step, mut news: impl FnMut() + 'static, body: impl FnOnce()) -> u32 {
    let own = Tid::current();
    let before = Policy::of(own).unwrap();
    Policy::fifo(90).apply(own).unwrap();
    let count = Rc::new(Cell::new(0));
    let counter = Rc::clone(&count);
    NEWS.set(Some(Box::new(move |step| {
        counter.set(counter.get() + u32::from(step == Step::Copied));
        if step == at {
            news();
        }
    })));
    body();
    NEWS.set(None);
    before.apply(own).unwrap();
    count.get()
}

#[test]
fn what_comes_while_a_request_is_read_goes_first_and_that_one_is_read_once() {
    let (caller, mut called) = ends();
    let late = Rc::clone(&caller);
    let mut news = [80, 20].into_iter();
    let bring = move || news.next().into_iter().for_each(|it| late.post(it));
    let count = with_news(Step::Copied, bring, || {
        caller.post(60);
        let (place, claim) = called.next();
        assert_eq!(claim, 80);
        called.serve(place, false);
        let (place, claim) = called.next();
        assert_eq!(claim, 60);
        // It was read, and is let go.
        called.serve(place, true);
        let (place, claim) = called.next();
        assert_eq!(claim, 20);
        called.serve(place, false);
    });
    assert_eq!(count, 3, "each once");
    assert_eq!(*called.order.0.lock(), [80, 20]);
    assert_eq!(
        [80, 60, 20].map(|it| caller.answer(it)),
        [Kind::Answer, Kind::Declined, Kind::Answer].map(Some)
    );
    assert_nothing_left(&caller, &called);
}

#[test]
fn what_comes_before_a_call_begins_goes_first() {
    let (caller, mut called) = ends();
    let late = Rc::clone(&caller);
    let mut news = [80, 20].into_iter();
    // The looper is past its choice: it asks what the node inherits.
    let bring = move || news.next().into_iter().for_each(|it| late.post(it));
    let count = with_news(Step::Served, bring, || {
        caller.post(60);
        // 60 is put back for 80, and 80 for 20, which is less urgent.
        for claim in [60, 80, 80, 60, 20] {
            let (place, next) = called.next();
            assert_eq!(next, claim);
            called.serve(place, false);
        }
        assert!(called.requests.is_empty());
    });
    assert_eq!(count, 3, "each once");
    assert_eq!(*called.order.0.lock(), [80, 60, 20]);
    assert_nothing_left(&caller, &called);
}

#[test]
fn what_waits_is_read_as_long_as_there_is_room_and_served_all_the_same() {
    const COUNT: u8 = SLOTS as u8;
    const ROOM: u32 = (SPARES_MAX - SPARES_AT_HAND) as u32;
    let (caller, mut called) = ends();
    let late = Rc::clone(&caller);
    let mut next = 1;
    let bring = move || {
        if next < COUNT {
            next += 1;
            late.post(next);
        }
    };
    let mut posted = 0;
    let count = with_news(Step::Copied, bring, || {
        caller.post(1);
        let (_, claim) = called.next();
        posted = claim;
        while !called.requests.is_empty() {
            let (place, _) = called.next();
            called.serve(place, false);
        }
    });
    // The last of those that waited was not read before it was served.
    assert_eq!(u32::from(posted), ROOM + 1);
    let order = called.order.0.lock().clone();
    assert_eq!(count as usize, order.len(), "each once");
    assert_eq!(order.len(), usize::from(COUNT));
    // What came while one was served is more urgent than what waited.
    assert_eq!(order[0], ROOM + 1);
    assert!(order.iter().rev().take(ROOM as usize).is_sorted());
    assert_nothing_left(&caller, &called);
}

#[test]
fn a_link_that_ends_leaves_nothing_of_what_was_read() {
    let (caller, mut called) = ends();
    let late = Rc::clone(&caller);
    let mut is_first = true;
    let bring = move || {
        if std::mem::take(&mut is_first) {
            late.post(80);
        }
    };
    with_news(Step::Copied, bring, || {
        caller.post(60);
        let (place, claim) = called.next();
        assert_eq!(claim, 80);
        called.end.close();
        called.serve(place, false);
        called.serve(0, false);
    });
    assert_eq!(called.order.0.lock().len(), 0);
    assert_nothing_left(&caller, &called);
}
