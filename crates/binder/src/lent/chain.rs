// SPDX-License-Identifier: Apache-2.0
//! [`Chain`]: which threads wait, in a row, for the one that calls. A call that comes home to a
//! process by way of others is served by the thread of it that waits, as on Android.
//!
//! Each wait has a token that cannot be guessed. A call carries the tokens of all that wait for it,
//! the innermost first: so who has one was given it by the chain that it stands for. Another's
//! number would not do: a stranger could name it.
//!
//! The call arrives at a looper all the same. That looper looks for the token among the seats of
//! its process, brings the call to the thread that waits there ([`carry`]), and lends it what the
//! caller lends. The thread serves it and waits on ([`Sitting`]).

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64};
use std::sync::{Arc, OnceLock};

use rt::clock::{Clock, Monotonic};
use rt::policy::Tid;
use rt::sync::lend::{LendError, Offer};
use rt::sync::{Loan, PiMutex, Recall};
use rt::sys::futex::{Futex, Private};

use crate::lent::looper::{self, Request};
use crate::lent::message;
use crate::lent::seat::{Seat, TOKEN_MIN};
use crate::node::Node;
use crate::serving::{self, Waits};

/// Threads of a chain that a call knows of; one that is further out is not found.
pub(crate) const CHAIN_MAX: usize = 8;
/// Threads of a program that can be found so; the calls of others come home to a looper.
const SEATS_MAX: usize = 1 << SEAT_BITS;
/// Of a token, what names the seat.
const SEAT_BITS: u32 = 10;
/// How often a looper gives way so that the thread leaves its wait, before it sleeps between.
const LOOKS: u32 = 64;
/// How long it sleeps between then, and how long it lends before it looks again.
const CIRCLE_NS: u64 = 100_000;
const LOOK_NS: u64 = 100_000_000;

/// See the module. Zeros where there is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Chain(pub(crate) [u64; CHAIN_MAX]);

impl Chain {
    /// The same with one thread more, which waits for the next.
    fn with(mut self, token: u64) -> Self {
        self.0.rotate_right(1);
        self.0[0] = token;
        self
    }

    fn tokens(&self) -> impl Iterator<Item = u64> {
        self.0.into_iter().take_while(|&it| it >= TOKEN_MIN)
    }
}

/// A thread's place in the chain of the call that it is about to make.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) chain: Chain,
    /// Its own token; 0 if it can have none.
    token: u64,
}

/// The place of a new call of the calling thread's.
pub(super) fn place() -> Place {
    let chain = serving::chain();
    let token = OWN.try_with(Own::token).ok().flatten().unwrap_or_default();
    Place {
        chain: match token {
            0 => chain,
            token => chain.with(token),
        },
        token,
    }
}

/// Makes a looper's room, before the first call comes.
pub(super) fn prepare() {
    place();
    BEARER.with(|_| ());
}

/// A seat, and who may bring calls to it.
#[derive(Default)]
struct Desk {
    seat: Seat<Errand>,
    /// The thread's number, and its process's own one.
    tid: AtomicI32,
    home: AtomicU64,
}

static DESKS: [OnceLock<&'static Desk>; SEATS_MAX] = [const { OnceLock::new() }; SEATS_MAX];
/// Those that threads have left, and how many there are.
static LEFT: PiMutex<(Vec<usize>, usize)> = PiMutex::new((Vec::new(), 0));

thread_local! {
    static OWN: Own = Own::new();
    static BEARER: Arc<Bearer> = Arc::default();
}

/// The calling thread's desk.
struct Own {
    desk: Option<(usize, &'static Desk)>,
    keys: RandomState,
    count: std::cell::Cell<u64>,
}

impl Own {
    fn new() -> Self {
        let mut left = LEFT.lock();
        let index = left.0.pop().or_else(|| {
            left.1 += 1;
            Some(left.1 - 1).filter(|&it| it < SEATS_MAX)
        });
        drop(left);
        let desk = index.map(|index| {
            // Kept for the next thread that has this index.
            let desk = *DESKS[index].get_or_init(|| Box::leak(Box::default()));
            desk.tid.store(Tid::current().raw(), SeqCst);
            (index, desk)
        });
        Self {
            desk,
            keys: RandomState::new(),
            count: std::cell::Cell::new(0),
        }
    }

    /// A new one.
    fn token(&self) -> Option<u64> {
        let (index, _) = self.desk?;
        let count = self.count.get();
        self.count.set(count + 1);
        let random = self.keys.hash_one(count) >> SEAT_BITS;
        Some(random.max(1) << SEAT_BITS | index as u64)
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        if let Some((index, _)) = self.desk {
            LEFT.lock().0.push(index);
        }
    }
}

/// A wait of the calling thread's, in which calls may be brought to it.
pub(super) struct Sitting {
    desk: &'static Desk,
    token: u64,
}

impl Sitting {
    /// None for a thread that cannot be found.
    pub(super) fn begin(place: &Place, home: u64) -> Option<Self> {
        let token = Some(place.token).filter(|&it| it != 0)?;
        let (_, desk) = OWN.try_with(|own| own.desk).ok().flatten()?;
        desk.home.store(home, SeqCst);
        desk.seat.open(token);
        Some(Self { desk, token })
    }

    /// The due time of the thread's next look; none if a call was brought.
    pub(super) fn due(&self, due_ns: u64) -> Option<&Recall> {
        self.desk.seat.due(due_ns)
    }

    /// Serves what was brought; whether there was something.
    pub(super) fn serve(&self) -> bool {
        let Some(errand) = self.desk.seat.take() else {
            return false;
        };
        errand.serve(|| self.desk.seat.open(self.token));
        true
    }
}

impl Drop for Sitting {
    fn drop(&mut self) {
        if let Some(errand) = self.desk.seat.close(self.token) {
            errand.bearer.take();
            errand.bearer.loan.give_back();
        }
    }
}

/// A call that is brought to the thread that waits for it.
struct Errand {
    request: Request,
    node: Arc<Node>,
    bearer: Arc<Bearer>,
}

/// What a looper that brings a call waits by.
#[derive(Default)]
struct Bearer {
    loan: Loan<Private>,
    /// 1 when the thread has left its wait: lent before, the loan would close a circle.
    is_taken: Futex<Private>,
    is_served: AtomicBool,
}

impl Bearer {
    fn take(&self) {
        self.is_taken.word().store(1, SeqCst);
        self.is_taken.wake(1);
    }

    fn await_taken(&self) {
        while self.is_taken.word().load(SeqCst) == 0 {
            // No due time: its timer would run behind a hog. A waiter under a token takes.
            let _ = self.is_taken.wait_until(0, None);
        }
    }
}

impl Errand {
    /// `sit` has the thread wait again: before its caller has the answer, and may call again.
    fn serve(self, sit: impl FnOnce()) {
        let Self {
            mut request,
            node,
            bearer,
        } = self;
        bearer.take();
        let answer = request.answer(Some(node), Waits::Brought, None);
        bearer.is_served.store(true, SeqCst);
        sit();
        bearer.loan.give_back();
        message::give_parcel(answer);
    }
}

/// Looper: has a call served by the thread of this process that waits for it, if there is one, and
/// waits until it has written the answer. `false`: nobody serves it.
pub(super) fn carry(request: &Request, node: &Arc<Node>) -> bool {
    let mut tokens = request.header.chain.tokens();
    tokens
        .any(|token| desk_of(request, token).is_some_and(|desk| bring(desk, token, request, node)))
}

/// Whether a thread of this process waits for a call: it reads the request as well.
pub(super) fn comes_home(request: &Request) -> bool {
    let mut tokens = request.header.chain.tokens();
    tokens.any(|token| desk_of(request, token).is_some())
}

fn desk_of(request: &Request, token: u64) -> Option<&'static Desk> {
    let desk = DESKS[token as usize % SEATS_MAX].get().copied();
    let desk = desk.filter(|it| it.seat.is_open(token))?;
    (desk.home.load(SeqCst) == request.lent.home_key).then_some(desk)
}

fn bring(desk: &Desk, token: u64, request: &Request, node: &Arc<Node>) -> bool {
    let Some(tid) = Tid::new(desk.tid.load(SeqCst)) else {
        return false;
    };
    let bearer = BEARER.with(Arc::clone);
    bearer.is_served.store(false, SeqCst);
    bearer.is_taken.word().store(0, SeqCst);
    let Ok(offer) = bearer.loan.offer(tid) else {
        return false;
    };
    let errand = Errand {
        request: request.unread(),
        node: Arc::clone(node),
        bearer: Arc::clone(&bearer),
    };
    let Some(_away) = desk.seat.bring(token, tid, errand, looper::leave) else {
        offer.retract();
        return false;
    };
    bearer.await_taken();
    await_return(&offer);
    bearer.is_served.load(SeqCst)
}

/// Lends until the thread is done. Its word says that it has left its wait, so no circle is
/// expected; where other locks close one for a moment, this looks again.
fn await_return(offer: &Offer<'_, Private>) {
    let mut looks = 0;
    loop {
        match offer.look_until(Monotonic.now_ns() + LOOK_NS) {
            Ok(()) => return,
            Err(LendError::TimedOut) => {}
            Err(LendError::Circle) if looks < LOOKS => {
                looks += 1;
                // On one CPU the thread may be as urgent as this one. To sleep would be to wait for
                // a timer, which PREEMPT_RT runs in an ordinary thread's stead behind a hog.
                std::thread::yield_now();
            }
            Err(LendError::Circle) => Monotonic.sleep_until(Monotonic.now_ns() + CIRCLE_NS),
            // The thread does not end in a wait, and nobody else knows the word.
            Err(error) => panic!("a looper's own loan: {error}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_keeps_the_innermost() {
        let mut chain = Chain::default();
        for token in 10..30 {
            chain = chain.with(token);
        }
        let innermost: Vec<u64> = (22..30).rev().collect();
        assert_eq!(chain.tokens().collect::<Vec<_>>(), innermost);
        assert_eq!(Chain::default().with(7).tokens().collect::<Vec<_>>(), [7]);
    }

    #[test]
    fn each_wait_has_a_token_of_its_own() {
        let mut tokens: Vec<u64> = (0..1000).map(|_| place().token).collect();
        let of_other = rt::thread::Builder::new("other").spawn(|| place().token);
        tokens.push(of_other.unwrap().join());
        assert!(tokens.iter().all(|&it| it >= 1 << SEAT_BITS));
        tokens.sort_unstable();
        tokens.dedup();
        assert_eq!(tokens.len(), 1001);
    }
}
