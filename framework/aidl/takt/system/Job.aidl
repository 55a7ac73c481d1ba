// SPDX-License-Identifier: Apache-2.0
package takt.system;

import takt.system.Wish;

/** A job as it is scheduled. Times in ms. */
parcelable Job {
    /** The package's own namespace. */
    @nullable String space;
    int id;
    /** As ComponentName.flattenToString has it. */
    String service;
    long latency;
    /** Below nought it has none. */
    long deadline;
    /** How often, and in which last part of each time; 0 for once. */
    long interval;
    long flex;
    /** The first wait after a failure. */
    long backOff;
    boolean isLinear;
    /** ISystem.NEEDS_*, added up. */
    int needs;
    int priority;
    boolean isExpedited;
    /** It comes again with the next server. */
    boolean isKept;
    /** The rest, as its package has it. */
    Wish whole;
}
