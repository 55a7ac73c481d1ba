/* SPDX-License-Identifier: Apache-2.0 */
/* Android's log, to standard error. */
#pragma once
#include <stdio.h>

enum {
    ANDROID_LOG_VERBOSE = 2,
    ANDROID_LOG_DEBUG,
    ANDROID_LOG_INFO,
    ANDROID_LOG_WARN,
    ANDROID_LOG_ERROR,
    ANDROID_LOG_FATAL
};

#define __android_log_print(level, tag, ...) \
    ((void)(level), fprintf(stderr, "%s: ", tag), fprintf(stderr, __VA_ARGS__), fputc('\n', stderr))
