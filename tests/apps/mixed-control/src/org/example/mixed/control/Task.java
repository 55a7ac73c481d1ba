// SPDX-License-Identifier: Apache-2.0
package org.example.mixed.control;

import java.util.Arrays;
import java.util.function.Consumer;
import javax.realtime.AbsoluteTime;
import javax.realtime.Clock;
import javax.realtime.PeriodicParameters;
import javax.realtime.PriorityParameters;
import javax.realtime.RealtimeThread;
import javax.realtime.RelativeTime;

/** Released each period; a release allocates nothing. */
final class Task extends RealtimeThread {
    private static final int PRIORITY = 80;
    private static final long NANOS_PER_MILLI = 1_000_000;
    /** Code is compiled in these. */
    private static final int WARM_UP = 500;
    /** What came too late before is made up for in these. */
    private static final int MADE_UP_FOR_MAX = 10_000;

    private final long[] offsetNs;
    private final long periodNs;
    private final Consumer<String> whenDone;
    private final AbsoluteTime first = new AbsoluteTime();
    private final AbsoluteTime now = new AbsoluteTime();
    private final RelativeTime sinceFirst = new RelativeTime();
    private int missed;

    Task(int count, int periodMillis, Consumer<String> whenDone) {
        super(new PriorityParameters(PRIORITY), new PeriodicParameters(new RelativeTime(periodMillis, 0)));
        setName("control");
        offsetNs = new long[count];
        periodNs = periodMillis * NANOS_PER_MILLI;
        this.whenDone = whenDone;
    }

    @Override
    public void run() {
        for (int index = 0; index < WARM_UP; index++) {
            sinceFirst();
            waitForNextPeriod();
        }
        makeUp();
        missed = 0;
        Clock.getRealtimeClock().getTime(first);
        for (int index = 0; index < offsetNs.length; index++) {
            // A release that passed is not lost: it comes late.
            offsetNs[index] = sinceFirst() - index * periodNs;
            while (!waitForNextPeriod()) {
                missed++;
            }
        }
        whenDone.accept(result());
    }

    /** Until a release is waited for. */
    private void makeUp() {
        for (int index = 0; index < MADE_UP_FOR_MAX; index++) {
            long before = sinceFirst();
            if (waitForNextPeriod() && sinceFirst() - before > periodNs / 2) {
                return;
            }
        }
    }

    private long sinceFirst() {
        Clock.getRealtimeClock().getTime(now).subtract(first, sinceFirst);
        return sinceFirst.getMilliseconds() * NANOS_PER_MILLI + sinceFirst.getNanoseconds();
    }

    /** Late by what a release came after the earliest of all, which came when the timer said. */
    private String result() {
        long[] sorted = offsetNs.clone();
        Arrays.sort(sorted);
        int last = sorted.length - 1;
        return "releases " + sorted.length + " priority " + grantedPriority() + " missed " + missed
                + " p50 " + (sorted[last / 2] - sorted[0]) + " p999 " + (sorted[(int) (last * 0.999)] - sorted[0])
                + " max " + (sorted[last] - sorted[0]);
    }
}
