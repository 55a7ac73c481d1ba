// SPDX-License-Identifier: Apache-2.0
//! A looper: serves what is lent to it, the most urgent caller first, and calls without an answer;
//! then sleeps.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use rt::clock::{Clock, Monotonic};
use rt::peer::Urgency;
use rt::policy::{Policy, PolicyGuard, Priority, Tid};

use crate::Parcel;
use crate::lent::call::Conversation;
use crate::lent::chain;
use crate::lent::inbox::Gone;
use crate::lent::layout::{Area, Header, Kind, SLOTS};
use crate::lent::lents::Known;
use crate::lent::message::{self, Lent};
use crate::lent::steps::{self, Step};
use crate::lent::words;
use crate::link::{Link, OWN};
use crate::oneway;
use crate::process::Inner;
use crate::serving::{self, Waiting, Waits};

/// A request that is lent to this looper.
struct Request {
    link: Arc<Link>,
    lent: Arc<Lent>,
    slot: usize,
    header: Header,
    /// By the kernel's word, once it was asked.
    urgency: Option<Urgency>,
}

impl Request {
    fn urgency(&mut self) -> Urgency {
        *self.urgency.get_or_insert_with(|| {
            let claim = Urgency::new(self.header.claim);
            let tid = i32::try_from(self.header.tid).ok().and_then(Tid::new);
            let granted = tid.and_then(|tid| self.lent.peer.urgency(tid, claim));
            // Who names a thread that is not its own is nobody.
            granted.unwrap_or(Urgency::ORDINARY)
        })
    }
}

/// Until the process ends.
pub(crate) fn run(inner: &Arc<Inner>, index: usize) {
    let looper = &inner.loopers[index];
    let sleeping = inner.face.sleeping(index);
    let mut links = Known::default();
    let mut requests = Vec::with_capacity(SLOTS);
    message::prepare();
    serving::prepare();
    chain::prepare();
    HERE.set(Some(Here {
        inner: Arc::clone(inner),
        index,
        depth: 0,
    }));
    let mut was_oneway = false;
    while !inner.has_ended() {
        links.learn(&inner.lents);
        gather(&links, index, &mut requests);
        let due = inner.due.urgency(looper.is_kept);
        let next = choose(&mut requests, due.is_some() || looper.is_kept);
        let is_oneway_first = match (&next, due) {
            // Equals take turns: neither kind keeps the other waiting.
            (Some((_, urgency)), Some(due)) => *urgency < due || *urgency == due && !was_oneway,
            (_, due) => due.is_some(),
        };
        was_oneway = is_oneway_first;
        match next {
            _ if is_oneway_first => oneways(inner),
            Some((place, urgency)) => {
                let request = requests.remove(place);
                serve(inner, request, looper.is_kept && !urgency.is_real_time());
            }
            None if spin(inner, &links, index) => {}
            None => {
                if words::fall_asleep(sleeping, || has_work(inner, &links, index)) {
                    looper.bells.wait_until(None);
                    words::wake_up(sleeping);
                }
            }
        }
    }
    HERE.set(None);
    inner.face.sleeping(index).store(0, Relaxed);
}

fn oneways(inner: &Inner) {
    let node = inner.due.pop();
    if let Some(node) = node {
        oneway::serve(inner, &node);
    }
}

/// Takes what was posted to this looper. O(links).
fn gather(links: &Known, index: usize, requests: &mut Vec<Request>) {
    for (link, lent) in links.all() {
        let mut bits = words::take(lent.posted(lent.other(), index));
        while bits != 0 {
            let slot = bits.trailing_zeros() as usize;
            bits &= bits - 1;
            let is_there = |it: &Request| it.slot == slot && it.link.number == link.number;
            let header = (slot < SLOTS && !requests.iter().any(is_there))
                .then(|| lent.header(Area::Requests, slot))
                .flatten();
            let Some(header) = header.filter(|it| it.kind == Kind::Request) else {
                lent.broken(link, Gone::Broken);
                break;
            };
            requests.push(Request {
                link: Arc::clone(link),
                lent: Arc::clone(lent),
                slot,
                header,
                urgency: None,
            });
        }
    }
}

/// The place of the most urgent request, of equals the first that came. The kernel is asked only
/// where there is something to choose.
fn choose(requests: &mut [Request], is_asked: bool) -> Option<(usize, Urgency)> {
    if requests.len() == 1 && !is_asked {
        return Some((0, Urgency::ORDINARY));
    }
    let urgencies = requests.iter_mut().map(Request::urgency).enumerate();
    urgencies.min_by_key(|it| u8::MAX - it.1.get())
}

fn has_work(inner: &Inner, links: &Known, index: usize) -> bool {
    let is_posted = |lent: &Lent| words::is_posted(lent.posted(lent.other(), index));
    inner.has_ended()
        || links.is_old(&inner.lents)
        || links.all().iter().any(|(_, lent)| is_posted(lent))
        || inner.due.urgency(inner.loopers[index].is_kept).is_some()
}

/// Looks for work for a while, where the process is to; says whether there is some.
fn spin(inner: &Inner, links: &Known, index: usize) -> bool {
    if inner.spin_ns == 0 {
        return false;
    }
    let end_ns = Monotonic.now_ns() + inner.spin_ns;
    loop {
        if has_work(inner, links, index) {
            return true;
        }
        if Monotonic.now_ns() >= end_ns {
            return false;
        }
        std::hint::spin_loop();
    }
}

fn serve(inner: &Inner, mut request: Request, is_declined: bool) {
    let link = Arc::clone(&request.link);
    let lent = Arc::clone(&request.lent);
    let (slot, header) = (request.slot, request.header);
    let tid = i32::try_from(header.tid).ok().and_then(Tid::new);
    let Some(tid) = tid.filter(|_| !link.is_dead()) else {
        lent.broken(&link, Gone::Broken);
        lent.give_lock(lent.other(), slot);
        return;
    };
    lent.heard[slot].store(header.sequence, Relaxed);
    steps::reach(Step::Taken);
    if is_declined {
        inner.counters.declined.add();
    }
    let mut raised = None;
    let is_over = is_declined || words::is_abandoned(lent.turn(lent.other(), slot));
    let answer = if is_over {
        Some(decline(&link, &lent, slot, &header, Kind::Declined, 0))
    } else if let Some(limit) = limit(&link, &lent, slot, &header) {
        let limit = u32::from(limit.get());
        Some(decline(&link, &lent, slot, &header, Kind::Limited, limit))
    } else if header.target != OWN && chain::carry(&link, &lent, slot, &header) {
        // The thread that waits for it has answered.
        None
    } else {
        raised = raise(&mut request);
        let waiting = Waiting {
            link: link.number,
            tid,
            conversation: Conversation::Looper(slot),
        };
        Some(lent.answer(&link, slot, &header, Waits::For(waiting)))
    };
    if !lent.give_lock(lent.other(), slot) {
        lent.broken(&link, Gone::Broken);
    }
    drop(raised);
    steps::reach(Step::GivenBack);
    if let Some(answer) = answer {
        message::give_parcel(answer);
    }
}

/// What the node of a request inherits, if more is lent to it.
fn limit(link: &Link, lent: &Lent, slot: usize, header: &Header) -> Option<Urgency> {
    let claim = Urgency::new(header.claim);
    if !claim.is_real_time() || header.target == OWN || !lent.is_lent(slot) {
        return None;
    }
    // Where there is none the call itself says so.
    let node = link.target(header.target).ok()?;
    Some(node.service.inherits()).filter(|it| *it < claim)
}

/// To whom a real-time caller lends nothing, since the node inherits up to a priority: it is served
/// at that one, if the process may have it.
fn raise(request: &mut Request) -> Option<PolicyGuard> {
    let claims = Urgency::new(request.header.claim).is_real_time();
    if !claims || request.lent.is_lent(request.slot) {
        return None;
    }
    let node = request.link.target(request.header.target).ok()?;
    let urgency = request.urgency().min(node.service.inherits());
    let priority = Priority::new(urgency.get())?;
    Policy::Fifo(priority).enter().ok()
}

/// Does not serve a request: what it names is counted, and let go.
fn decline(
    link: &Arc<Link>,
    lent: &Lent,
    slot: usize,
    header: &Header,
    kind: Kind,
    limit: u32,
) -> Parcel {
    let mut answer = message::take_parcel();
    let _ = lent.read(link, Area::Requests, slot, header, &mut answer, None);
    answer.clear();
    let declined = Header {
        kind,
        claim: limit,
        ..Header::default()
    };
    lent.write_answer(link, slot, declined, &answer);
    answer
}

/// A looper's thread knows which it is.
struct Here {
    inner: Arc<Inner>,
    index: usize,
    /// Calls of its own that it waits in, one inside the other.
    depth: usize,
}

thread_local! {
    static HERE: RefCell<Option<Here>> = const { RefCell::new(None) };
}

/// While it lives, the calling thread, if it is a looper, is given nothing by callers that find
/// another one.
pub(crate) struct Away;

pub(crate) fn leave() -> Option<Away> {
    HERE.with_borrow_mut(|here| {
        let here = here.as_mut()?;
        here.depth += 1;
        here.inner.face.set_away(here.index, true);
        Some(Away)
    })
}

impl Drop for Away {
    fn drop(&mut self) {
        HERE.with_borrow_mut(|here| {
            if let Some(here) = here {
                here.depth -= 1;
                here.inner.face.set_away(here.index, here.depth > 0);
            }
        });
    }
}
