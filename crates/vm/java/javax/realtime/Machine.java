// SPDX-License-Identifier: Apache-2.0
package javax.realtime;

/**
 * What the machine does for this package. A <i>record</i> is the machine's number of a real-time
 * thread's release times and jitter ledger; times are nanoseconds of CLOCK_MONOTONIC.
 */
final class Machine {
    /** The next release has come. */
    static final int RELEASED = 0;
    /** The current release missed its deadline, which is told once. */
    static final int MISSED = 1;

    private Machine() {}

    static native long now();

    static native long resolution();

    /** Sleeps until then; ends early only by an interrupt. */
    static native void sleepUntil(long due) throws InterruptedException;

    /**
     * Makes the record of a thread that is about to start, compiles and links what the {@code run}
     * and {@code handleAsyncEvent} methods of {@code roots} can reach.
     */
    static native long prepare(RealtimeThread thread, Object[] roots, int priority);

    /** Release times: the first one, or 0 for the thread's start. A period of 0 is none. */
    static native void setRelease(long record, long start, long period, long cost, long deadline);

    /** SCHED_FIFO from 1 to 99; false if it was refused. */
    static native boolean setPriority(long record, int priority);

    /** The SCHED_FIFO priority that a record's thread runs at; 0 for an ordinary thread. */
    static native int grantedPriority(long record);

    /**
     * Of the calling thread: {@link #RELEASED} or {@link #MISSED}. Ends early by an interrupt if
     * that is asked for.
     */
    static native int waitForNextPeriod(long record, boolean isInterruptible);

    /** Of the calling thread: its next release is the first one from now on. */
    static native void resume(long record);

    /**
     * When the release that is worked on, or else the next one, must be done; 0 once the thread has
     * ended.
     */
    static native long nextDeadline(long record);

    /** Whether the release that must be done at {@code due} is not done. Says so once. */
    static native boolean isMissed(long record, long due);

    /** Releases that used more processor time than their cost, since the last call. */
    static native int takeCostOverruns(long record);

    /** Releases the thread of a handler. */
    static native void fire(long record);

    /** Of the calling thread, a handler's: waits for {@link #fire}. */
    static native void waitForFire(long record);
}
