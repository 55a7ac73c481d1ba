/* SPDX-License-Identifier: Apache-2.0 */
/* The organ of Organ.java in C, on AAudio: chords that a callback computes. It announces how many
 * keys its next call computes, and its thread's reservation follows. */
#include <aaudio/AAudio.h>
#include <jni.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { RATE = 48000, KEYS = 60, A4 = 33 };

/* Eight keys at once reach full scale, as in Organ.java. A swell lasts 5 ms. */
static const double LEVEL = 1 / 8.0;
static const double STEP = 1.0 / (RATE / 200);

struct tune {
    const jlong* chords; /* a bit for each key that is held */
    long count;
    long frames_of_chord;
    long frame;
    double phases[KEYS];
    double levels[KEYS];
};

/* The keys at a frame; none after the end. */
static jlong keys_at(const struct tune* tune, long frame) {
    long at = frame / tune->frames_of_chord;
    return at < tune->count ? tune->chords[at] : 0;
}

static double next(struct tune* tune, int key, bool is_held) {
    double level = tune->levels[key] + (is_held ? STEP : -STEP);
    tune->levels[key] = fmin(fmax(level, 0), 1);
    tune->phases[key] = fmod(tune->phases[key] + 440.0 / RATE * exp2((key - A4) / 12.0), 1);
    return tune->levels[key] * sin(2 * M_PI * tune->phases[key]);
}

static int sounding(const struct tune* tune, jlong keys) {
    int count = 0;
    for (int key = 0; key < KEYS; key++) count += (keys >> key & 1) || tune->levels[key] > 0;
    return count;
}

/* The stream's own thread. It announces the chord that its next call begins with as its work. */
static aaudio_data_callback_result_t play(AAudioStream* stream, void* data, void* audio, int32_t frames) {
    struct tune* tune = data;
    float* samples = audio;
    for (int32_t at = 0; at < frames; at++, tune->frame++) {
        jlong keys = keys_at(tune, tune->frame);
        double sum = 0;
        for (int key = 0; key < KEYS; key++) {
            bool is_held = keys >> key & 1;
            if (is_held || tune->levels[key] > 0) sum += next(tune, key, is_held);
        }
        samples[at] = (float)fmin(fmax(sum * LEVEL, -1), 1);
    }
    takt_AAudioStream_setWorkUnits(stream, sounding(tune, keys_at(tune, tune->frame)));
    bool is_over = tune->frame >= tune->count * tune->frames_of_chord;
    return is_over ? AAUDIO_CALLBACK_RESULT_STOP : AAUDIO_CALLBACK_RESULT_CONTINUE;
}

static aaudio_result_t open_stream(struct tune* tune, AAudioStream** stream) {
    AAudioStreamBuilder* builder;
    aaudio_result_t result = AAudio_createStreamBuilder(&builder);
    if (result != AAUDIO_OK) return result;
    AAudioStreamBuilder_setPerformanceMode(builder, AAUDIO_PERFORMANCE_MODE_LOW_LATENCY);
    AAudioStreamBuilder_setFormat(builder, AAUDIO_FORMAT_PCM_FLOAT);
    AAudioStreamBuilder_setChannelCount(builder, 1);
    AAudioStreamBuilder_setSampleRate(builder, RATE);
    AAudioStreamBuilder_setDataCallback(builder, play, tune);
    takt_AAudioStreamBuilder_setReserved(builder, true);
    result = AAudioStreamBuilder_openStream(builder, stream);
    AAudioStreamBuilder_delete(builder);
    return result;
}

/* Waits until the stream stands again. */
static aaudio_result_t run(AAudioStream* stream) {
    aaudio_result_t result = AAudioStream_requestStart(stream);
    aaudio_stream_state_t state = AAUDIO_STREAM_STATE_STARTING;
    while (result == AAUDIO_OK && state != AAUDIO_STREAM_STATE_STOPPED) {
        aaudio_stream_state_t seen = state;
        result = AAudioStream_waitForStateChange(stream, seen, &state, 1000000000LL);
        if (result == AAUDIO_ERROR_TIMEOUT) result = AAUDIO_OK;
        if (state == AAUDIO_STREAM_STATE_DISCONNECTED) result = AAUDIO_ERROR_DISCONNECTED;
    }
    return result;
}

/* NativeTune.play: chords in order, each for so many frames. Returns what became of it. */
JNIEXPORT jstring JNICALL Java_org_example_synth_NativeTune_play(JNIEnv* env, jclass class, jlongArray chords,
                                                                 jint frames_of_chord) {
    (void)class;
    char text[160];
    struct tune* tune = calloc(1, sizeof *tune);
    jlong* keys = tune ? (*env)->GetLongArrayElements(env, chords, NULL) : NULL;
    if (!keys) {
        free(tune);
        return NULL;
    }
    tune->chords = keys;
    tune->count = (*env)->GetArrayLength(env, chords);
    tune->frames_of_chord = frames_of_chord;
    AAudioStream* stream = NULL;
    aaudio_result_t result = open_stream(tune, &stream);
    if (result == AAUDIO_OK) {
        takt_AAudioStream_setWorkUnits(stream, sounding(tune, keys_at(tune, 0)));
        result = run(stream);
    }
    if (result == AAUDIO_OK) {
        snprintf(text, sizeof text, "played %ld frames, underruns %d", tune->frame,
                 AAudioStream_getXRunCount(stream));
    } else {
        snprintf(text, sizeof text, "plays nothing: %s", AAudio_convertResultToText(result));
    }
    if (stream) AAudioStream_close(stream);
    (*env)->ReleaseLongArrayElements(env, chords, keys, JNI_ABORT);
    free(tune);
    return (*env)->NewStringUTF(env, text);
}
