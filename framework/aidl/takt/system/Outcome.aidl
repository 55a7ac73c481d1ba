// SPDX-License-Identifier: Apache-2.0
package takt.system;

import takt.system.Wish;

/** What receivers of an ordered broadcast hand on. */
parcelable Outcome {
    int code;
    @nullable String data;
    /** Of an intent that has nothing else; without bytes there are none. */
    Wish extras;
}
