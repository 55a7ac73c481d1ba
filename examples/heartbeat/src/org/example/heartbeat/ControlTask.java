// SPDX-License-Identifier: Apache-2.0
package org.example.heartbeat;

import android.os.Handler;
import java.util.function.Consumer;
import javax.realtime.AbsoluteTime;
import javax.realtime.Clock;
import javax.realtime.PeriodicParameters;
import javax.realtime.PriorityParameters;
import javax.realtime.RealtimeThread;
import javax.realtime.RelativeTime;

/**
 * A thread that is released once a period, at SCHED_FIFO where that is permitted. A release
 * allocates nothing.
 */
final class ControlTask extends RealtimeThread {
    private static final int PRIORITY = 80;
    private static final int NANOS_PER_MILLI = 1_000_000;

    private final int count;
    private final long periodNs;
    private final int perMessage;
    private final Handler main;
    private final Consumer<ControlTask> whenDone;
    /** How long after its place in the row of periods each release came. */
    private final long[] offsetNs;
    private final AbsoluteTime first = new AbsoluteTime();
    private final AbsoluteTime now = new AbsoluteTime();
    private final RelativeTime sinceFirst = new RelativeTime();
    private int missed;
    private double state;

    ControlTask(int count, long periodNs, int perMessage, Handler main, Consumer<ControlTask> whenDone) {
        super(new PriorityParameters(PRIORITY), new PeriodicParameters(length(periodNs)));
        setName("control");
        this.count = count;
        this.periodNs = periodNs;
        this.perMessage = perMessage;
        this.main = main;
        this.whenDone = whenDone;
        offsetNs = new long[count];
    }

    private static RelativeTime length(long nanos) {
        return new RelativeTime(nanos / NANOS_PER_MILLI, (int) (nanos % NANOS_PER_MILLI));
    }

    @Override
    public void run() {
        Clock.getRealtimeClock().getTime(first);
        for (int index = 0; index < count; index++) {
            offsetNs[index] = sinceFirst() - (index + missed) * periodNs;
            state = 0.9 * state + 0.1 * (index & 7);
            if (index % perMessage == 0) {
                main.sendEmptyMessage(index);
            }
            while (!waitForNextPeriod()) {
                missed++;
            }
        }
        main.post(() -> whenDone.accept(this));
    }

    private long sinceFirst() {
        Clock.getRealtimeClock().getTime(now).subtract(first, sinceFirst);
        return sinceFirst.getMilliseconds() * NANOS_PER_MILLI + sinceFirst.getNanoseconds();
    }

    /**
     * How late the releases were: the middle one and the worst, in microseconds. A release is late
     * by what it came after the earliest of all, which came when the timer said.
     */
    String result() {
        long[] sorted = offsetNs.clone();
        java.util.Arrays.sort(sorted);
        boolean isRealtime = grantedPriority() == PRIORITY;
        String policy = isRealtime ? "FIFO " + PRIORITY : "an ordinary thread: no CAP_SYS_NICE";
        long median = sorted[count / 2] - sorted[0];
        long worst = sorted[count - 1] - sorted[0];
        return count + " releases (" + policy + "), late by " + median / 1000 + " us (median), "
                + worst / 1000 + " us (worst), " + missed + " deadlines missed";
    }
}
