// SPDX-License-Identifier: Apache-2.0
//! What processes say of activities, and ask for.

use binder::stub::{Answer, Exception};
use server::activities::{FinishTask, Refused, Started};
use server::grants::Owner;
use server::server::{StartError, Wish as Asked};

use super::{Event, ISystemProxy, Wish, refused, security, too_much};
use crate::payloads::{flat, granted};

/// What became of a start, as takt.server.ActivityStack has it.
const NEW: i64 = 0;
const DELIVERED: i64 = 1;
const FRONT: i64 = 2;
const FORWARD_AND_REQUEST: i64 = -1;
const FULL: i64 = -2;
const NOT_FOUND: i64 = -3;

impl Event<'_> {
    pub(super) fn start_activity(
        &mut self,
        wish: &Wish,
        source: i64,
        request: Option<i32>,
    ) -> Answer<Vec<i64>> {
        let asked = self.asked(self.uid, wish)?;
        let payload = asked.payload;
        let asked = Asked {
            source: self.activity(source),
            request,
            ..asked
        };
        let (started, name) = match self.state.server.start_activity(asked, self.now) {
            Ok(found) => found,
            Err(error) => {
                if let Some(failure) = refused(&error) {
                    return Err(failure);
                }
                let outcome = match error {
                    StartError::Refused(Refused::ForwardAndRequest) => FORWARD_AND_REQUEST,
                    StartError::Refused(_) => FULL,
                    _ => NOT_FOUND,
                };
                return Ok(vec![outcome, 0]);
            }
        };
        let (outcome, id) = match started {
            Started::New(id) => (NEW, id.0),
            Started::Delivered(id) => (DELIVERED, id.0),
            Started::Front(id) => (FRONT, id.0),
        };
        // As on Android an alias keeps its name there.
        self.state.payloads.resolve(payload, &name);
        Ok(vec![outcome, id.cast_signed()])
    }

    pub(super) fn finish_activity(
        &mut self,
        activity: i64,
        code: i32,
        wish: &Wish,
        task: i32,
    ) -> Answer<()> {
        let Some(id) = self.activity(activity) else {
            return Ok(());
        };
        let data = match wish.whole.bytes.is_empty() {
            true => None,
            false => Some(self.keep(wish)?),
        };
        let task = FinishTask::of(task);
        // Who waits for the result reaches what it grants.
        let activities = &self.state.server.activities;
        let caller = activities.caller(id);
        let caller = caller.and_then(|it| Some((it, activities.get(it)?.declaration.process.uid)));
        if let Some((caller, uid)) = caller {
            let addresses = granted(wish).map_err(too_much)?;
            let server = &mut self.state.server;
            let flags = wish.flags.cast_unsigned();
            let given = server.to_grant((self.uid, uid), &addresses, flags);
            let given = given.map_err(|it| security(&it))?;
            server.grant(given, Some(Owner::Activity(caller)));
        }
        let (activities, mut cx) = self.state.server.activities(self.now);
        activities.finish(id, code, data, task, &mut cx);
        Ok(())
    }

    pub(super) fn finish_started(&mut self, activity: i64, request: i32) {
        if let Some(id) = self.activity(activity) {
            let (activities, mut cx) = self.state.server.activities(self.now);
            activities.finish_started(id, request, &mut cx);
        }
    }

    pub(super) fn tell(&mut self, what: i32, activity: i64) -> Answer<()> {
        let own = self.activity(activity);
        let (activities, mut cx) = self.state.server.activities(self.now);
        let Some(id) = own else {
            // A looper that is idle names no activity.
            if what == ISystemProxy::IDLE {
                activities.idle(&mut cx);
            }
            return Ok(());
        };
        match what {
            ISystemProxy::RESUMED => activities.resumed(id, &mut cx),
            ISystemProxy::PAUSED => activities.paused(id, &mut cx),
            ISystemProxy::IDLE => activities.idle(&mut cx),
            ISystemProxy::RELAUNCH => _ = activities.relaunch(id, &mut cx),
            ISystemProxy::FINISH_AFFINITY => _ = activities.finish_affinity(id, &mut cx),
            ISystemProxy::MOVE_TASK_TO_BACK => _ = activities.move_task_to_back(id, &mut cx),
            _ => return Err(unknown(what)),
        }
        Ok(())
    }

    /// What is too large is not kept, and said so; it has stopped anyhow.
    pub(super) fn stopped(&mut self, activity: i64, saved: &Wish) -> Answer<()> {
        let Some(id) = self.activity(activity) else {
            return Ok(());
        };
        let kept = match saved.whole.bytes.is_empty() {
            true => Ok(None),
            false => self.keep(saved).map(Some),
        };
        let (activities, mut cx) = self.state.server.activities(self.now);
        activities.stopped(id, kept.as_ref().ok().copied().flatten(), &mut cx);
        kept.map(drop)
    }

    pub(super) fn ask(&mut self, what: i32, activity: i64) -> Answer<i64> {
        let Some(id) = self.activity(activity) else {
            return Ok(0);
        };
        let activities = &self.state.server.activities;
        let task = activities.get(id).map_or(0, |it| it.task.0);
        Ok(match what {
            ISystemProxy::TASK => task.cast_signed(),
            ISystemProxy::IS_TOP => activities.is_top_of_task(id).into(),
            ISystemProxy::IS_ROOT => activities.is_root_of_task(id).into(),
            ISystemProxy::CALLER => activities.caller(id).map_or(0, |it| it.0.cast_signed()),
            _ => return Err(unknown(what)),
        })
    }

    /// Of an activity of this process, or of one that waits for a result of one.
    pub(super) fn component_of(&self, activity: i64) -> Option<String> {
        let id = server::ActivityId(activity.cast_unsigned());
        let activities = &self.state.server.activities;
        let asked = activities.get(id)?;
        let mut own = activities
            .iter()
            .filter(|(_, it)| it.process == Some(self.process));
        let is_told = own.any(|(own, _)| own == id || activities.caller(own) == Some(id));
        is_told.then(|| flat(&asked.declaration.component))
    }
}

fn unknown(what: i32) -> binder::stub::Failure {
    Exception::new(
        Exception::ILLEGAL_ARGUMENT,
        format!("no call has number {what}"),
    )
    .into()
}
