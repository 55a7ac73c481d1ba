// SPDX-License-Identifier: Apache-2.0
//! A node for tests: it does what a code says.

#![allow(dead_code, reason = "each test program uses its part")]

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;

use binder::{Binder, Call, CallError, Caller, Parcel, Service};
use rt::clock::{Clock, Monotonic, thread_time_ns};
use rt::sync::PiMutex;

/// Gives back the bytes of a blob.
pub(crate) const ECHO: u32 = 1;
/// Says who calls.
pub(crate) const WHO: u32 = 2;
/// Calls `data`'s binder with a code and a number, and gives back what it gives back.
pub(crate) const RELAY: u32 = 3;
/// Counts `data`'s number; says when it was done.
pub(crate) const ADD: u32 = 4;
/// Panics.
pub(crate) const PANIC: u32 = 5;
/// Keeps `data`'s binder; gives back the one before.
pub(crate) const KEEP: u32 = 6;
/// Computes for so many µs, on the thread's own time; says when it was done.
pub(crate) const COMPUTE: u32 = 7;
/// Sleeps for so many ms.
pub(crate) const SLEEP: u32 = 8;
/// Says its thread's number.
pub(crate) const TID: u32 = 9;
/// Gives back the descriptor that it was given.
pub(crate) const FD: u32 = 10;
/// A number down to zero, by turns between `data`'s binder and this node.
pub(crate) const DOWN: u32 = 11;
/// The process ends.
pub(crate) const DIE: u32 = 12;
/// An error of its own.
pub(crate) const FAIL: u32 = 13;
/// Calls the binder that is kept: with a code, and what follows.
pub(crate) const RELAY_KEPT: u32 = 14;
/// The thread number of a looper that serves it, then sleeps until it is told so.
pub(crate) const HOLD: u32 = 15;
/// An ordinary thread takes the lock that `ADD` needs, and computes for so many µs.
pub(crate) const LOCK: u32 = 16;
/// Calls `data`'s binder with a code and the binder that is kept; gives back what it gives back.
pub(crate) const GIVE: u32 = 17;
/// Whether `data`'s binder is the one that is kept.
pub(crate) const SAME: u32 = 18;
/// Watches the binder that is kept.
pub(crate) const WATCH: u32 = 19;
/// How often it was told of that one's death.
pub(crate) const TOLD: u32 = 20;
/// Says how urgent its caller is, by the kernel's word.
pub(crate) const URGENCY: u32 = 21;

#[derive(Default)]
pub(crate) struct Played {
    pub(crate) sum: AtomicU64,
    pub(crate) order: PiMutex<Vec<i32>>,
    pub(crate) kept: PiMutex<Option<Binder>>,
    pub(crate) told: Arc<AtomicU64>,
    pub(crate) is_held: std::sync::atomic::AtomicBool,
    pub(crate) is_let_go: std::sync::atomic::AtomicBool,
    /// Itself, for `DOWN`.
    pub(crate) own: PiMutex<Option<binder::WeakBinder>>,
}

pub(crate) struct Player(pub(crate) Arc<Played>);

impl Service for Player {
    fn descriptor(&self) -> &str {
        "takt.test.IPlayer"
    }

    fn dump(&self) -> String {
        format!("sum {}", self.0.sum.load(SeqCst))
    }

    fn on_transact(
        &self,
        call: &Call,
        code: u32,
        data: &mut Parcel,
        reply: &mut Parcel,
    ) -> Result<(), CallError> {
        match code {
            ECHO => Ok(reply.write_blob(data.read_blob())?),
            WHO => {
                assert_eq!(call.caller, Caller::current());
                reply.write_i32(call.caller.pid)?;
                Ok(reply.write_i32(call.caller.uid.cast_signed())?)
            }
            HOLD => {
                self.0.is_held.store(true, SeqCst);
                await_that("it is let go", || self.0.is_let_go.load(SeqCst));
                Ok(())
            }
            RELAY | RELAY_KEPT => {
                let kept = || Ok::<_, CallError>(self.0.kept.lock().clone());
                let target = if code == RELAY {
                    data.read_binder()?
                } else {
                    kept()?
                };
                let target = target.ok_or(CallError::BadParcel)?;
                let code = number(data)?;
                let mut inner = Parcel::new();
                let rest = data.read(data.available()).ok_or(CallError::BadParcel)?;
                inner.write(rest)?;
                target.transact(code.cast_unsigned(), &mut inner, reply, None)
            }
            ADD => {
                let value = number(data)?;
                self.0.order.lock().push(value);
                self.0
                    .sum
                    .fetch_add(u64::from(value.unsigned_abs()), SeqCst);
                write_time(reply)
            }
            PANIC => panic!("as asked"),
            KEEP => {
                let new = data.read_binder()?;
                let old = std::mem::replace(&mut *self.0.kept.lock(), new);
                Ok(reply.write_binder(old)?)
            }
            COMPUTE => {
                compute(number(data)?);
                write_time(reply)
            }
            LOCK => self.lock(number(data)?),
            SLEEP => {
                let ns = u64::from(number(data)?.unsigned_abs()) * 1_000_000;
                Monotonic.sleep_until(Monotonic.now_ns() + ns);
                Ok(())
            }
            URGENCY => Ok(reply.write_i32(Caller::urgency().get().into())?),
            TID => Ok(reply.write_i32(rt::policy::Tid::current().raw())?),
            FD => Ok(reply.write_fd(data.read_fd()?)?),
            DOWN => self.down(data, reply),
            DIE => std::process::abort(),
            GIVE => self.hand_on(data, reply),
            SAME => self.compare(data, reply),
            WATCH => self.watch(reply),
            TOLD => Ok(reply.write_i32(self.0.told.load(SeqCst) as i32)?),
            FAIL => Err(CallError::Status(number(data)?)),
            _ => Err(CallError::UnknownTransaction),
        }
    }
}

impl Player {
    /// An ordinary thread holds the lock, and computes.
    fn lock(&self, us: i32) -> Result<(), CallError> {
        let played = Arc::clone(&self.0);
        let hold = move || {
            let _order = played.order.lock();
            played.is_held.store(true, SeqCst);
            compute(us);
        };
        let ordinary = rt::policy::Policy::Other { nice: 0 };
        let builder = rt::thread::Builder::new("holder").policy(ordinary);
        builder.spawn(hold).map_err(|_| CallError::Failed)?;
        await_that("it is held", || self.0.is_held.load(SeqCst));
        Ok(())
    }

    fn hand_on(&self, data: &mut Parcel, reply: &mut Parcel) -> Result<(), CallError> {
        let target = data.read_binder()?.ok_or(CallError::BadParcel)?;
        let code = number(data)?.cast_unsigned();
        let kept = self.0.kept.lock().clone();
        *reply = give(&target, code, kept.as_ref())?;
        Ok(())
    }

    fn kept(&self) -> Result<Binder, CallError> {
        self.0.kept.lock().clone().ok_or(CallError::BadParcel)
    }

    fn compare(&self, data: &mut Parcel, reply: &mut Parcel) -> Result<(), CallError> {
        let kept = self.kept()?;
        let is_same = data.read_binder()?.is_some_and(|it| it.is_same(&kept));
        Ok(reply.write_i32(i32::from(is_same))?)
    }

    fn watch(&self, reply: &mut Parcel) -> Result<(), CallError> {
        let told = Arc::clone(&self.0.told);
        let count = move || {
            told.fetch_add(1, SeqCst);
        };
        let token = self.kept()?.link_to_death(count);
        Ok(reply.write_i32(i32::from(token.is_some()))?)
    }

    /// Each step is one call deeper, and says on which threads it was.
    fn down(&self, data: &mut Parcel, reply: &mut Parcel) -> Result<(), CallError> {
        let target = data.read_binder()?.ok_or(CallError::BadParcel)?;
        let depth = number(data)?;
        let mut deeper = Parcel::new();
        if depth > 0 {
            let own = self.0.own.lock().as_ref().and_then(|it| it.promote());
            let mut next = Parcel::new();
            next.write_binder(own)?;
            next.write_i32(depth - 1)?;
            target.transact(DOWN, &mut next, &mut deeper, None)?;
        }
        reply.write_i32(rt::policy::Tid::current().raw())?;
        let rest = deeper.read(deeper.available()).unwrap_or_default();
        Ok(reply.write(rest)?)
    }
}

/// When a service was done: the clock is the same in every process.
fn write_time(reply: &mut Parcel) -> Result<(), CallError> {
    Ok(reply.write(&Monotonic.now_ns().to_le_bytes())?)
}

pub(crate) fn read_time(reply: &mut Parcel) -> u64 {
    u64::from_le_bytes(reply.read_array().expect("a time"))
}

fn compute(us: i32) {
    let end_ns = thread_time_ns() + u64::from(us.unsigned_abs()) * 1_000;
    while thread_time_ns() < end_ns {}
}

pub(crate) fn number(data: &mut Parcel) -> Result<i32, CallError> {
    data.read_i32().ok_or(CallError::BadParcel)
}

/// Calls with a number.
pub(crate) fn ask(binder: &Binder, code: u32, value: i32) -> Result<Parcel, CallError> {
    let (mut data, mut reply) = (Parcel::new(), Parcel::new());
    data.write_i32(value)?;
    binder.transact(code, &mut data, &mut reply, None)?;
    Ok(reply)
}

/// Calls with a binder.
pub(crate) fn give(binder: &Binder, code: u32, what: Option<&Binder>) -> Result<Parcel, CallError> {
    let (mut data, mut reply) = (Parcel::new(), Parcel::new());
    data.write_binder(what.cloned())?;
    binder.transact(code, &mut data, &mut reply, None)?;
    Ok(reply)
}

/// Waits until something holds that others bring about; panics after ten seconds.
#[track_caller]
pub(crate) fn await_that(what: &str, holds: impl Fn() -> bool) {
    let end_ns = Monotonic.now_ns() + 10_000_000_000;
    loop {
        // Before the look: the machine may stand still behind it.
        let is_over = Monotonic.now_ns() >= end_ns;
        if holds() {
            return;
        }
        assert!(!is_over, "{what}");
        Monotonic.sleep_until(Monotonic.now_ns() + 200_000);
    }
}

/// A node of `process` that plays, and what it has played.
pub(crate) fn player(process: &binder::Process) -> (Binder, Arc<Played>) {
    let played = Arc::new(Played::default());
    let binder = process.add(Player(Arc::clone(&played)));
    *played.own.lock() = Some(binder.downgrade());
    (binder, played)
}
