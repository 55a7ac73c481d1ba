/* SPDX-License-Identifier: Apache-2.0 */
/* An organ on the command line: each word is what sounds for half a second, notes joined by '+'.
 *
 *     synth c4 e4 g4 c4+e4+g4
 *
 * The callback announces how many notes its next call computes, and its thread's reservation
 * follows. Ends with 1 if the hardware ran dry. */
#include <aaudio/AAudio.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { RATE = 48000, STEP = RATE / 2, NOTES_MAX = 16, STEPS_MAX = 256 };

struct step {
    int notes;
    double turns[NOTES_MAX]; /* of each note, a frame */
};

struct song {
    struct step steps[STEPS_MAX];
    int count;
    long frame;
    double phase[NOTES_MAX];
};

/* Reads "c#4"; returns what follows it, or NULL. The note's turns a frame go to *turns. */
static const char* read_note(const char* text, double* turns) {
    static const char names[] = "c d ef g a b";
    const char* name = *text ? strchr(names, *text) : NULL;
    if (!name || *name == ' ') return NULL;
    int key = (int)(name - names);
    if (*++text == '#') key++, text++;
    if (*text < '0' || '9' < *text) return NULL;
    key += 12 * (*text - '0');
    *turns = 440.0 / RATE * pow(2.0, (key - 57) / 12.0);
    return text + 1;
}

/* Reads "c4+e4"; returns whether it is that. */
static int read_step(const char* text, struct step* step) {
    for (step->notes = 0; step->notes < NOTES_MAX;) {
        text = read_note(text, &step->turns[step->notes++]);
        if (!text) return 0;
        if (!*text) return 1;
        if (*text++ != '+') return 0;
    }
    return 0;
}

/* The notes at a frame; none after the end. */
static const struct step* step_at(const struct song* song, long frame) {
    long at = frame / STEP;
    return at < song->count ? &song->steps[at] : NULL;
}

static aaudio_data_callback_result_t play(AAudioStream* stream, void* data, void* audio, int32_t frames) {
    struct song* song = data;
    float* sample = audio;
    for (int32_t at = 0; at < frames; at++, song->frame++) {
        const struct step* step = step_at(song, song->frame);
        double sum = 0;
        for (int note = 0; step && note < step->notes; note++) {
            sum += sin(2 * M_PI * song->phase[note]);
            song->phase[note] = fmod(song->phase[note] + step->turns[note], 1.0);
        }
        /* Soft at both ends of a step. */
        double edge = fmin(song->frame % STEP, STEP - 1 - song->frame % STEP) / 480.0;
        *sample++ = (float)(sum / NOTES_MAX * fmin(edge, 1.0));
    }
    const struct step* next = step_at(song, song->frame + frames - 1);
    takt_AAudioStream_setWorkUnits(stream, next ? next->notes : 0);
    return step_at(song, song->frame) ? AAUDIO_CALLBACK_RESULT_CONTINUE : AAUDIO_CALLBACK_RESULT_STOP;
}

static int fail(const char* what, aaudio_result_t result) {
    fprintf(stderr, "synth: %s: %s\n", what, AAudio_convertResultToText(result));
    return 2;
}

int main(int count, char** words) {
    static struct song song;
    for (int at = 1; at < count && song.count < STEPS_MAX; at++, song.count++) {
        if (!read_step(words[at], &song.steps[song.count])) {
            fprintf(stderr, "synth: '%s' is no note such as c#4, nor such joined by +\n", words[at]);
            return 2;
        }
    }
    if (song.count == 0) return fprintf(stderr, "synth NOTE[+NOTE]... \n"), 2;
    AAudioStreamBuilder* builder;
    AAudioStream* stream;
    aaudio_result_t result = AAudio_createStreamBuilder(&builder);
    if (result != AAUDIO_OK) return fail("no builder", result);
    AAudioStreamBuilder_setPerformanceMode(builder, AAUDIO_PERFORMANCE_MODE_LOW_LATENCY);
    AAudioStreamBuilder_setFormat(builder, AAUDIO_FORMAT_PCM_FLOAT);
    AAudioStreamBuilder_setChannelCount(builder, 1);
    AAudioStreamBuilder_setSampleRate(builder, RATE);
    AAudioStreamBuilder_setDataCallback(builder, play, &song);
    takt_AAudioStreamBuilder_setReserved(builder, true);
    result = AAudioStreamBuilder_openStream(builder, &stream);
    AAudioStreamBuilder_delete(builder);
    if (result != AAUDIO_OK) return fail("no stream", result);
    takt_AAudioStream_setWorkUnits(stream, song.steps[0].notes);
    result = AAudioStream_requestStart(stream);
    if (result != AAUDIO_OK) return fail("does not start", result);
    aaudio_stream_state_t state = AAUDIO_STREAM_STATE_STARTING;
    char policy[256] = "";
    while (state != AAUDIO_STREAM_STATE_STOPPED && result == AAUDIO_OK) {
        takt_AAudioStream_getPolicy(stream, policy, sizeof policy);
        aaudio_stream_state_t seen = state;
        result = AAudioStream_waitForStateChange(stream, seen, &state, 200LL * 1000000000);
    }
    if (result != AAUDIO_OK) return fail("does not end", result);
    takt_AAudioStream_getPolicy(stream, policy, sizeof policy);
    int32_t dry = AAudioStream_getXRunCount(stream);
    printf("policy %s\nunderruns %d, calls beyond their reservation %lld\n", policy, dry,
           (long long)takt_AAudioStream_getOverruns(stream));
    AAudioStream_close(stream);
    return dry > 0;
}
