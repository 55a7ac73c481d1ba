/* SPDX-License-Identifier: Apache-2.0 */
/* What Oboe asks of Android's properties: which release it is. */
#pragma once
#include <string.h>

#define PROP_VALUE_MAX 92

/* Fills in the value, empty if there is none; returns its length. */
static inline int __system_property_get(const char* name, char* value) {
    strcpy(value, strcmp(name, "ro.build.version.sdk") == 0 ? "36" : "");
    return (int)strlen(value);
}
