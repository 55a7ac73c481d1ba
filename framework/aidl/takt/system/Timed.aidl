// SPDX-License-Identifier: Apache-2.0
package takt.system;

/** An alarm: when which PendingIntent is sent. Times in ms. */
parcelable Timed {
    /** Since 1970, and not since the machine's start. */
    boolean isWall;
    /** It would wake a machine that sleeps. */
    boolean wakes;
    long at;
    /** How much later it may come. */
    long window;
    /** How soon again; 0 for once. */
    long interval;
    /** A person is told of it as the next alarm clock. */
    boolean isClock;
    /** What shows it to a person. */
    @nullable IBinder show;
}
