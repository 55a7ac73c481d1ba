// SPDX-License-Identifier: Apache-2.0
//! An open file of a package: what AssetManager's streams read from.

use jni_sys::{jbyteArray, jclass, jint, jlong};

use crate::env::Env;
use crate::handle::Handle;

/// An entry, unpacked, and where Java reads next.
pub(super) struct Asset {
    bytes: Vec<u8>,
    next: usize,
}

impl Asset {
    pub(super) fn new(bytes: Vec<u8>) -> Self {
        Self { bytes, next: 0 }
    }

    fn rest(&self) -> &[u8] {
        self.bytes.get(self.next..).unwrap_or_default()
    }
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_content_res_AssetManager_nativeAssetDestroy(
    _: Env,
    _: jclass,
    asset: Handle<Asset>,
) {
    asset.free();
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_content_res_AssetManager_nativeAssetReadChar(
    _: Env,
    _: jclass,
    mut asset: Handle<Asset>,
) -> jint {
    let asset = asset.get_mut();
    let Some(byte) = asset.rest().first().copied() else {
        return -1;
    };
    asset.next += 1;
    jint::from(byte)
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_content_res_AssetManager_nativeAssetRead(
    env: Env,
    _: jclass,
    mut asset: Handle<Asset>,
    buffer: jbyteArray,
    offset: jint,
    count: jint,
) -> jint {
    let asset = asset.get_mut();
    if count <= 0 {
        return 0;
    }
    let count = asset.rest().len().min(count as usize);
    if count == 0 {
        return -1;
    }
    env.write_bytes(buffer, offset, &asset.rest()[..count]);
    asset.next += count;
    count as jint
}

/// `whence`: below zero from the start, zero from here, above zero from the end, as Java's class
/// has it.
#[unsafe(no_mangle)]
extern "system" fn Java_android_content_res_AssetManager_nativeAssetSeek(
    _: Env,
    _: jclass,
    mut asset: Handle<Asset>,
    offset: jlong,
    whence: jint,
) -> jlong {
    let asset = asset.get_mut();
    let base = match whence {
        ..0 => 0,
        0 => asset.next,
        1.. => asset.bytes.len(),
    };
    let wanted = (base as jlong).saturating_add(offset);
    asset.next = wanted.clamp(0, asset.bytes.len() as jlong) as usize;
    asset.next as jlong
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_content_res_AssetManager_nativeAssetGetLength(
    _: Env,
    _: jclass,
    mut asset: Handle<Asset>,
) -> jlong {
    asset.get_mut().bytes.len() as jlong
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_content_res_AssetManager_nativeAssetGetRemainingLength(
    _: Env,
    _: jclass,
    mut asset: Handle<Asset>,
) -> jlong {
    asset.get_mut().rest().len() as jlong
}
