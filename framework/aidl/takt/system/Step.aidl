// SPDX-License-Identifier: Apache-2.0
package takt.system;

import takt.system.Wish;

/** What an application's process is to do next. */
parcelable Step {
    /** For an activity or a service; the numbers follow from it. */
    int kind;
    long[] numbers;
    /** The component's name, where the process may not know it. */
    @nullable String component;
    /** A broadcast's result, or addresses. */
    String[] texts;
    /** What some of the numbers name. */
    long[] named;
    Wish[] wishes;
}
