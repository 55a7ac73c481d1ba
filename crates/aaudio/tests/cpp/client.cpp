// SPDX-License-Identifier: Apache-2.0
// Plays 0, 1, 2 … by Oboe's stream code, 6,400 frames: `calls` back, or `writes`. Says what it got;
// ends with 0 if all of it was as asked for.
#include <oboe/Oboe.h>

#include <atomic>
#include <cstdio>
#include <vector>

static int fault(const char* what) {
    fprintf(stderr, "client: %s\n", what);
    return 1;
}

struct Counting : oboe::AudioStreamDataCallback {
    int16_t next = 0;
    std::atomic<int> calls{0};
    oboe::DataCallbackResult onAudioReady(oboe::AudioStream*, void* data, int32_t frames) override {
        auto* samples = static_cast<int16_t*>(data);
        for (int32_t at = 0; at < 2 * frames; at++) samples[at] = next++;
        return ++calls < 100 ? oboe::DataCallbackResult::Continue : oboe::DataCallbackResult::Stop;
    }
};

static oboe::AudioStreamBuilder builder() {
    oboe::AudioStreamBuilder it;
    it.setAudioApi(oboe::AudioApi::AAudio);
    it.setPerformanceMode(oboe::PerformanceMode::LowLatency);
    it.setSharingMode(oboe::SharingMode::Exclusive);
    it.setFormat(oboe::AudioFormat::I16);
    it.setChannelCount(2);
    it.setSampleRate(48000);
    return it;
}

static int calls() {
    Counting counting;
    auto asked = builder();
    asked.setDataCallback(&counting);
    std::shared_ptr<oboe::AudioStream> stream;
    if (asked.openStream(stream) != oboe::Result::OK) return fault("does not open");
    if (stream->getAudioApi() != oboe::AudioApi::AAudio) return fault("another interface");
    printf("burst %d, rate %d\n", stream->getFramesPerBurst(), stream->getSampleRate());
    if (stream->requestStart() != oboe::Result::OK) return fault("does not start");
    auto state = oboe::StreamState::Starting;
    while (state != oboe::StreamState::Stopped) {
        auto seen = state;
        if (stream->waitForStateChange(seen, &state, 20LL * 1000000000) != oboe::Result::OK)
            return fault("does not stop");
    }
    printf("calls %d\n", counting.calls.load());
    return stream->close() == oboe::Result::OK ? 0 : fault("does not close");
}

static int writes() {
    auto plain = builder();
    std::shared_ptr<oboe::AudioStream> stream;
    if (plain.openStream(stream) != oboe::Result::OK) return fault("does not open");
    if (stream->requestStart() != oboe::Result::OK) return fault("does not start");
    std::vector<int16_t> samples(2 * 6400);
    for (size_t at = 0; at < samples.size(); at++) samples[at] = (int16_t)at;
    auto written = stream->write(samples.data(), 6400, 20LL * 1000000000);
    if (!written || written.value() != 6400) return fault("writes less");
    if (!stream->getXRunCount()) return fault("counts no underruns");
    if (stream->stop() != oboe::Result::OK) return fault("does not stop");
    printf("written %lld\n", (long long)stream->getFramesWritten());
    return stream->close() == oboe::Result::OK ? 0 : fault("does not close");
}

int main(int count, char** words) {
    if (!oboe::AudioStreamBuilder::isAAudioSupported()) return fault("no AAudio");
    return count > 1 && strcmp(words[1], "writes") == 0 ? writes() : calls();
}
