// SPDX-License-Identifier: Apache-2.0
package takt.framework;

/** Real-time priorities of threads: Linux's SCHED_FIFO from 1 to 99; 0 is an ordinary thread. */
public final class RealtimeThread {
    static {
        Natives.load();
    }

    private RealtimeThread() {}

    /** The calling thread's priority. */
    public static native int priority();

    /** Gives a thread (0: the calling one) a priority; false if this process may not: it lacks CAP_SYS_NICE. */
    public static native boolean setPriority(int thread, int priority);
}
