/* SPDX-License-Identifier: Apache-2.0 */
/* A stream that is none, for what this machine has no library of. */
#pragma once
#include "oboe/AudioStream.h"

namespace oboe {
class NoStream : public AudioStream {
public:
    explicit NoStream(const AudioStreamBuilder& builder) : AudioStream(builder) {}
    Result requestStart() override { return Result::ErrorUnimplemented; }
    Result requestPause() override { return Result::ErrorUnimplemented; }
    Result requestFlush() override { return Result::ErrorUnimplemented; }
    Result requestStop() override { return Result::ErrorUnimplemented; }
    StreamState getState() override { return StreamState::Uninitialized; }
    Result waitForStateChange(StreamState, StreamState*, int64_t) override {
        return Result::ErrorUnimplemented;
    }
    bool isXRunCountSupported() const override { return false; }
    AudioApi getAudioApi() const override { return AudioApi::OpenSLES; }
    void updateFramesRead() override {}
    void updateFramesWritten() override {}
};
}  // namespace oboe
