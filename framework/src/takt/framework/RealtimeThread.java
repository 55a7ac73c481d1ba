// SPDX-License-Identifier: Apache-2.0
package takt.framework;

/** Real-time priorities of threads: Linux's SCHED_FIFO from 1 to 99; 0 is an ordinary thread. */
public final class RealtimeThread {
    static {
        Natives.load();
    }

    private RealtimeThread() {}

    /** The calling thread's priority, or what it sends as. */
    public static native int priority();

    /**
     * Gives a thread (0: the calling one) a priority; false if this process may not: it lacks
     * CAP_SYS_NICE.
     */
    public static native boolean setPriority(int thread, int priority);

    /**
     * A descriptor of the page in which the machine counts what all real-time threads do; -1 on
     * another machine, or if there is none to be had. The caller closes it.
     */
    public static native int ledgerPage();

    /**
     * What the calling thread sends from here on counts as sent at this priority, unless its own is
     * higher; 0 ends it. Its scheduling stays as it is. For who acts for others. Answers what held
     * before.
     */
    public static native int sendAs(int priority);

    /**
     * What the calling thread sends from here on counts as sent at this priority at most, however
     * urgent the thread is; 99 ends it. For who acts for one after the other. Answers what held
     * before.
     */
    public static native int sendAtMost(int priority);
}
