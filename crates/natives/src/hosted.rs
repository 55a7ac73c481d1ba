// SPDX-License-Identifier: Apache-2.0
//! takt.server.HostedServer: the system server of `takt run`, inside the application's process.
//! Java speaks with it over Binder, as with that of `takt system`.

use std::sync::{Arc, OnceLock};

use agent::Hosted;
use jni_sys::{jclass, jobject, jstring};
use rt::frequency::Cpufreq;
use serde::Deserialize;

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
