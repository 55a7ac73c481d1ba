/* SPDX-License-Identifier: Apache-2.0 */
/* A client whose callback throws, in its fourth call. */
#include <aaudio/AAudio.h>
#include <stdexcept>
#include <unistd.h>

static aaudio_data_callback_result_t play(AAudioStream*, void* user, void*, int32_t) {
    int* calls = static_cast<int*>(user);
    if (++*calls == 4) throw std::runtime_error("the callback threw");
    return AAUDIO_CALLBACK_RESULT_CONTINUE;
}

int main() {
    int calls = 0;
    AAudioStreamBuilder* builder = nullptr;
    AAudioStream* stream = nullptr;
    if (AAudio_createStreamBuilder(&builder) != AAUDIO_OK) return 1;
    AAudioStreamBuilder_setDataCallback(builder, play, &calls);
    if (AAudioStreamBuilder_openStream(builder, &stream) != AAUDIO_OK) return 2;
    if (AAudioStream_requestStart(stream) != AAUDIO_OK) return 3;
    sleep(20);
    return 4;
}
