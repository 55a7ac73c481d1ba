// SPDX-License-Identifier: Apache-2.0
//! [`AAudioStreamBuilder`]: what an application asks for. What a value is worth is looked at when
//! the stream is opened.

use std::ffi::{c_char, c_void};

use crate::control::AAudioStream;
use crate::numbers::{Code, MODE_NONE, NULL, OK, SHARED, UNSPECIFIED};

/// Fills or takes so many frames; 0 asks for more.
pub type DataCallback =
    extern "C" fn(*mut AAudioStream, *mut c_void, *mut c_void, frames: i32) -> i32;
/// Hears why a stream ended.
pub type ErrorCallback = extern "C" fn(*mut AAudioStream, *mut c_void, Code);
/// Hears that an offloaded stream has played all.
pub type PresentationEndCallback = extern "C" fn(*mut AAudioStream, *mut c_void);

/// The application's own pointer, which a callback gets back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UserData(pub(crate) *mut c_void);

// SAFETY: it is never followed here. That a callback's thread may follow it, the application says
// by setting a callback.
unsafe impl Send for UserData {}
// SAFETY: as above.
unsafe impl Sync for UserData {}

/// What is asked for. C knows its address alone.
#[derive(Clone, Debug)]
pub struct AAudioStreamBuilder {
    pub(crate) device_id: i32,
    pub(crate) rate: i32,
    pub(crate) channels: i32,
    pub(crate) channel_mask: u32,
    pub(crate) format: i32,
    pub(crate) sharing_mode: i32,
    pub(crate) direction: i32,
    pub(crate) capacity: i32,
    pub(crate) performance_mode: i32,
    pub(crate) usage: i32,
    pub(crate) content_type: i32,
    pub(crate) spatialization: i32,
    pub(crate) is_spatialized: bool,
    pub(crate) input_preset: i32,
    pub(crate) capture_policy: i32,
    pub(crate) session_id: i32,
    pub(crate) is_private: Option<bool>,
    pub(crate) callback_frames: i32,
    pub(crate) is_reserved: bool,
    pub(crate) data: Option<(DataCallback, UserData)>,
    pub(crate) error: Option<(ErrorCallback, UserData)>,
}

/// A new builder with Android's defaults.
#[unsafe(no_mangle)]
pub extern "C" fn AAudio_createStreamBuilder(
    builder: Option<&mut *mut AAudioStreamBuilder>,
) -> Code {
    let Some(builder) = builder else { return NULL };
    *builder = Box::into_raw(Box::new(AAudioStreamBuilder {
        device_id: UNSPECIFIED,
        rate: UNSPECIFIED,
        channels: UNSPECIFIED,
        channel_mask: 0,
        format: UNSPECIFIED,
        sharing_mode: SHARED,
        direction: 0,
        capacity: UNSPECIFIED,
        performance_mode: MODE_NONE,
        usage: 1,
        content_type: 2,
        spatialization: 1,
        is_spatialized: false,
        input_preset: 6,
        capture_policy: 1,
        session_id: -1,
        is_private: None,
        callback_frames: UNSPECIFIED,
        is_reserved: false,
        data: None,
        error: None,
    }));
    OK
}

/// Frees a builder.
#[unsafe(no_mangle)]
pub extern "C" fn AAudioStreamBuilder_delete(builder: Option<Box<AAudioStreamBuilder>>) -> Code {
    if builder.is_some() { OK } else { NULL }
}

/// One function a field.
macro_rules! setters {
    ($($(#[$doc:meta])* $name:ident: $field:ident = $type:ty;)*) => {$(
        $(#[$doc])*
        #[unsafe(no_mangle)]
        pub extern "C" fn $name(builder: Option<&mut AAudioStreamBuilder>, value: $type) {
            if let Some(builder) = builder {
                builder.$field = value;
            }
        }
    )*};
}

setters! {
    /// Which device; there is one.
    AAudioStreamBuilder_setDeviceId: device_id = i32;
    /// Frames a second.
    AAudioStreamBuilder_setSampleRate: rate = i32;
    /// The form of samples.
    AAudioStreamBuilder_setFormat: format = i32;
    /// Alone or with others; ours are alone.
    AAudioStreamBuilder_setSharingMode: sharing_mode = i32;
    /// Out or in.
    AAudioStreamBuilder_setDirection: direction = i32;
    /// Frames that the buffer holds at least.
    AAudioStreamBuilder_setBufferCapacityInFrames: capacity = i32;
    /// Latency, power or neither.
    AAudioStreamBuilder_setPerformanceMode: performance_mode = i32;
    /// What the sound is for; kept and told.
    AAudioStreamBuilder_setUsage: usage = i32;
    /// What the sound is; kept and told.
    AAudioStreamBuilder_setContentType: content_type = i32;
    /// Whether to make it spatial; kept and told, never done.
    AAudioStreamBuilder_setSpatializationBehavior: spatialization = i32;
    /// Whether it is spatial already; kept and told.
    AAudioStreamBuilder_setIsContentSpatialized: is_spatialized = bool;
    /// How to record; kept and told.
    AAudioStreamBuilder_setInputPreset: input_preset = i32;
    /// Who may record it; kept and told.
    AAudioStreamBuilder_setAllowedCapturePolicy: capture_policy = i32;
    /// The session of effects; kept and told, there are none.
    AAudioStreamBuilder_setSessionId: session_id = i32;
    /// Frames of each call back.
    AAudioStreamBuilder_setFramesPerDataCallback: callback_frames = i32;
    /// Takt's own: whether the callback's thread gets a reservation that follows its work.
    takt_AAudioStreamBuilder_setReserved: is_reserved = bool;
}

/// Samples of a frame.
#[unsafe(no_mangle)]
pub extern "C" fn AAudioStreamBuilder_setChannelCount(
    builder: Option<&mut AAudioStreamBuilder>,
    count: i32,
) {
    if let Some(builder) = builder {
        (builder.channels, builder.channel_mask) = (count, 0);
    }
}

/// The same under its old name.
#[unsafe(no_mangle)]
pub extern "C" fn AAudioStreamBuilder_setSamplesPerFrame(
    builder: Option<&mut AAudioStreamBuilder>,
    count: i32,
) {
    AAudioStreamBuilder_setChannelCount(builder, count);
}

/// The places of a frame's samples; as many as bits are set.
#[unsafe(no_mangle)]
pub extern "C" fn AAudioStreamBuilder_setChannelMask(
    builder: Option<&mut AAudioStreamBuilder>,
    mask: u32,
) {
    if let Some(builder) = builder {
        (builder.channels, builder.channel_mask) = (mask.count_ones() as i32, mask);
    }
}

/// Whether others may record at the same time; kept and told.
#[unsafe(no_mangle)]
pub extern "C" fn AAudioStreamBuilder_setPrivacySensitive(
    builder: Option<&mut AAudioStreamBuilder>,
    is_private: bool,
) {
    if let Some(builder) = builder {
        builder.is_private = Some(is_private);
    }
}

/// The package that plays; nobody asks for it here.
#[unsafe(no_mangle)]
pub extern "C" fn AAudioStreamBuilder_setPackageName(
    _builder: Option<&mut AAudioStreamBuilder>,
    _name: *const c_char,
) {
}

/// The part of it that plays; nobody asks for it here.
#[unsafe(no_mangle)]
pub extern "C" fn AAudioStreamBuilder_setAttributionTag(
    _builder: Option<&mut AAudioStreamBuilder>,
    _tag: *const c_char,
) {
}

/// Who fills or takes frames.
#[unsafe(no_mangle)]
pub extern "C" fn AAudioStreamBuilder_setDataCallback(
    builder: Option<&mut AAudioStreamBuilder>,
    callback: Option<DataCallback>,
    data: *mut c_void,
) {
    if let Some(builder) = builder {
        builder.data = callback.map(|it| (it, UserData(data)));
    }
}

/// Who hears that the device is gone.
#[unsafe(no_mangle)]
pub extern "C" fn AAudioStreamBuilder_setErrorCallback(
    builder: Option<&mut AAudioStreamBuilder>,
    callback: Option<ErrorCallback>,
    data: *mut c_void,
) {
    if let Some(builder) = builder {
        builder.error = callback.map(|it| (it, UserData(data)));
    }
}

/// Who hears that an offloaded stream has played all. No stream is offloaded here, so it is never
/// called.
#[unsafe(no_mangle)]
pub extern "C" fn AAudioStreamBuilder_setPresentationEndCallback(
    _builder: Option<&mut AAudioStreamBuilder>,
    _callback: Option<PresentationEndCallback>,
    _data: *mut c_void,
) {
}
