// SPDX-License-Identifier: Apache-2.0
//! takt.server.ActivityStack: the server's activities, for the one application of `takt run`.
//!
//! Java keeps what Rust does not look at: intents with their extras, tokens, results' data. It
//! gives them numbers, and gets steps back: one array of longs for each call, read in order.

use std::sync::OnceLock;

use intent::{Component, Intent, Uri};
use jni_sys::{jboolean, jclass, jint, jlong, jlongArray, jobjectArray};
use rt::sync::PiMutex;
use server::activities::{
    Declaration, DocumentMode, FinishTask, Home, LaunchMode, Refused, Start, Started,
};
use server::{Activities, ActivityId, Cx, Effect, Payload, ProcessKey, Processes};

use crate::env::Env;
use crate::process::uid;

/// The application's activities, and the one process that they live in.
struct Hosted {
    activities: Activities,
    processes: Processes,
}

/// Made with the first activity. Java calls under a lock of its own.
fn hosted() -> &'static PiMutex<Hosted> {
    static HOSTED: OnceLock<PiMutex<Hosted>> = OnceLock::new();
    HOSTED.get_or_init(|| PiMutex::new(Hosted::new()))
}

const PACKAGE: &str = "application";

/// An answer to `start`, before the steps. Java has the same numbers.
const NEW: jlong = 0;
const DELIVERED: jlong = 1;
const FRONT: jlong = 2;
const FORWARD_AND_REQUEST: jlong = -1;
const FULL: jlong = -2;

impl Hosted {
    fn new() -> Self {
        let mut processes = Processes::default();
        let adopted = processes.adopt(&key(), PACKAGE, std::process::id());
        assert!(adopted.is_ok(), "it is the first");
        Self {
            activities: Activities::new(Home::Nowhere),
            processes,
        }
    }

    fn ask<T>(&mut self, ask: impl FnOnce(&mut Activities, &mut Cx<'_>) -> T) -> (T, Vec<jlong>) {
        let mut effects = Vec::new();
        let mut cx = Cx {
            processes: &mut self.processes,
            effects: &mut effects,
            // Java's watchdog has the clock here.
            now: 0,
        };
        let answer = ask(&mut self.activities, &mut cx);
        let mut steps = Vec::new();
        for effect in effects {
            if let Effect::Activity {
                activity, visit, ..
            } = effect
            {
                steps.extend(visit.numbers(activity));
            }
        }
        (answer, steps)
    }
}

fn key() -> ProcessKey {
    ProcessKey {
        uid: uid().cast_unsigned(),
        name: PACKAGE.to_owned(),
    }
}

fn with<T>(ask: impl FnOnce(&mut Activities, &mut Cx<'_>) -> T) -> (T, Vec<jlong>) {
    hosted().lock().ask(ask)
}

fn activity(id: jlong) -> ActivityId {
    ActivityId(id.cast_unsigned())
}

/// What Java says of a start: texts, then numbers, in the order of `ActivityStack.start`.
fn parse(texts: &[String], numbers: &[jlong]) -> Option<Start> {
    let [
        class,
        affinity,
        action,
        data,
        kind,
        identifier,
        categories @ ..,
    ] = texts
    else {
        return None;
    };
    let [
        source,
        has_request,
        request,
        mode,
        document_mode,
        no_history,
        flags,
        payload,
    ] = *numbers
    else {
        return None;
    };
    let some = |it: &String| Some(it.clone()).filter(|it| !it.is_empty());
    let component = Component {
        package: PACKAGE.to_owned(),
        class: class.clone(),
    };
    Some(Start {
        intent: Intent {
            action: some(action),
            data: some(data).map(Uri::new),
            kind: some(kind),
            categories: categories.iter().cloned().collect(),
            package: None,
            component: Some(component.clone()),
            identifier: some(identifier),
        },
        declaration: Declaration {
            component,
            process: key(),
            launch_mode: LaunchMode::of(mode as i32),
            document_mode: DocumentMode::of(document_mode as i32),
            affinity: some(affinity),
            has_no_history: no_history != 0,
            is_home: false,
        },
        flags: flags as u32,
        payload: Payload(payload.cast_unsigned()),
        source: (source != 0).then(|| activity(source)),
        request: (has_request != 0).then_some(request as i32),
    })
}

fn outcome(started: Result<Started, Refused>) -> [jlong; 2] {
    match started {
        Ok(Started::New(id)) => [NEW, id.0.cast_signed()],
        Ok(Started::Delivered(id)) => [DELIVERED, id.0.cast_signed()],
        Ok(Started::Front(id)) => [FRONT, id.0.cast_signed()],
        Err(Refused::ForwardAndRequest) => [FORWARD_AND_REQUEST, 0],
        Err(Refused::TooManyActivities | Refused::TooManyTasks) => [FULL, 0],
    }
}

#[unsafe(no_mangle)]
extern "system" fn Java_takt_server_ActivityStack_start(
    env: Env,
    _: jclass,
    texts: jobjectArray,
    numbers: jlongArray,
) -> jlongArray {
    let Some(start) = parse(&env.texts(texts), &env.longs(numbers)) else {
        env.throw("java/lang/IllegalArgumentException", "another start");
        return core::ptr::null_mut();
    };
    let (started, steps) = with(|it, cx| it.start(start, cx));
    env.long_array(&[&outcome(started)[..], &steps].concat())
}

#[unsafe(no_mangle)]
extern "system" fn Java_takt_server_ActivityStack_finish(
    env: Env,
    _: jclass,
    id: jlong,
    code: jint,
    data: jlong,
    task: jint,
) -> jlongArray {
    let data = (data != 0).then(|| Payload(data.cast_unsigned()));
    let task = FinishTask::of(task);
    let (_, steps) = with(|it, cx| it.finish(activity(id), code, data, task, cx));
    env.long_array(&steps)
}

#[unsafe(no_mangle)]
extern "system" fn Java_takt_server_ActivityStack_finishStarted(
    env: Env,
    _: jclass,
    id: jlong,
    request: jint,
) -> jlongArray {
    let ((), steps) = with(|it, cx| it.finish_started(activity(id), request, cx));
    env.long_array(&steps)
}

/// Calls that say no more than which activity.
macro_rules! told {
    ($($export:ident: $ask:expr;)+) => {$(
        #[unsafe(no_mangle)]
        extern "system" fn $export(env: Env, _: jclass, id: jlong) -> jlongArray {
            let ask: fn(&mut Activities, ActivityId, &mut Cx<'_>) = $ask;
            let ((), steps) = with(|it, cx| ask(it, activity(id), cx));
            env.long_array(&steps)
        }
    )+};
}

told! {
    Java_takt_server_ActivityStack_resumed: |it, id, cx| it.resumed(id, cx);
    Java_takt_server_ActivityStack_paused: |it, id, cx| it.paused(id, cx);
    Java_takt_server_ActivityStack_idle: |it, _, cx| it.idle(cx);
    Java_takt_server_ActivityStack_relaunch: |it, id, cx| _ = it.relaunch(id, cx);
    Java_takt_server_ActivityStack_finishAffinity: |it, id, cx| _ = it.finish_affinity(id, cx);
    Java_takt_server_ActivityStack_moveTaskToBack: |it, id, cx| _ = it.move_task_to_back(id, cx);
}

/// Ends all, from the front.
#[unsafe(no_mangle)]
extern "system" fn Java_takt_server_ActivityStack_endAll(env: Env, _: jclass) -> jlongArray {
    let ((), steps) = with(|it, cx| it.end_all(cx));
    env.long_array(&steps)
}

/// The task that it lies in; 0 if it is not there.
#[unsafe(no_mangle)]
extern "system" fn Java_takt_server_ActivityStack_taskOf(_: Env, _: jclass, id: jlong) -> jint {
    let (task, _) = with(|it, _| it.get(activity(id)).map(|it| it.task.0));
    task.unwrap_or_default() as jint
}

#[unsafe(no_mangle)]
extern "system" fn Java_takt_server_ActivityStack_isTop(_: Env, _: jclass, id: jlong) -> jboolean {
    with(|it, _| it.is_top_of_task(activity(id))).0
}

#[unsafe(no_mangle)]
extern "system" fn Java_takt_server_ActivityStack_isRoot(_: Env, _: jclass, id: jlong) -> jboolean {
    with(|it, _| it.is_root_of_task(activity(id))).0
}

/// Who waits for its result; 0 if nobody does.
#[unsafe(no_mangle)]
extern "system" fn Java_takt_server_ActivityStack_caller(_: Env, _: jclass, id: jlong) -> jlong {
    let (caller, _) = with(|it, _| it.caller(activity(id)));
    caller.map_or(0, |it| it.0.cast_signed())
}
