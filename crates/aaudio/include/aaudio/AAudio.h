/* SPDX-License-Identifier: Apache-2.0 */
/* Android's C interface to sound as Takt offers it: names and numbers are Android's, so a program
 * that includes <aaudio/AAudio.h> builds against this one. docs/use/sound.md says what works. */
#ifndef AAUDIO_AAUDIO_H
#define AAUDIO_AAUDIO_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

#define AAUDIO_UNSPECIFIED 0

enum {
    AAUDIO_DIRECTION_OUTPUT = 0,
    AAUDIO_DIRECTION_INPUT = 1,
};
typedef int32_t aaudio_direction_t;

enum {
    AAUDIO_FORMAT_INVALID = -1,
    AAUDIO_FORMAT_UNSPECIFIED = 0,
    AAUDIO_FORMAT_PCM_I16 = 1,
    AAUDIO_FORMAT_PCM_FLOAT = 2,
    AAUDIO_FORMAT_PCM_I24_PACKED = 3,
    AAUDIO_FORMAT_PCM_I32 = 4,
    AAUDIO_FORMAT_IEC61937 = 5,
    AAUDIO_FORMAT_MP3 = 6,
    AAUDIO_FORMAT_AAC_LC = 7,
    AAUDIO_FORMAT_AAC_HE_V1 = 8,
    AAUDIO_FORMAT_AAC_HE_V2 = 9,
    AAUDIO_FORMAT_AAC_ELD = 10,
    AAUDIO_FORMAT_AAC_XHE = 11,
    AAUDIO_FORMAT_OPUS = 12,
};
typedef int32_t aaudio_format_t;

enum {
    AAUDIO_OK = 0,
    AAUDIO_ERROR_BASE = -900,
    AAUDIO_ERROR_DISCONNECTED = -899,
    AAUDIO_ERROR_ILLEGAL_ARGUMENT = -898,
    AAUDIO_ERROR_INTERNAL = -896,
    AAUDIO_ERROR_INVALID_STATE = -895,
    AAUDIO_ERROR_INVALID_HANDLE = -892,
    AAUDIO_ERROR_UNIMPLEMENTED = -890,
    AAUDIO_ERROR_UNAVAILABLE = -889,
    AAUDIO_ERROR_NO_FREE_HANDLES = -888,
    AAUDIO_ERROR_NO_MEMORY = -887,
    AAUDIO_ERROR_NULL = -886,
    AAUDIO_ERROR_TIMEOUT = -885,
    AAUDIO_ERROR_WOULD_BLOCK = -884,
    AAUDIO_ERROR_INVALID_FORMAT = -883,
    AAUDIO_ERROR_OUT_OF_RANGE = -882,
    AAUDIO_ERROR_NO_SERVICE = -881,
    AAUDIO_ERROR_INVALID_RATE = -880,
};
typedef int32_t aaudio_result_t;

enum {
    AAUDIO_STREAM_STATE_UNINITIALIZED = 0,
    AAUDIO_STREAM_STATE_UNKNOWN = 1,
    AAUDIO_STREAM_STATE_OPEN = 2,
    AAUDIO_STREAM_STATE_STARTING = 3,
    AAUDIO_STREAM_STATE_STARTED = 4,
    AAUDIO_STREAM_STATE_PAUSING = 5,
    AAUDIO_STREAM_STATE_PAUSED = 6,
    AAUDIO_STREAM_STATE_FLUSHING = 7,
    AAUDIO_STREAM_STATE_FLUSHED = 8,
    AAUDIO_STREAM_STATE_STOPPING = 9,
    AAUDIO_STREAM_STATE_STOPPED = 10,
    AAUDIO_STREAM_STATE_CLOSING = 11,
    AAUDIO_STREAM_STATE_CLOSED = 12,
    AAUDIO_STREAM_STATE_DISCONNECTED = 13,
};
typedef int32_t aaudio_stream_state_t;

enum {
    AAUDIO_SHARING_MODE_EXCLUSIVE = 0,
    AAUDIO_SHARING_MODE_SHARED = 1,
};
typedef int32_t aaudio_sharing_mode_t;

enum {
    AAUDIO_PERFORMANCE_MODE_NONE = 10,
    AAUDIO_PERFORMANCE_MODE_POWER_SAVING = 11,
    AAUDIO_PERFORMANCE_MODE_LOW_LATENCY = 12,
    AAUDIO_PERFORMANCE_MODE_POWER_SAVING_OFFLOADED = 13,
};
typedef int32_t aaudio_performance_mode_t;

enum {
    AAUDIO_USAGE_MEDIA = 1,
    AAUDIO_USAGE_VOICE_COMMUNICATION = 2,
    AAUDIO_USAGE_VOICE_COMMUNICATION_SIGNALLING = 3,
    AAUDIO_USAGE_ALARM = 4,
    AAUDIO_USAGE_NOTIFICATION = 5,
    AAUDIO_USAGE_NOTIFICATION_RINGTONE = 6,
    AAUDIO_USAGE_NOTIFICATION_EVENT = 10,
    AAUDIO_USAGE_ASSISTANCE_ACCESSIBILITY = 11,
    AAUDIO_USAGE_ASSISTANCE_NAVIGATION_GUIDANCE = 12,
    AAUDIO_USAGE_ASSISTANCE_SONIFICATION = 13,
    AAUDIO_USAGE_GAME = 14,
    AAUDIO_USAGE_ASSISTANT = 16,
};
typedef int32_t aaudio_usage_t;

enum {
    AAUDIO_CONTENT_TYPE_SPEECH = 1,
    AAUDIO_CONTENT_TYPE_MUSIC = 2,
    AAUDIO_CONTENT_TYPE_MOVIE = 3,
    AAUDIO_CONTENT_TYPE_SONIFICATION = 4,
};
typedef int32_t aaudio_content_type_t;

enum {
    AAUDIO_SPATIALIZATION_BEHAVIOR_AUTO = 1,
    AAUDIO_SPATIALIZATION_BEHAVIOR_NEVER = 2,
};
typedef int32_t aaudio_spatialization_behavior_t;

enum {
    AAUDIO_INPUT_PRESET_GENERIC = 1,
    AAUDIO_INPUT_PRESET_CAMCORDER = 5,
    AAUDIO_INPUT_PRESET_VOICE_RECOGNITION = 6,
    AAUDIO_INPUT_PRESET_VOICE_COMMUNICATION = 7,
    AAUDIO_INPUT_PRESET_UNPROCESSED = 9,
    AAUDIO_INPUT_PRESET_VOICE_PERFORMANCE = 10,
};
typedef int32_t aaudio_input_preset_t;

enum {
    AAUDIO_ALLOW_CAPTURE_BY_ALL = 1,
    AAUDIO_ALLOW_CAPTURE_BY_SYSTEM = 2,
    AAUDIO_ALLOW_CAPTURE_BY_NONE = 3,
};
typedef int32_t aaudio_allowed_capture_policy_t;

enum {
    AAUDIO_SESSION_ID_NONE = -1,
    AAUDIO_SESSION_ID_ALLOCATE = 0,
};
typedef int32_t aaudio_session_id_t;

enum {
    AAUDIO_CALLBACK_RESULT_CONTINUE = 0,
    AAUDIO_CALLBACK_RESULT_STOP = 1,
};
typedef int32_t aaudio_data_callback_result_t;

enum {
    AAUDIO_POLICY_NEVER = 1,
    AAUDIO_POLICY_AUTO = 2,
    AAUDIO_POLICY_ALWAYS = 3,
};
typedef int32_t aaudio_policy_t;

/* Bits of places: mono and stereo have names here, others are given as numbers. */
enum {
    AAUDIO_CHANNEL_FRONT_LEFT = 1 << 0,
    AAUDIO_CHANNEL_FRONT_RIGHT = 1 << 1,
    AAUDIO_CHANNEL_MONO = 1,
    AAUDIO_CHANNEL_STEREO = 3,
};
typedef uint32_t aaudio_channel_mask_t;
typedef int32_t AAudio_DeviceType;

typedef struct AAudioStreamStruct AAudioStream;
typedef struct AAudioStreamBuilderStruct AAudioStreamBuilder;

typedef aaudio_data_callback_result_t (*AAudioStream_dataCallback)(
        AAudioStream* stream, void* userData, void* audioData, int32_t numFrames);
typedef void (*AAudioStream_errorCallback)(
        AAudioStream* stream, void* userData, aaudio_result_t error);
typedef void (*AAudioStream_presentationEndCallback)(AAudioStream* stream, void* userData);

const char* AAudio_convertResultToText(aaudio_result_t result);
const char* AAudio_convertStreamStateToText(aaudio_stream_state_t state);
aaudio_policy_t AAudio_getMMapPolicy(void);
aaudio_result_t AAudio_setMMapPolicy(aaudio_policy_t policy);
aaudio_policy_t AAudio_getPlatformMMapPolicy(AAudio_DeviceType device, aaudio_direction_t way);
aaudio_policy_t AAudio_getPlatformMMapExclusivePolicy(
        AAudio_DeviceType device, aaudio_direction_t way);

aaudio_result_t AAudio_createStreamBuilder(AAudioStreamBuilder** builder);
aaudio_result_t AAudioStreamBuilder_openStream(AAudioStreamBuilder* builder, AAudioStream** stream);
aaudio_result_t AAudioStreamBuilder_delete(AAudioStreamBuilder* builder);
void AAudioStreamBuilder_setDataCallback(
        AAudioStreamBuilder* builder, AAudioStream_dataCallback callback, void* userData);
void AAudioStreamBuilder_setErrorCallback(
        AAudioStreamBuilder* builder, AAudioStream_errorCallback callback, void* userData);
void AAudioStreamBuilder_setPresentationEndCallback(
        AAudioStreamBuilder* builder, AAudioStream_presentationEndCallback callback,
        void* userData);
void AAudioStreamBuilder_setDeviceId(AAudioStreamBuilder* builder, int32_t value);
void AAudioStreamBuilder_setSampleRate(AAudioStreamBuilder* builder, int32_t value);
void AAudioStreamBuilder_setChannelCount(AAudioStreamBuilder* builder, int32_t value);
void AAudioStreamBuilder_setSamplesPerFrame(AAudioStreamBuilder* builder, int32_t value);
void AAudioStreamBuilder_setChannelMask(AAudioStreamBuilder* builder, aaudio_channel_mask_t value);
void AAudioStreamBuilder_setFormat(AAudioStreamBuilder* builder, aaudio_format_t value);
void AAudioStreamBuilder_setSharingMode(AAudioStreamBuilder* builder, aaudio_sharing_mode_t value);
void AAudioStreamBuilder_setDirection(AAudioStreamBuilder* builder, aaudio_direction_t value);
void AAudioStreamBuilder_setBufferCapacityInFrames(AAudioStreamBuilder* builder, int32_t value);
void AAudioStreamBuilder_setPerformanceMode(
        AAudioStreamBuilder* builder, aaudio_performance_mode_t value);
void AAudioStreamBuilder_setUsage(AAudioStreamBuilder* builder, aaudio_usage_t value);
void AAudioStreamBuilder_setContentType(AAudioStreamBuilder* builder, aaudio_content_type_t value);
void AAudioStreamBuilder_setSpatializationBehavior(
        AAudioStreamBuilder* builder, aaudio_spatialization_behavior_t value);
void AAudioStreamBuilder_setIsContentSpatialized(AAudioStreamBuilder* builder, bool value);
void AAudioStreamBuilder_setInputPreset(AAudioStreamBuilder* builder, aaudio_input_preset_t value);
void AAudioStreamBuilder_setAllowedCapturePolicy(
        AAudioStreamBuilder* builder, aaudio_allowed_capture_policy_t value);
void AAudioStreamBuilder_setSessionId(AAudioStreamBuilder* builder, aaudio_session_id_t value);
void AAudioStreamBuilder_setPrivacySensitive(AAudioStreamBuilder* builder, bool value);
void AAudioStreamBuilder_setFramesPerDataCallback(AAudioStreamBuilder* builder, int32_t value);
void AAudioStreamBuilder_setPackageName(AAudioStreamBuilder* builder, const char* value);
void AAudioStreamBuilder_setAttributionTag(AAudioStreamBuilder* builder, const char* value);

aaudio_result_t AAudioStream_release(AAudioStream* stream);
aaudio_result_t AAudioStream_close(AAudioStream* stream);
aaudio_result_t AAudioStream_requestStart(AAudioStream* stream);
aaudio_result_t AAudioStream_requestPause(AAudioStream* stream);
aaudio_result_t AAudioStream_requestFlush(AAudioStream* stream);
aaudio_result_t AAudioStream_requestStop(AAudioStream* stream);
aaudio_result_t AAudioStream_setOffloadEndOfStream(AAudioStream* stream);
aaudio_result_t AAudioStream_waitForStateChange(
        AAudioStream* stream, aaudio_stream_state_t inputState, aaudio_stream_state_t* nextState,
        int64_t timeoutNanoseconds);
aaudio_result_t AAudioStream_read(
        AAudioStream* stream, void* buffer, int32_t numFrames, int64_t timeoutNanoseconds);
aaudio_result_t AAudioStream_write(
        AAudioStream* stream, const void* buffer, int32_t numFrames, int64_t timeoutNanoseconds);
aaudio_result_t AAudioStream_setBufferSizeInFrames(AAudioStream* stream, int32_t numFrames);
aaudio_result_t AAudioStream_getDeviceIds(AAudioStream* stream, int32_t* ids, int32_t* numIds);
aaudio_result_t AAudioStream_getTimestamp(
        AAudioStream* stream, clockid_t clock, int64_t* framePosition, int64_t* timeNanoseconds);
aaudio_result_t AAudioStream_setOffloadDelayPadding(
        AAudioStream* stream, int32_t delayInFrames, int32_t paddingInFrames);

aaudio_stream_state_t AAudioStream_getState(AAudioStream* stream);
int32_t AAudioStream_getBufferSizeInFrames(AAudioStream* stream);
int32_t AAudioStream_getFramesPerDataCallback(AAudioStream* stream);
int32_t AAudioStream_getFramesPerBurst(AAudioStream* stream);
int32_t AAudioStream_getBufferCapacityInFrames(AAudioStream* stream);
int32_t AAudioStream_getXRunCount(AAudioStream* stream);
int32_t AAudioStream_getSampleRate(AAudioStream* stream);
int32_t AAudioStream_getHardwareSampleRate(AAudioStream* stream);
int32_t AAudioStream_getChannelCount(AAudioStream* stream);
int32_t AAudioStream_getSamplesPerFrame(AAudioStream* stream);
int32_t AAudioStream_getHardwareChannelCount(AAudioStream* stream);
aaudio_channel_mask_t AAudioStream_getChannelMask(AAudioStream* stream);
aaudio_format_t AAudioStream_getFormat(AAudioStream* stream);
aaudio_format_t AAudioStream_getHardwareFormat(AAudioStream* stream);
aaudio_performance_mode_t AAudioStream_getPerformanceMode(AAudioStream* stream);
aaudio_sharing_mode_t AAudioStream_getSharingMode(AAudioStream* stream);
int32_t AAudioStream_getDeviceId(AAudioStream* stream);
aaudio_direction_t AAudioStream_getDirection(AAudioStream* stream);
aaudio_usage_t AAudioStream_getUsage(AAudioStream* stream);
aaudio_content_type_t AAudioStream_getContentType(AAudioStream* stream);
aaudio_spatialization_behavior_t AAudioStream_getSpatializationBehavior(AAudioStream* stream);
aaudio_input_preset_t AAudioStream_getInputPreset(AAudioStream* stream);
aaudio_allowed_capture_policy_t AAudioStream_getAllowedCapturePolicy(AAudioStream* stream);
aaudio_session_id_t AAudioStream_getSessionId(AAudioStream* stream);
int64_t AAudioStream_getFramesWritten(AAudioStream* stream);
int64_t AAudioStream_getFramesRead(AAudioStream* stream);
int32_t AAudioStream_getOffloadDelay(AAudioStream* stream);
int32_t AAudioStream_getOffloadPadding(AAudioStream* stream);
bool AAudioStream_isMMapUsed(AAudioStream* stream);
bool AAudioStream_isPrivacySensitive(AAudioStream* stream);
bool AAudioStream_isContentSpatialized(AAudioStream* stream);

/* Takt's own: the policy that the callback's thread runs under, and why it is not the one asked
 * for; at most size bytes with the zero. Returns the text's whole length. */
int32_t takt_AAudioStream_getPolicy(AAudioStream* stream, char* text, int32_t size);

/* Takt's own: a reservation of processor time (SCHED_DEADLINE) for the callback's thread, which
 * follows its work; and how much of it the next call will have, such as notes that sound. */
void takt_AAudioStreamBuilder_setReserved(AAudioStreamBuilder* builder, bool isReserved);
aaudio_result_t takt_AAudioStream_setWorkUnits(AAudioStream* stream, int32_t units);

/* Takt's own: calls back that wanted more than was reserved for them. */
int64_t takt_AAudioStream_getOverruns(AAudioStream* stream);

#ifdef __cplusplus
}
#endif

#endif
