// SPDX-License-Identifier: Apache-2.0
//! android.os.SystemProperties: what a headless device of Android 15 would say, and what the
//! process sets itself.
#![allow(
    clippy::disallowed_types,
    reason = "read at start-up and never on a real-time path"
)]

use std::collections::BTreeMap;
use std::sync::{Mutex, OnceLock, PoisonError};

use jni_sys::{jboolean, jclass, jint, jlong, jstring};

use crate::env::Env;

/// Properties that AOSP's classes read while they are initialised.
const DEFAULTS: [(&str, &str); 16] = [
    ("ro.build.id", "TAKT"),
    ("ro.build.type", "user"),
    ("ro.build.tags", "release-keys"),
    ("ro.build.version.sdk", "35"),
    ("ro.build.version.release", "15"),
    ("ro.build.version.release_or_codename", "15"),
    ("ro.build.version.codename", "REL"),
    ("ro.build.version.all_codenames", "REL"),
    ("ro.build.version.known_codenames", "REL"),
    ("ro.product.brand", "takt"),
    ("ro.product.manufacturer", "takt"),
    ("ro.product.model", "headless"),
    ("ro.product.cpu.abilist", "x86_64"),
    ("ro.product.cpu.abilist64", "x86_64"),
    ("ro.product.cpu.abilist32", ""),
    ("ro.sf.lcd_density", "160"),
];

/// As Android's own limit of a value that is not `ro.`.
const VALUE_BYTES_MAX: usize = 91;
/// Properties that one process may set.
const ENTRIES_MAX: usize = 4_096;

fn table() -> &'static Mutex<BTreeMap<String, String>> {
    static TABLE: OnceLock<Mutex<BTreeMap<String, String>>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let defaults = DEFAULTS
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Mutex::new(defaults.collect())
    })
}

fn get(env: Env, name: jstring) -> Option<String> {
    let name = env.text(name)?;
    let table = table().lock().unwrap_or_else(PoisonError::into_inner);
    table.get(&name).filter(|it| !it.is_empty()).cloned()
}

/// As bionic: 1, y, yes, on, true.
fn boolean(text: &str) -> Option<bool> {
    match text {
        "1" | "y" | "yes" | "on" | "true" => Some(true),
        "0" | "n" | "no" | "off" | "false" => Some(false),
        _ => None,
    }
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_os_SystemProperties_native_1get__Ljava_lang_String_2Ljava_lang_String_2(
    env: Env,
    _: jclass,
    name: jstring,
    default: jstring,
) -> jstring {
    get(env, name).map_or(default, |it| env.string_of(&it))
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_os_SystemProperties_native_1get_1int__Ljava_lang_String_2I(
    env: Env,
    _: jclass,
    name: jstring,
    default: jint,
) -> jint {
    get(env, name)
        .and_then(|it| it.parse().ok())
        .unwrap_or(default)
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_os_SystemProperties_native_1get_1long__Ljava_lang_String_2J(
    env: Env,
    _: jclass,
    name: jstring,
    default: jlong,
) -> jlong {
    get(env, name)
        .and_then(|it| it.parse().ok())
        .unwrap_or(default)
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_os_SystemProperties_native_1get_1boolean__Ljava_lang_String_2Z(
    env: Env,
    _: jclass,
    name: jstring,
    default: jboolean,
) -> jboolean {
    get(env, name)
        .and_then(|it| boolean(&it))
        .unwrap_or(default)
}

/// Handles to properties are an optimisation: zero says that there is none, and callers ask by
/// name.
#[unsafe(no_mangle)]
extern "system" fn Java_android_os_SystemProperties_native_1find(
    _: Env,
    _: jclass,
    _: jstring,
) -> jlong {
    0
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_os_SystemProperties_native_1set(
    env: Env,
    _: jclass,
    name: jstring,
    value: jstring,
) {
    let (Some(name), value) = (env.text(name), env.text(value).unwrap_or_default()) else {
        return;
    };
    let mut table = table().lock().unwrap_or_else(PoisonError::into_inner);
    let is_allowed =
        !name.starts_with("ro.") && value.len() <= VALUE_BYTES_MAX && table.len() < ENTRIES_MAX;
    if is_allowed {
        table.insert(name, value);
    } else {
        drop(table);
        env.throw(
            "java/lang/RuntimeException",
            &format!("failed to set system property {name}"),
        );
    }
}

/// Changes come from this process alone, which knows of them.
#[unsafe(no_mangle)]
extern "system" fn Java_android_os_SystemProperties_native_1add_1change_1callback(
    _: Env,
    _: jclass,
) {
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn booleans_are_read_as_bionic_does() {
        assert_eq!(boolean("on"), Some(true));
        assert_eq!(boolean("n"), Some(false));
        assert_eq!(boolean("maybe"), None);
    }
}
