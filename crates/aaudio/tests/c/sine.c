/* SPDX-License-Identifier: Apache-2.0 */
/* A client as an application writes one: plays 100 bursts of a sine by callback, and looks at
 * states, codes, counts and times on the way. Ends with 0, or says which line did not hold. */
#include <aaudio/AAudio.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(claim)                                                 \
    do {                                                             \
        if (!(claim)) {                                              \
            fprintf(stderr, "line %d: %s\n", __LINE__, #claim);      \
            exit(1);                                                 \
        }                                                            \
    } while (0)

enum { BURSTS = 100, RATE = 48000, CHANNELS = 2 };
static const int64_t LONG_NS = 20000000000;

struct player {
    int64_t frame;
    int bursts;
    _Atomic int restart_in_callback;
};

/* Called by the stream's thread alone. */
static aaudio_data_callback_result_t play(
        AAudioStream* stream, void* user, void* audio, int32_t frames) {
    struct player* player = user;
    float* out = audio;
    if (player->bursts == 0) {
        player->restart_in_callback = AAudioStream_requestStop(stream);
        CHECK(AAudioStream_close(stream) == AAUDIO_ERROR_INVALID_STATE);
    }
    for (int32_t i = 0; i < frames; i++, player->frame++) {
        float value = (float)(0.5 * sin(2 * M_PI * 440 * (double)player->frame / RATE));
        out[CHANNELS * i] = value;
        out[CHANNELS * i + 1] = -value;
    }
    player->bursts++;
    CHECK(takt_AAudioStream_setWorkUnits(stream, player->bursts % 2) == AAUDIO_OK);
    return player->bursts == BURSTS ? AAUDIO_CALLBACK_RESULT_STOP : AAUDIO_CALLBACK_RESULT_CONTINUE;
}

static AAudioStreamBuilder* builder_of(struct player* player) {
    AAudioStreamBuilder* builder = NULL;
    CHECK(AAudio_createStreamBuilder(&builder) == AAUDIO_OK);
    AAudioStreamBuilder_setSampleRate(builder, RATE);
    AAudioStreamBuilder_setChannelCount(builder, CHANNELS);
    AAudioStreamBuilder_setFormat(builder, AAUDIO_FORMAT_PCM_FLOAT);
    AAudioStreamBuilder_setPerformanceMode(builder, AAUDIO_PERFORMANCE_MODE_LOW_LATENCY);
    takt_AAudioStreamBuilder_setReserved(builder, true);
    AAudioStreamBuilder_setDataCallback(builder, play, player);
    return builder;
}

/* What is wrong is refused with Android's codes. */
static void refuse(AAudioStreamBuilder* builder) {
    AAudioStream* stream = NULL;
    CHECK(AAudio_createStreamBuilder(NULL) == AAUDIO_ERROR_NULL);
    CHECK(AAudioStreamBuilder_openStream(builder, NULL) == AAUDIO_ERROR_NULL);
    CHECK(AAudioStream_close(NULL) == AAUDIO_ERROR_NULL);
    AAudioStreamBuilder_setFormat(builder, AAUDIO_FORMAT_MP3);
    CHECK(AAudioStreamBuilder_openStream(builder, &stream) == AAUDIO_ERROR_INVALID_FORMAT);
    AAudioStreamBuilder_setFormat(builder, AAUDIO_FORMAT_PCM_FLOAT);
    AAudioStreamBuilder_setSampleRate(builder, 1);
    CHECK(AAudioStreamBuilder_openStream(builder, &stream) == AAUDIO_ERROR_INVALID_RATE);
    AAudioStreamBuilder_setSampleRate(builder, RATE);
    AAudioStreamBuilder_setChannelCount(builder, -1);
    CHECK(AAudioStreamBuilder_openStream(builder, &stream) == AAUDIO_ERROR_OUT_OF_RANGE);
    AAudioStreamBuilder_setChannelCount(builder, CHANNELS);
    AAudioStreamBuilder_setDirection(builder, 7);
    CHECK(AAudioStreamBuilder_openStream(builder, &stream) == AAUDIO_ERROR_ILLEGAL_ARGUMENT);
    AAudioStreamBuilder_setDirection(builder, AAUDIO_DIRECTION_OUTPUT);
    CHECK(stream == NULL);
    CHECK(AAudio_setMMapPolicy(AAUDIO_POLICY_ALWAYS) == AAUDIO_OK);
    CHECK(AAudioStreamBuilder_openStream(builder, &stream) == AAUDIO_ERROR_UNAVAILABLE);
    CHECK(AAudio_setMMapPolicy(9) == AAUDIO_ERROR_ILLEGAL_ARGUMENT);
    CHECK(AAudio_getMMapPolicy() == AAUDIO_POLICY_ALWAYS);
    CHECK(AAudio_setMMapPolicy(AAUDIO_POLICY_AUTO) == AAUDIO_OK);
    CHECK(!strcmp(AAudio_convertResultToText(-880), "AAUDIO_ERROR_INVALID_RATE"));
    CHECK(!strcmp(AAudio_convertStreamStateToText(13), "AAUDIO_STREAM_STATE_DISCONNECTED"));
    CHECK(!strcmp(AAudio_convertResultToText(-1), AAudio_convertStreamStateToText(14)));
}

/* What was asked for was given. */
static void look(AAudioStream* stream) {
    CHECK(AAudioStream_getState(stream) == AAUDIO_STREAM_STATE_OPEN);
    CHECK(AAudioStream_getSampleRate(stream) == RATE);
    CHECK(AAudioStream_getHardwareSampleRate(stream) == RATE);
    CHECK(AAudioStream_getChannelCount(stream) == CHANNELS);
    CHECK(AAudioStream_getFormat(stream) == AAUDIO_FORMAT_PCM_FLOAT);
    CHECK(AAudioStream_getDirection(stream) == AAUDIO_DIRECTION_OUTPUT);
    CHECK(AAudioStream_getSharingMode(stream) == AAUDIO_SHARING_MODE_EXCLUSIVE);
    CHECK(AAudioStream_getFramesPerBurst(stream) == 64);
    CHECK(AAudioStream_getFramesPerDataCallback(stream) == AAUDIO_UNSPECIFIED);
    CHECK(AAudioStream_getBufferSizeInFrames(stream) == 128);
    CHECK(AAudioStream_getBufferCapacityInFrames(stream) == 512);
    CHECK(AAudioStream_setBufferSizeInFrames(stream, 1 << 20) == 512);
    CHECK(AAudioStream_setBufferSizeInFrames(stream, 256) == 256);
    CHECK(!AAudioStream_isMMapUsed(stream));
    CHECK(AAudioStream_getOffloadDelay(stream) == AAUDIO_ERROR_UNIMPLEMENTED);
    int32_t id = 0, count = 0;
    CHECK(AAudioStream_getDeviceIds(stream, &id, &count) == AAUDIO_ERROR_OUT_OF_RANGE);
    CHECK(count == 1 && AAudioStream_getDeviceIds(stream, &id, &count) == AAUDIO_OK);
    CHECK(id == AAudioStream_getDeviceId(stream));
    int64_t position = 0, time = 0;
    CHECK(AAudioStream_getTimestamp(stream, CLOCK_MONOTONIC, &position, &time) ==
          AAUDIO_ERROR_INVALID_STATE);
    CHECK(AAudioStream_getTimestamp(stream, CLOCK_REALTIME, &position, &time) ==
          AAUDIO_ERROR_ILLEGAL_ARGUMENT);
    float frame[CHANNELS] = {0};
    CHECK(AAudioStream_write(stream, frame, 1, 0) == AAUDIO_ERROR_INVALID_STATE);
    CHECK(AAudioStream_read(stream, frame, 1, 0) == AAUDIO_ERROR_INVALID_STATE);
}

/* Waits for `goal`; on the way only states up to it, in their order. */
static void reach(AAudioStream* stream, aaudio_stream_state_t goal) {
    aaudio_stream_state_t seen = AAudioStream_getState(stream);
    int64_t last = -1;
    while (seen != goal) {
        int64_t position, time;
        CHECK(seen <= goal);
        if (AAudioStream_getTimestamp(stream, CLOCK_BOOTTIME, &position, &time) == AAUDIO_OK) {
            CHECK(last <= position);
            last = position;
        }
        CHECK(AAudioStream_waitForStateChange(stream, seen, &seen, LONG_NS) == AAUDIO_OK);
    }
}

int main(void) {
    struct player player = {.restart_in_callback = 1};
    AAudioStreamBuilder* builder = builder_of(&player);
    refuse(builder);
    AAudioStream* stream = NULL;
    CHECK(AAudioStreamBuilder_openStream(builder, &stream) == AAUDIO_OK);
    CHECK(AAudioStreamBuilder_delete(builder) == AAUDIO_OK);
    look(stream);
    CHECK(takt_AAudioStream_setWorkUnits(stream, -1) == AAUDIO_ERROR_ILLEGAL_ARGUMENT);
    CHECK(AAudioStream_requestStart(stream) == AAUDIO_OK);
    CHECK(AAudioStream_getState(stream) >= AAUDIO_STREAM_STATE_STARTING);
    reach(stream, AAUDIO_STREAM_STATE_STOPPED);
    CHECK(player.bursts == BURSTS);
    CHECK(player.restart_in_callback == AAUDIO_ERROR_INVALID_STATE);
    CHECK(AAudioStream_getFramesWritten(stream) == player.frame);
    CHECK(AAudioStream_getFramesRead(stream) == player.frame);
    aaudio_stream_state_t next = 0;
    CHECK(AAudioStream_waitForStateChange(stream, AAUDIO_STREAM_STATE_STOPPED, &next, 1000) ==
          AAUDIO_ERROR_TIMEOUT);
    CHECK(next == AAUDIO_STREAM_STATE_STOPPED);
    CHECK(AAudioStream_requestPause(stream) == AAUDIO_OK);
    CHECK(AAudioStream_getState(stream) == AAUDIO_STREAM_STATE_PAUSED);
    CHECK(AAudioStream_requestFlush(stream) == AAUDIO_OK);
    CHECK(AAudioStream_getState(stream) == AAUDIO_STREAM_STATE_FLUSHED);
    char policy[200];
    CHECK(takt_AAudioStream_getPolicy(stream, policy, sizeof policy) > 0);
    printf("xruns %d\npolicy %s\n", AAudioStream_getXRunCount(stream), policy);
    CHECK(AAudioStream_release(stream) == AAUDIO_OK);
    CHECK(AAudioStream_getState(stream) == AAUDIO_STREAM_STATE_CLOSING);
    CHECK(AAudioStream_requestStart(stream) == AAUDIO_ERROR_INVALID_STATE);
    CHECK(AAudioStream_close(stream) == AAUDIO_OK);
    return 0;
}
