// SPDX-License-Identifier: Apache-2.0
//! What processes say of activities, and ask for.

use binder::stub::{Answer, Exception};
use server::Payload;
use server::activities::{FinishTask, Refused, Started};
use server::packages::{Best, Kind, MATCH_DEFAULT_ONLY};
use server::server::{StartError, Wish as Asked};

use super::{Event, ISystemProxy, Wish, refused};
use crate::payloads::flat;

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
        let payload = self.keep(wish)?;
        let intent = self.state.payloads.get(payload).map(|it| it.intent.clone());
        let asked = Asked {
            uid: self.uid,
            intent: intent.unwrap_or_default(),
            flags: wish.flags.cast_unsigned(),
            payload: payload.0,
            source: self.activity(source),
            request,
        };
        let started = match self.state.server.start_activity(asked, self.now) {
            Ok(started) => started,
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
        self.resolve(payload, started);
        Ok(vec![outcome, id.cast_signed()])
    }

    /// The intent of a start goes to what was found. As on Android an alias keeps its name there.
    pub(super) fn resolve(&mut self, payload: Payload, started: Started) {
        if matches!(started, Started::Front(_)) {
            return;
        }
        let stored = self.state.payloads.get(payload);
        let Some(intent) = stored.map(|it| &it.intent) else {
            return;
        };
        let packages = &self.state.server.packages;
        let found = packages.best(Kind::Activity, intent, MATCH_DEFAULT_ONLY);
        if let Best::One(found) = found {
            let name = found.name();
            self.state.payloads.resolve(payload, &name);
        }
    }

    pub(super) fn finish_activity(
        &mut self,
        activity: i64,
        code: i32,
        data: &Wish,
        task: i32,
    ) -> Answer<()> {
        let Some(id) = self.activity(activity) else {
            return Ok(());
        };
        let data = match data.whole.bytes.is_empty() {
            true => None,
            false => Some(self.keep(data)?),
        };
        let task = FinishTask::of(task);
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
            ISystemProxy::STOPPED => activities.stopped(id, &mut cx),
            ISystemProxy::IDLE => activities.idle(&mut cx),
            ISystemProxy::RELAUNCH => _ = activities.relaunch(id, &mut cx),
            ISystemProxy::FINISH_AFFINITY => _ = activities.finish_affinity(id, &mut cx),
            ISystemProxy::MOVE_TASK_TO_BACK => _ = activities.move_task_to_back(id, &mut cx),
            _ => return Err(unknown(what)),
        }
        Ok(())
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
