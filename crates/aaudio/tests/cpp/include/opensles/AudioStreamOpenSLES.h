/* SPDX-License-Identifier: Apache-2.0 */
/* See NoStream.h. */
#pragma once
#include "opensles/NoStream.h"
