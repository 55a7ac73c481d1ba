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
use crate::lent::call::{Asked, Conversation};
use crate::lent::chain;
use crate::lent::inbox::Gone;
use crate::lent::layout::{Area, Header, Kind, SLOTS};
use crate::lent::lents::Known;
use crate::lent::message::{self, Copied, Lent};
use crate::lent::steps::{self, Step};
use crate::lent::words;
use crate::link::Link;
use crate::node::Node;
use crate::oneway;
use crate::process::Inner;
use crate::serving::{self, Waiting, Waits};

/// A request that is lent to a looper.
pub(super) struct Request {
    pub(super) lent: Arc<Lent>,
    pub(super) header: Header,
    link: Arc<Link>,
    slot: usize,
    /// By the kernel's word, once it was asked.
    urgency: Option<Urgency>,
    /// Its parcel, once it was read: what it names is counted then.
    copied: Option<Copied>,
}

impl Request {
    /// The same for another thread, which reads it.
    pub(super) fn unread(&self) -> Self {
        Self {
            lent: Arc::clone(&self.lent),
            header: self.header,
            link: Arc::clone(&self.link),
            slot: self.slot,
            urgency: self.urgency,
            copied: None,
        }
    }

    /// Reads its parcel before it is served, if that was not done and there is room.
    fn read_ahead(&mut self) {
        // The thread that waits for a call that comes home reads it; a dead link's is not served.
        if self.copied.is_some() || self.link.is_dead() || chain::comes_home(self) {
            return;
        }
        self.copied = message::take_ahead().map(|it| self.copy(it));
    }

    fn copy(&self, parcel: Parcel) -> Copied {
        let area = Area::Requests;
        self.lent
            .copy(&self.link, area, self.slot, &self.header, parcel)
    }

    fn urgency(&mut self) -> Urgency {
        *self.urgency.get_or_insert_with(|| {
            let claim = Urgency::new(self.header.claim);
            let tid = i32::try_from(self.header.tid).ok().and_then(Tid::new);
            let granted = tid.and_then(|tid| self.lent.peer.urgency(tid, claim));
            // Who names a thread that is not its own is nobody.
            granted.unwrap_or(Urgency::ORDINARY)
        })
    }

    /// Whether a real-time caller makes it.
    fn claims(&self) -> bool {
        Urgency::new(self.header.claim).is_real_time()
    }

    /// Whether the caller lends its priority, as it says.
    fn is_lent(&self) -> bool {
        self.lent.lock(self.lent.other(), self.slot).is_lent()
    }

    /// Serves it, and writes the answer, which is not given yet; gives its parcel.
    pub(super) fn answer(
        &mut self,
        node: Option<Arc<Node>>,
        waits: Waits,
        begun_ns: Option<u64>,
    ) -> Parcel {
        // A looper that is kept has asked already.
        let granted = match self.claims() {
            true => self.urgency(),
            false => Urgency::ORDINARY,
        };
        let mut answer = message::take_parcel();
        let asked = Asked {
            area: Area::Requests,
            slot: self.slot,
            header: &self.header,
            node,
            waits,
            copied: self.copied.take(),
            begun_ns,
            granted,
        };
        let message = self.lent.serve(&self.link, asked, &mut answer);
        self.write(message, &answer);
        answer
    }

    /// Does not serve it: what it names is counted, and let go.
    fn decline(&mut self, kind: Kind, limit: u32) -> Parcel {
        let copied = self.copied.take();
        // What is no parcel names nothing.
        let Copied { parcel, .. } = copied.unwrap_or_else(|| self.copy(message::take_parcel()));
        let mut answer = parcel;
        answer.clear();
        let declined = Header {
            kind,
            claim: limit,
            ..Header::default()
        };
        self.write(declined, &answer);
        answer
    }

    fn write(&self, message: Header, answer: &Parcel) {
        self.lent
            .write_answer(&self.link, self.slot, message, answer);
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
        let is_asked = due.is_some() || looper.is_kept;
        let next = choose_and_read(&links, index, &mut requests, is_asked);
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
                let is_declined = looper.is_kept && !urgency.is_real_time();
                let news = || has_news(&links, index);
                if let Some(request) = serve(inner, request, is_declined, news) {
                    requests.insert(place, request);
                }
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

/// What is served next: [`choose`]. Its parcel is read, and nothing was posted meanwhile.
///
/// What comes while the kernel is asked, or a parcel read, may be more urgent than what was chosen.
/// Served behind it, that would raise it above calls that wait for other loopers. So the looper
/// chooses again if there is news, here and just before it serves. It does so at most once for each
/// slot of each link, since nobody is answered meanwhile. Each request is read once.
pub(super) fn choose_and_read(
    links: &Known,
    index: usize,
    requests: &mut Vec<Request>,
    is_asked: bool,
) -> Option<(usize, Urgency)> {
    loop {
        let next = choose(requests, is_asked);
        if let Some((place, _)) = next {
            requests[place].read_ahead();
        }
        if !gather(links, index, requests) {
            return next;
        }
    }
}

fn oneways(inner: &Inner) {
    let node = inner.due.pop();
    if let Some(node) = node {
        oneway::serve(inner, &node);
    }
}

/// Takes what was posted to this looper; says whether there was something. O(links).
fn gather(links: &Known, index: usize, requests: &mut Vec<Request>) -> bool {
    let before = requests.len();
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
            steps::reach(Step::Taken);
            requests.push(Request {
                link: Arc::clone(link),
                lent: Arc::clone(lent),
                slot,
                header,
                urgency: None,
                copied: None,
            });
        }
    }
    requests.len() > before
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

/// Whether something lies there for [`gather`]. What a dead link posts keeps nobody.
pub(super) fn has_news(links: &Known, index: usize) -> bool {
    let mut links = links.all().iter();
    links.any(|(link, lent)| words::is_posted(lent.posted(lent.other(), index)) && !link.is_dead())
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

/// Serves a request, or gives it back: it has not begun, and there is news.
pub(super) fn serve(
    inner: &Inner,
    mut request: Request,
    is_declined: bool,
    has_news: impl Fn() -> bool,
) -> Option<Request> {
    let lent = Arc::clone(&request.lent);
    let (slot, header) = (request.slot, request.header);
    let lock = lent.lock(lent.other(), slot);
    let tid = i32::try_from(header.tid).ok().and_then(Tid::new);
    let Some(tid) = tid.filter(|_| !request.link.is_dead()) else {
        lent.broken(&request.link, Gone::Broken);
        lock.give();
        if let Some(copied) = request.copied {
            message::give_parcel(copied.parcel);
        }
        return None;
    };
    lent.heard[slot].store(header.sequence, Relaxed);
    if is_declined {
        inner.counters.declined.add();
    }
    let mut raised = None;
    let is_over = is_declined || words::is_abandoned(lent.turn(lent.other(), slot));
    let node = request.link.node(header.target);
    let answer = if is_over {
        Some(request.decline(Kind::Declined, 0))
    } else if let Some(limit) = limit(&request, node.as_deref()) {
        Some(request.decline(Kind::Limited, u32::from(limit.get())))
    } else if request.copied.is_none()
        && node
            .as_ref()
            .is_some_and(|node| chain::carry(&request, node))
    {
        // The thread that waits for it has answered.
        None
    } else {
        raised = raise(&mut request, node.as_deref());
        let waiting = Waiting {
            link: request.link.number,
            tid,
            conversation: Conversation::Looper(slot),
        };
        // Before the look: the next to come does not wait at once with this call.
        let begun_ns = node.as_ref().and_then(|node| node.begin(header.code));
        if has_news() {
            return Some(request);
        }
        Some(request.answer(node, Waits::For(waiting), begun_ns))
    };
    if !lock.give() {
        lent.broken(&request.link, Gone::Broken);
    }
    drop(raised);
    steps::reach(Step::GivenBack);
    if let Some(answer) = answer {
        message::give_parcel(answer);
    }
    None
}

/// What the node of a request inherits, if more is lent to it.
fn limit(request: &Request, node: Option<&Node>) -> Option<Urgency> {
    // Where there is none the call itself says so.
    let node = node.filter(|_| request.claims() && request.is_lent())?;
    Some(node.service.inherits()).filter(|it| *it < Urgency::new(request.header.claim))
}

/// To whom a real-time caller lends nothing, since the node inherits up to a priority: it is served
/// at that one, if the process may have it.
fn raise(request: &mut Request, node: Option<&Node>) -> Option<PolicyGuard> {
    let node = node.filter(|_| request.claims() && !request.is_lent())?;
    let urgency = request.urgency().min(node.service.inherits());
    let priority = Priority::new(urgency.get())?;
    Policy::Fifo(priority).enter().ok()
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
