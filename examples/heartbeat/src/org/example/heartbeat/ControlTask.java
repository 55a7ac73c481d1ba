// SPDX-License-Identifier: Apache-2.0
package org.example.heartbeat;

import android.os.Handler;
import android.os.SystemClock;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import takt.framework.RealtimeThread;

/** A thread that is released once a period, at SCHED_FIFO where that is permitted. A release allocates nothing. */
final class ControlTask extends Thread {
    private static final int PRIORITY = 80;

    private final int count;
    private final long periodNs;
    private final int perMessage;
    private final Handler main;
    private final Consumer<ControlTask> whenDone;
    private final long[] lateNs;
    private boolean isRealtime;
    private double state;

    ControlTask(int count, long periodNs, int perMessage, Handler main, Consumer<ControlTask> whenDone) {
        super("control");
        this.count = count;
        this.periodNs = periodNs;
        this.perMessage = perMessage;
        this.main = main;
        this.whenDone = whenDone;
        lateNs = new long[count];
    }

    @Override
    public void run() {
        isRealtime = RealtimeThread.setPriority(0, PRIORITY);
        long release = SystemClock.elapsedRealtimeNanos() + periodNs;
        for (int index = 0; index < count; index++) {
            long now = SystemClock.elapsedRealtimeNanos();
            while (now < release) {
                LockSupport.parkNanos(release - now);
                now = SystemClock.elapsedRealtimeNanos();
            }
            lateNs[index] = now - release;
            state = 0.9 * state + 0.1 * (index & 7);
            if (index % perMessage == 0) {
                main.sendEmptyMessage(index);
            }
            release += periodNs;
        }
        main.post(() -> whenDone.accept(this));
    }

    /** How late the releases were: the middle one and the worst, in microseconds. */
    String result() {
        long[] sorted = lateNs.clone();
        java.util.Arrays.sort(sorted);
        String policy = isRealtime ? "FIFO " + PRIORITY : "an ordinary thread: no CAP_SYS_NICE";
        return count + " releases (" + policy + "), late by " + sorted[count / 2] / 1000 + " us (median), "
                + sorted[count - 1] / 1000 + " us (worst)";
    }
}
