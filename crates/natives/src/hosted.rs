// SPDX-License-Identifier: Apache-2.0
//! takt.server.HostedServer: the system server of `takt run`, inside the application's process.
//! Java speaks with it over Binder, as with that of `takt system`.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use agent::Hosted;
use jni_sys::{jboolean, jclass, jint, jlong, jobject, jstring};
use rt::clock::{Clock as _, Monotonic};
use rt::frequency::Cpufreq;
use serde::Deserialize;
use timer::machine::{LOOK_NS, Machine};

use crate::binder::{home, object_of};
use crate::env::Env;

/// One for a process.
static HOSTED: OnceLock<Arc<Hosted>> = OnceLock::new();

/// Of what `takt run` has written for the launcher.
#[derive(Deserialize)]
struct Description {
    manifest: apk::Manifest,
}

fn described(text: &str) -> Result<apk::Manifest, String> {
    let read = serde_json::from_str::<Description>(text);
    read.map(|it| it.manifest).map_err(|it| it.to_string())
}

/// Begins with the package that a text describes, and gives what it is called by.
#[unsafe(no_mangle)]
extern "system" fn Java_takt_server_HostedServer_begin(
    env: Env,
    _: jclass,
    description: jstring,
) -> jobject {
    let text = env.text(description).unwrap_or_default();
    let Some(home) = home::of(env) else {
        return core::ptr::null_mut();
    };
    let begun = described(&text).and_then(|manifest| {
        Hosted::begin(home, manifest, Cpufreq::default()).map_err(|it| it.to_string())
    });
    let kept = begun.and_then(|(hosted, root)| {
        let kept = HOSTED.set(hosted).map_err(|_| "it has begun already");
        kept.map(|()| root).map_err(str::to_owned)
    });
    match kept {
        Ok(root) => object_of(env, Some(root)),
        Err(text) => {
            env.throw("java/lang/IllegalArgumentException", &text);
            core::ptr::null_mut()
        }
    }
}

/// Ends all components, in order.
#[unsafe(no_mangle)]
extern "system" fn Java_takt_server_HostedServer_endAll(_: Env, _: jclass) {
    if let Some(hosted) = HOSTED.get() {
        hosted.end_all();
    }
}

const NANOS_PER_MILLI: u64 = 1_000_000;
/// No job is there.
const NO_JOBS: jlong = -1;

/// Looks at jobs, and at what they wait for if some do: in how many ms somebody is to look again;
/// 0 if only another event changes something, below nought if no job is there.
#[unsafe(no_mangle)]
extern "system" fn Java_takt_server_HostedServer_lookAtJobs(
    env: Env,
    _: jclass,
    disk: jstring,
) -> jlong {
    let Some(hosted) = HOSTED.get() else {
        return NO_JOBS;
    };
    let mut waits = hosted.look_at_jobs(None);
    let now = Monotonic.now_ns();
    if waits.for_conditions {
        let disk = env.text(disk).unwrap_or_default();
        let seen = Machine::of(Path::new(&disk)).look();
        waits = hosted.look_at_jobs(Some(seen.holds));
    }
    if waits.for_nothing {
        return NO_JOBS;
    }
    let look = waits.for_conditions.then_some(now + LOOK_NS);
    let due = waits.due_ns.into_iter().chain(look).min();
    let millis = due.map_or(0, |it| {
        it.saturating_sub(now).div_ceil(NANOS_PER_MILLI).max(1)
    });
    millis.try_into().unwrap_or(jlong::MAX)
}

/// What of that cannot be read in this process.
#[unsafe(no_mangle)]
extern "system" fn Java_takt_server_HostedServer_hiddenConditions(
    env: Env,
    _: jclass,
    disk: jstring,
) -> jint {
    let disk = env.text(disk).unwrap_or_default();
    Machine::of(Path::new(&disk))
        .look()
        .is_hidden
        .0
        .cast_signed()
}

/// Is a job there, or does one run?
#[unsafe(no_mangle)]
extern "system" fn Java_takt_server_HostedServer_hasJobs(_: Env, _: jclass) -> jboolean {
    HOSTED.get().is_some_and(|it| it.has_jobs())
}
