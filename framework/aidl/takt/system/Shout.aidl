// SPDX-License-Identifier: Apache-2.0
package takt.system;

import takt.system.Outcome;
import takt.system.Wish;

/** A broadcast, as its sender has it. */
parcelable Shout {
    Wish wish;
    /** Receivers have all of these. */
    String[] permissions;
    boolean isOrdered;
    boolean isSticky;
    /** The intent's own priority, 0 to 99, which is lowered to its sender's; below nought it has none. */
    int priority;
    /** The process's own number of the result that it wants; 0 for none. */
    long result;
    /** What the first receiver finds. */
    Outcome outcome;
}
