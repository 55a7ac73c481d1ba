/* SPDX-License-Identifier: Apache-2.0 */
/* In place of Oboe's streams over OpenSL ES, which no Linux has: never opened. */
#pragma once
#include "opensles/NoStream.h"

namespace oboe {
class AudioOutputStreamOpenSLES : public NoStream {
public:
    using NoStream::NoStream;
};
}  // namespace oboe
