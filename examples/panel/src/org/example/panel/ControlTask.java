// SPDX-License-Identifier: Apache-2.0
package org.example.panel;

import java.util.Arrays;
import java.util.Locale;
import javax.realtime.AbsoluteTime;
import javax.realtime.Clock;
import javax.realtime.PeriodicParameters;
import javax.realtime.PriorityParameters;
import javax.realtime.RealtimeThread;
import javax.realtime.RelativeTime;

/**
 * Holds a value at the set point, once a millisecond, at SCHED_FIFO where that is permitted. A
 * release allocates nothing and waits for nobody.
 */
final class ControlTask extends RealtimeThread {
    private static final int PRIORITY = 80;
    private static final long PERIOD_NS = 1_000_000;
    private static final int NANOS_PER_MILLI = 1_000_000;
    private static final int MICRO = 1000;
    /** Phases: in which window each release was. Those of the beginning are not counted. */
    static final int AT_REST = 0;
    static final int SCROLLING = 1;
    static final int BEGINNING = 2;
    static final int ALONE = 3;
    /** A minute: later releases are counted and not kept. */
    private static final int RELEASES_MAX = 60_000;
    private static final double PLANT = 0.01;
    private static final double PROPORTIONAL = 2;
    private static final double INTEGRAL = 0.02;
    private static final double OUTPUT_MAX = 100;

    private final Readings readings;
    /** How long after its place in the row of periods each release came, and in which phase. */
    private final long[] offsetNs = new long[RELEASES_MAX];
    private final byte[] phases = new byte[RELEASES_MAX];
    private final AbsoluteTime first = new AbsoluteTime();
    private final AbsoluteTime now = new AbsoluteTime();
    private final RelativeTime sinceFirst = new RelativeTime();
    private volatile byte phase;
    private volatile boolean ends;
    private int releases;
    private int missed;
    private double value;
    private double sum;

    ControlTask(Readings readings) {
        super(new PriorityParameters(PRIORITY), new PeriodicParameters(new RelativeTime(1, 0)));
        setName("control");
        this.readings = readings;
    }

    @Override
    public void run() {
        Clock.getRealtimeClock().getTime(first);
        for (long index = 0; !ends; index++) {
            if (releases < RELEASES_MAX) {
                offsetNs[releases] = sinceFirst() - index * PERIOD_NS;
                phases[releases++] = phase;
            }
            control();
            while (!waitForNextPeriod()) {
                missed++;
                index++;
            }
        }
    }

    private long sinceFirst() {
        Clock.getRealtimeClock().getTime(now).subtract(first, sinceFirst);
        return sinceFirst.getMilliseconds() * NANOS_PER_MILLI + sinceFirst.getNanoseconds();
    }

    private void control() {
        double error = readings.setPoint() - value;
        sum = bounded(sum + INTEGRAL * error);
        double output = bounded(PROPORTIONAL * error + sum);
        value += (output - value) * PLANT;
        readings.add(value, output);
    }

    private static double bounded(double output) {
        return Math.max(0, Math.min(OUTPUT_MAX, output));
    }

    /** Releases from now on belong to this phase. */
    void setPhase(int next) {
        phase = (byte) next;
    }

    /** Ends it, and waits until it has ended: by whom may wait. */
    void end() throws InterruptedException {
        ends = true;
        join();
    }

    /** A row of the table, of the releases of one phase; after the end. */
    String row(String name, int of) {
        long[] sorted = late(of);
        int count = sorted.length;
        if (count == 0) {
            return String.format(Locale.ROOT, "%-10s %8d", name, 0);
        }
        return String.format(Locale.ROOT, "%-10s %8d %8d %8d %8d", name, count, sorted[count / 2] / MICRO,
                sorted[(int) ((count - 1) * 0.999)] / MICRO, sorted[count - 1] / MICRO);
    }

    /** The same for a program that reads, in nanoseconds; after the end. */
    String figures(String name, int of) {
        long[] sorted = late(of);
        int last = Math.max(0, sorted.length - 1);
        long[] late = sorted.length == 0 ? new long[1] : sorted;
        return String.format(Locale.ROOT, "figures %s releases %d priority %d missed %d p50 %d p999 %d max %d", name,
                sorted.length, grantedPriority(), missed, late[last / 2], late[(int) (last * 0.999)], late[last]);
    }

    /**
     * How late the releases of one phase were, sorted: by what each came after the earliest of all,
     * which came when the timer said. The first came by no timer.
     */
    private long[] late(int of) {
        long earliest = Arrays.stream(offsetNs, Math.min(1, releases), releases).min().orElse(0);
        long[] late = new long[releases];
        int count = 0;
        for (int index = 1; index < releases; index++) {
            if (phases[index] == of) {
                late[count++] = offsetNs[index] - earliest;
            }
        }
        late = Arrays.copyOf(late, count);
        Arrays.sort(late);
        return late;
    }

    /** The table's head. */
    static String head() {
        return String.format(Locale.ROOT, "%-10s %8s %8s %8s %8s", "late, us", "releases", "median", "p99.9", "worst");
    }

    /** Of all phases. */
    String summary() {
        String policy = grantedPriority() == PRIORITY ? "FIFO " + PRIORITY : "an ordinary thread: no CAP_SYS_NICE";
        return policy + ", " + missed + " deadlines missed";
    }
}
