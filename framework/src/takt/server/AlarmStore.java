// SPDX-License-Identifier: Apache-2.0
package takt.server;

import takt.framework.Natives;

/**
 * When which alarm comes: decided in Rust, by the server that several applications will share.
 * {@link Alarms} keeps what is to be done, by a number.
 */
final class AlarmStore {
    /** What {@link #await} fills in. */
    static final int PAYLOAD = 0;
    static final int PRIORITY = 1;
    static final int COUNT = 2;
    static final int IS_REPEATED = 3;
    static final int FIRED_LENGTH = 4;

    static {
        Natives.load();
    }

    private AlarmStore() {}

    /**
     * Sets an alarm, at the calling thread's priority; its number. Times in milliseconds: at,
     * window, interval; then the number of what is to be done.
     *
     * @throws IllegalStateException if there are too many
     */
    static native long set(boolean isWall, boolean wakes, long[] numbers, int priority);

    static native boolean remove(long alarm);

    /** Waits for the next alarm of a class. False: there will be none. */
    static native boolean await(boolean isUrgent, long[] fired);

    /** Calls {@link Alarms#clockChanged} whenever somebody sets the clock; does not return. */
    static native void watchClock();
}
