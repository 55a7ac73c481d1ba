/* SPDX-License-Identifier: Apache-2.0 */
/* What the NDK's headers give along the way, included before each of Oboe's files. */
#pragma once
#include <cstdarg>
#include <cstdio>
#include <cstring>

#define __ANDROID_API_L__ 21
#define __ANDROID_API_M__ 23
#define __ANDROID_API_N_MR1__ 25
#define __ANDROID_API_O__ 26
#define __ANDROID_API_O_MR1__ 27
#define __ANDROID_API_P__ 28
#define __ANDROID_API_Q__ 29
#define __ANDROID_API_R__ 30
#define __ANDROID_API_S__ 31
#define __ANDROID_API_U__ 34
