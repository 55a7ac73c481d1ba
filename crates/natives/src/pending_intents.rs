// SPDX-License-Identifier: Apache-2.0
//! takt.server.PendingStore: which PendingIntents there are, for the one application of `takt run`.
//! Java keeps extras and what is sent; it goes by the numbers that come from here.

use std::sync::OnceLock;

use intent::{Component, Intent, Uri};
use jni_sys::{jboolean, jclass, jint, jlong, jobjectArray};
use rt::sync::PiMutex;
use server::pending::PendingKind;
use server::{Payload, PendingId, PendingIntents};

use crate::env::Env;

const PACKAGE: &str = "application";

fn pending() -> &'static PiMutex<PendingIntents> {
    static PENDING: OnceLock<PiMutex<PendingIntents>> = OnceLock::new();
    PENDING.get_or_init(|| PiMutex::new(PendingIntents::default()))
}

/// `ActivityManager.INTENT_SENDER_…`.
fn kind(number: jint) -> Option<PendingKind> {
    Some(match number {
        1 => PendingKind::Broadcast,
        2 => PendingKind::Activity,
        4 => PendingKind::Service,
        5 => PendingKind::ForegroundService,
        _ => return None,
    })
}

/// What `Intent.filterEquals` compares, in the order of `PendingStore.get`; empty texts are absent.
fn intent(texts: &[String]) -> Option<Intent> {
    let [
        action,
        data,
        kind,
        identifier,
        package,
        component_package,
        class,
        categories @ ..,
    ] = texts
    else {
        return None;
    };
    let some = |it: &String| Some(it.clone()).filter(|it| !it.is_empty());
    Some(Intent {
        action: some(action),
        data: some(data).map(Uri::new),
        kind: some(kind),
        categories: categories.iter().cloned().collect(),
        package: some(package),
        component: some(class).map(|class| Component {
            package: component_package.clone(),
            class,
        }),
        identifier: some(identifier),
    })
}

/// Its number; 0 if it is not there and is not to be made.
#[unsafe(no_mangle)]
extern "system" fn Java_takt_server_PendingStore_get(
    env: Env,
    _: jclass,
    number: jint,
    request: jint,
    flags: jint,
    texts: jobjectArray,
) -> jlong {
    let (Some(kind), Some(intent)) = (kind(number), intent(&env.texts(texts))) else {
        env.throw_unsupported("a PendingIntent for an activity's result");
        return 0;
    };
    let by = (intent, Payload(0));
    let got = pending()
        .lock()
        .get(PACKAGE, kind, request, by, flags.cast_unsigned());
    match got {
        Ok(id) => id.map_or(0, |it| it.0.cast_signed()),
        Err(too_many) => {
            env.throw("java/lang/IllegalStateException", &too_many.to_string());
            0
        }
    }
}

/// May it be sent? One that is sent once is gone by that.
#[unsafe(no_mangle)]
extern "system" fn Java_takt_server_PendingStore_send(_: Env, _: jclass, id: jlong) -> jboolean {
    pending()
        .lock()
        .send(PendingId(id.cast_unsigned()))
        .is_some()
}

/// False if it is not there.
#[unsafe(no_mangle)]
extern "system" fn Java_takt_server_PendingStore_cancel(_: Env, _: jclass, id: jlong) -> jboolean {
    pending()
        .lock()
        .cancel(PendingId(id.cast_unsigned()), PACKAGE)
}

#[unsafe(no_mangle)]
extern "system" fn Java_takt_server_PendingStore_isThere(_: Env, _: jclass, id: jlong) -> jboolean {
    pending()
        .lock()
        .peek(PendingId(id.cast_unsigned()))
        .is_some()
}
