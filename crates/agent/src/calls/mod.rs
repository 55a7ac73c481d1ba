// SPDX-License-Identifier: Apache-2.0
//! What the server answers to applications' processes: `takt.system.ISystem`.
//!
//! Who calls is known by the kernel's word for the link. A process speaks of its own activities,
//! services and connections alone; another's number is passed over.

mod activities;
mod alarms;
mod broadcasts;
mod frequency;
mod grants;
mod jobs;
mod notices;
mod packages;
mod pending;
mod providers;
mod services;
#[allow(
    dead_code,
    unreachable_pub,
    reason = "stubs are made whole, for crates that others use"
)]
mod stubs {
    include!("stubs.rs");
}

use std::os::fd::OwnedFd;
use std::sync::Arc;

use binder::Binder;
use binder::Caller;
use binder::stub::{Answer, Exception, Failure};
use rt::clock::{Clock, Monotonic};
use server::broadcasts::PRIORITY_MAX;
use server::server::{StartError, Wish as Asked};
use server::{ActivityId, ConnectionId, Payload, ProcessId, ServiceId};

pub(crate) use broadcasts::FOREGROUND;
use pending::Sending;
pub(crate) use stubs::{
    IApp, IAppProxy, IAppStub, ISystem, ISystemProxy, Job, Kept, Notice, Outcome, Receiver, Shout,
    Step, Timed, Work,
};
pub use stubs::{ISystemStub, Whole, Wish};

use crate::frequency::Frequencies;
use crate::payloads::TooMuch;
use crate::place::Place;
use crate::state::State;

/// Who keeps the state, for all processes that call.
pub trait Keeper: Send + Sync + 'static {
    /// One event: what it does, and what follows from it.
    fn with<T>(&self, event: impl FnOnce(&mut State) -> T) -> T;

    /// Where packages lie.
    fn place(&self) -> &Place;

    /// Something has changed that is kept: it is written soon, where there is a disk.
    fn changed(this: &Arc<Self>);

    /// Who carries out what is wanted of the processors' frequency.
    fn frequencies(&self) -> &Frequencies;

    /// What a PendingIntent is known by: a [`SenderNode`](crate::senders::SenderNode) of its own.
    fn make_sender(&self) -> Binder;
}

/// One node for all processes.
pub struct Agent<K>(pub Arc<K>);

/// An event of a process.
struct Event<'a> {
    state: &'a mut State,
    process: ProcessId,
    /// The user, as the server numbers it.
    uid: u32,
    now: u64,
}

impl<K: Keeper> Agent<K> {
    /// Does what a process asks for, and carries out what follows.
    fn with<T>(&self, event: impl FnOnce(&mut Event<'_>) -> Answer<T>) -> Answer<T> {
        let pid = Caller::current().pid;
        self.0.with(|state| {
            let process = state.of_pid(pid);
            let known = process.and_then(|it| state.server.processes.get(it));
            let Some((process, known)) = process.zip(known) else {
                let text = format!("the server has not started process {pid}");
                return Err(Exception::new(Exception::SECURITY, text).into());
            };
            let uid = known.key.uid;
            event(&mut Event {
                state,
                process,
                uid,
                now: Monotonic.now_ns(),
            })
        })
    }
}

impl Event<'_> {
    fn keep(&mut self, wish: &Wish) -> Answer<Payload> {
        self.state.keep(wish.clone()).map_err(too_much)
    }

    fn asked(&mut self, uid: u32, wish: &Wish) -> Answer<Asked> {
        self.state.asked(uid, wish.clone()).map_err(too_much)
    }

    /// The number of an activity that lives in this process.
    fn activity(&self, number: i64) -> Option<ActivityId> {
        let id = ActivityId(number.cast_unsigned());
        let record = self.state.server.activities.get(id)?;
        (record.process == Some(self.process)).then_some(id)
    }

    /// The number of a service that lives in this process.
    fn service(&self, number: i64) -> Option<ServiceId> {
        let id = ServiceId(number.cast_unsigned());
        let service = self.state.server.services.get(id)?;
        (service.process == Some(self.process)).then_some(id)
    }
}

/// How urgent the thread is that calls, by the kernel's word.
fn callers_priority() -> u8 {
    Caller::urgency().get().min(PRIORITY_MAX)
}

/// What is refused for want of room.
fn full(error: &impl ToString) -> Failure {
    Exception::new(Exception::ILLEGAL_STATE, error.to_string()).into()
}

/// What the caller may not.
fn security(error: &impl ToString) -> Failure {
    Exception::new(Exception::SECURITY, error.to_string()).into()
}

fn too_much(error: TooMuch) -> Failure {
    Exception::new(Exception::ILLEGAL_ARGUMENT, error.to_string()).into()
}

/// What an exception says best; the rest is a number or null.
fn refused(error: &StartError) -> Option<Failure> {
    let code = match error {
        StartError::Denied(_) | StartError::NotGranted(_) => Exception::SECURITY,
        StartError::Full(_) => Exception::ILLEGAL_STATE,
        StartError::Ambiguous(_) => Exception::UNSUPPORTED_OPERATION,
        StartError::NotFound | StartError::Refused(_) => return None,
    };
    let text = match code {
        Exception::UNSUPPORTED_OPERATION => {
            format!("{error}: a chooser is not supported by Takt yet")
        }
        _ => error.to_string(),
    };
    Some(Exception::new(code, text).into())
}

impl<K: Keeper> ISystem for Agent<K> {
    fn attach(&self, app: &IAppProxy) -> Answer<()> {
        self.with(|it| {
            it.state.attached(it.process, app.clone(), it.now);
            Ok(())
        })
    }

    fn attach_urgent(&self, app: &IAppProxy) -> Answer<()> {
        self.with(|it| {
            it.state.attached_urgent(it.process, app.clone());
            Ok(())
        })
    }

    fn attach_ledger(&self, page: &Arc<OwnedFd>) -> Answer<()> {
        let page = page.try_clone();
        self.with(|it| {
            let page = page.map_err(|error| full(&error))?;
            let attached = it.state.attached_ledger(it.process, page);
            attached.map_err(|error| {
                Exception::new(Exception::ILLEGAL_ARGUMENT, error.to_string()).into()
            })
        })
    }

    fn urgent_steps(&self) -> Answer<Vec<Step>> {
        self.with(|it| Ok(it.state.take_urgent(it.process)))
    }

    fn steps(&self) -> Answer<Vec<Step>> {
        self.with(|it| Ok(it.state.take_steps(it.process)))
    }

    fn start_activity(
        &self,
        wish: &Wish,
        source: i64,
        has_request: bool,
        request: i32,
    ) -> Answer<Vec<i64>> {
        self.with(|it| it.start_activity(wish, source, has_request.then_some(request)))
    }

    fn finish_activity(&self, activity: i64, code: i32, data: &Wish, task: i32) -> Answer<()> {
        self.with(|it| it.finish_activity(activity, code, data, task))
    }

    fn finish_started(&self, activity: i64, request: i32) -> Answer<()> {
        self.with(|it| {
            it.finish_started(activity, request);
            Ok(())
        })
    }

    fn tell(&self, what: i32, activity: i64) -> Answer<()> {
        self.with(|it| it.tell(what, activity))
    }

    fn stopped(&self, activity: i64, saved: &Wish) -> Answer<()> {
        self.with(|it| it.stopped(activity, saved))
    }

    fn ask(&self, what: i32, activity: i64) -> Answer<i64> {
        self.with(|it| it.ask(what, activity))
    }

    fn component_of(&self, activity: i64) -> Answer<Option<String>> {
        self.with(|it| Ok(it.component_of(activity)))
    }

    fn start_service(&self, wish: &Wish, is_foreground: bool) -> Answer<Option<String>> {
        self.with(|it| it.start_service(wish, is_foreground))
    }

    fn stop_service(&self, wish: &Wish) -> Answer<bool> {
        self.with(|it| it.stop_service(wish))
    }

    fn stop_service_self(&self, service: i64, start: i32) -> Answer<bool> {
        self.with(|it| Ok(it.stop_service_self(service, start)))
    }

    fn bind_service(&self, wish: &Wish, flags: i64) -> Answer<i64> {
        self.with(|it| it.bind_service(wish, flags))
    }

    fn unbind_service(&self, connection: i64) -> Answer<bool> {
        self.with(|it| Ok(it.unbind_service(connection)))
    }

    fn publish(&self, service: i64, intent: i64, binder: Option<&Binder>) -> Answer<()> {
        self.with(|it| {
            it.publish(service, intent, binder.cloned());
            Ok(())
        })
    }

    fn unbound(&self, service: i64, intent: i64, wants_rebind: bool) -> Answer<()> {
        self.with(|it| {
            it.unbound(service, intent, wants_rebind);
            Ok(())
        })
    }

    fn service_done(&self, service: i64, start: i32, result: i32) -> Answer<()> {
        self.with(|it| {
            it.service_done(service, start, result);
            Ok(())
        })
    }

    fn set_foreground(&self, service: i64, is_on: bool) -> Answer<()> {
        self.with(|it| {
            it.set_foreground(service, is_on);
            Ok(())
        })
    }

    fn binder_of(&self, connection: i64) -> Answer<Option<Binder>> {
        // The reader of the answer waits for the process of the binder, not the server.
        let connection = ConnectionId(connection.cast_unsigned());
        self.with(|it| Ok(it.state.binder_of(it.process, connection)))
    }

    fn describe(&self, name: &str) -> Answer<Option<String>> {
        let place = self.0.place();
        self.with(|it| it.describe(name, place))
    }

    fn query(&self, kind: i32, wish: &Wish, flags: i64) -> Answer<Vec<String>> {
        self.with(|it| it.query(kind, wish, flags))
    }

    fn provider_of(&self, authority: &str) -> Answer<Option<String>> {
        self.with(|it| Ok(it.provider_of(authority)))
    }

    fn packages_of(&self, of_user: bool, user: i32) -> Answer<Vec<String>> {
        self.with(|it| Ok(it.packages_of(of_user.then_some(user.cast_unsigned()))))
    }

    fn has(&self, permission: &str, pid: i32, user: i32) -> Answer<bool> {
        self.with(|it| Ok(it.has(permission, pid, user.cast_unsigned())))
    }

    fn register(&self, receiver: &Receiver) -> Answer<()> {
        self.with(|it| it.register(receiver))
    }

    fn unregister(&self, receiver: i64) -> Answer<()> {
        self.with(|it| {
            let broadcasts = &mut it.state.server.broadcasts;
            broadcasts.unregister(it.process, receiver);
            Ok(())
        })
    }

    fn staying(&self, receiver: &Receiver) -> Answer<Vec<Wish>> {
        self.with(|it| it.staying(receiver))
    }

    fn broadcast(&self, shout: &Shout) -> Answer<()> {
        let priority = callers_priority();
        self.with(|it| it.broadcast(shout, priority))
    }

    fn take_back(&self, wish: &Wish) -> Answer<()> {
        self.with(|it| it.take_back(wish))
    }

    fn received(&self, broadcast: i64, outcome: &Outcome, is_aborted: bool) -> Answer<()> {
        self.with(|it| it.received(broadcast, outcome, is_aborted))
    }

    fn publish_providers(&self, names: &[String], binders: &[Binder]) -> Answer<()> {
        self.with(|it| {
            it.publish_providers(names, binders);
            Ok(())
        })
    }

    fn acquire_provider(
        &self,
        waiter: &IAppProxy,
        authority: &str,
        is_fast: bool,
    ) -> Answer<Option<String>> {
        self.with(|it| it.acquire_provider(waiter, authority, is_fast))
    }

    fn provider_binder(&self, name: &str) -> Answer<Option<Binder>> {
        // The reader of the answer waits for the provider's process, not the server.
        self.with(|it| Ok(it.provider_binder(name)))
    }

    fn hold_provider(&self, name: &str, is_fast: bool) -> Answer<()> {
        self.with(|it| {
            it.hold_provider(name, is_fast);
            Ok(())
        })
    }

    fn observe(&self, authorities: &[String]) -> Answer<()> {
        self.with(|it| it.observe(authorities))
    }

    fn changed(&self, addresses: &[String], flags: i32) -> Answer<()> {
        self.with(|it| it.changed(addresses, flags))
    }

    fn pending(&self, kind: i32, request: i32, wish: &Wish, flags: i32) -> Answer<Option<Binder>> {
        let make = || self.0.make_sender();
        self.with(|it| it.pending((kind, request), wish, flags.cast_unsigned(), make))
    }

    fn cancel_pending(&self, pending: &Binder) -> Answer<()> {
        self.with(|it| {
            it.cancel_pending(pending);
            Ok(())
        })
    }

    fn send_pending(
        &self,
        pending: &Binder,
        code: i32,
        fill: &Wish,
        permission: Option<&str>,
        result: i64,
    ) -> Answer<i32> {
        let how = Sending {
            permission,
            code,
            result,
            priority: callers_priority(),
            alarm_count: 0,
        };
        self.with(|it| it.send_pending(pending, fill, &how))
    }

    fn pending_numbers(&self, pending: &Binder) -> Answer<Vec<i64>> {
        self.with(|it| Ok(it.pending_numbers(pending).unwrap_or_default()))
    }

    fn creator_of(&self, pending: &Binder) -> Answer<Option<String>> {
        self.with(|it| Ok(it.found(pending).map(|it| it.key.package)))
    }

    fn pending_wish(&self, pending: &Binder) -> Answer<Option<Wish>> {
        self.with(|it| it.pending_wish(pending))
    }

    fn post(&self, notice: &Notice) -> Answer<()> {
        self.with(|it| it.post(notice))
    }

    fn withdraw(&self, tag: Option<&str>, id: i32, is_of_service: bool) -> Answer<()> {
        self.with(|it| {
            it.withdraw(tag, id, is_of_service);
            Ok(())
        })
    }

    fn withdraw_all(&self) -> Answer<()> {
        self.with(|it| {
            it.withdraw_all();
            Ok(())
        })
    }

    fn grant_address(&self, target: &str, address: &str, flags: i32) -> Answer<()> {
        self.with(|it| it.grant_address(target, address, flags))
    }

    fn revoke_address(&self, target: Option<&str>, address: &str, modes: i32) -> Answer<()> {
        if self.with(|it| Ok(it.revoke_address(target, address, modes)))? {
            K::changed(&self.0);
        }
        Ok(())
    }

    fn has_address(&self, address: &str, pid: i32, user: i32, flags: i32) -> Answer<bool> {
        self.with(|it| Ok(it.has_address(address, pid, user.cast_unsigned(), flags)))
    }

    fn keep_address(&self, address: &str, modes: i32) -> Answer<()> {
        self.with(|it| it.keep_address(address, modes))?;
        K::changed(&self.0);
        Ok(())
    }

    fn release_address(&self, address: &str, modes: i32) -> Answer<bool> {
        let is_there = self.with(|it| Ok(it.release_address(address, modes)))?;
        if is_there {
            K::changed(&self.0);
        }
        Ok(is_there)
    }

    fn set_alarm(&self, operation: &Binder, timed: &Timed) -> Answer<()> {
        self.with(|it| it.set_alarm(operation, timed))
    }

    fn remove_alarm(&self, operation: &Binder) -> Answer<()> {
        self.with(|it| {
            it.remove_alarm(operation);
            Ok(())
        })
    }

    fn remove_alarms(&self) -> Answer<()> {
        self.with(|it| {
            it.remove_alarms();
            Ok(())
        })
    }

    fn next_clock(&self) -> Answer<Option<Timed>> {
        let make = || self.0.make_sender();
        self.with(|it| Ok(it.next_clock(make)))
    }

    fn set_enabled(
        &self,
        package: &str,
        class: Option<&str>,
        state: i32,
        are_kept: bool,
    ) -> Answer<()> {
        self.with(|it| it.set_enabled((package, class), state, are_kept))?;
        K::changed(&self.0);
        Ok(())
    }

    fn enabled_of(&self, package: &str, class: Option<&str>) -> Answer<i32> {
        self.with(|it| Ok(it.enabled_of(package, class)))
    }

    fn lock_frequency(&self, percent: i32) -> Answer<()> {
        self.with(|it| it.lock_frequency(percent))?;
        self.0.frequencies().settle(&*self.0);
        self.with(|it| it.has_frequency())
    }

    fn unlock_frequency(&self) -> Answer<bool> {
        let was_held = self.with(|it| Ok(it.unlock_frequency()))?;
        self.0.frequencies().settle(&*self.0);
        Ok(was_held)
    }

    fn locked_frequency(&self) -> Answer<i32> {
        self.with(|it| Ok(it.locked_frequency()))
    }

    fn kept_addresses(&self, is_of_others: bool) -> Answer<Vec<Kept>> {
        self.with(|it| Ok(it.kept_addresses(is_of_others)))
    }

    fn peek(&self, wish: &Wish) -> Answer<Option<Binder>> {
        // The reader of the answer waits for the process of the binder, not the server.
        self.with(|it| it.peek(wish))
    }

    fn watch_pending(&self, pending: &Binder, number: i64) -> Answer<bool> {
        self.with(|it| it.watch_pending(pending, number))
    }

    fn unwatch_pending(&self, pending: &Binder, number: i64) -> Answer<()> {
        self.with(|it| {
            let by = (it.process, number);
            it.state.senders.unwatch(pending, by);
            Ok(())
        })
    }

    fn schedule(&self, job: &Job, work: Option<&Wish>) -> Answer<()> {
        self.with(|it| it.schedule(job, work))
    }

    fn cancel_job(&self, space: Option<&str>, id: i32) -> Answer<()> {
        self.with(|it| {
            it.cancel_job(space, id);
            Ok(())
        })
    }

    fn cancel_jobs(&self, is_of_space: bool, space: Option<&str>) -> Answer<()> {
        self.with(|it| {
            it.cancel_jobs(is_of_space.then_some(space));
            Ok(())
        })
    }

    fn job_spaces(&self) -> Answer<Vec<String>> {
        self.with(|it| Ok(it.job_spaces()))
    }

    fn jobs_in(&self, space: Option<&str>) -> Answer<Vec<i32>> {
        self.with(|it| Ok(it.jobs_in(space)))
    }

    fn job_whole(&self, space: Option<&str>, id: i32) -> Answer<Option<Wish>> {
        self.with(|it| Ok(it.job_whole(space, id)))
    }

    fn job_waits(&self, space: Option<&str>, id: i32) -> Answer<i32> {
        self.with(|it| Ok(it.job_waits(space, id)))
    }

    fn job_told(&self, run: i64, what: i32, is: bool) -> Answer<()> {
        self.with(|it| {
            it.job_told(run, what, is);
            Ok(())
        })
    }

    fn dequeue_work(&self, run: i64) -> Answer<Option<Work>> {
        self.with(|it| Ok(it.dequeue_work(run)))
    }

    fn complete_work(&self, run: i64, id: i32) -> Answer<bool> {
        self.with(|it| Ok(it.complete_work(run, id)))
    }
}
