// SPDX-License-Identifier: Apache-2.0
package takt.system;

import takt.system.Wish;

/** A piece of a job's work. */
parcelable Work {
    int id;
    /** How often it was handed out. */
    int deliveries;
    Wish whole;
}
