// SPDX-License-Identifier: Apache-2.0
package javax.realtime;

/**
 * A time of a clock, as milliseconds and nanoseconds that have the same sign. Not safe for use by
 * several threads.
 */
public abstract class HighResolutionTime implements Comparable<HighResolutionTime>, Cloneable {
    static final int NANOS_PER_MILLI = 1_000_000;

    private long milliseconds;
    private int nanoseconds;
    private Clock clock;

    HighResolutionTime(long millis, int nanos, Clock clock) {
        this.clock = Clock.orRealtime(clock);
        set(millis, nanos);
    }

    /** The absolute time that this time stands for. Of a relative time: from now on the clock. */
    public abstract AbsoluteTime absolute(Clock clock);

    /**
     * The relative time that this time stands for. Of an absolute time: as seen now on the clock.
     */
    public abstract RelativeTime relative(Clock clock);

    /** The milliseconds. */
    public final long getMilliseconds() {
        return milliseconds;
    }

    /** The nanoseconds beyond the milliseconds: less than a million either way. */
    public final int getNanoseconds() {
        return nanoseconds;
    }

    /** The clock this time is of. */
    public Clock getClock() {
        return clock;
    }

    /** Takes another time's value and clock. Both must be of one kind. */
    public void set(HighResolutionTime time) {
        if (time.getClass() != getClass()) {
            throw new ClassCastException(time.getClass() + " is not " + getClass());
        }
        milliseconds = time.milliseconds;
        nanoseconds = time.nanoseconds;
        clock = time.clock;
    }

    /** Whole milliseconds. */
    public void set(long millis) {
        set(millis, 0);
    }

    /**
     * Milliseconds and any number of nanoseconds.
     *
     * @throws IllegalArgumentException if the sum does not fit
     */
    public void set(long millis, int nanos) {
        long carry = nanos / NANOS_PER_MILLI;
        int rest = nanos % NANOS_PER_MILLI;
        long sum = millis + carry;
        if (((millis ^ sum) & (carry ^ sum)) < 0) {
            throw new IllegalArgumentException(millis + " ms and " + nanos + " ns");
        }
        if (sum > 0 && rest < 0) {
            sum--;
            rest += NANOS_PER_MILLI;
        } else if (sum < 0 && rest > 0) {
            sum++;
            rest -= NANOS_PER_MILLI;
        }
        milliseconds = sum;
        nanoseconds = rest;
    }

    final void setNanos(long nanos) {
        milliseconds = nanos / NANOS_PER_MILLI;
        nanoseconds = (int) (nanos % NANOS_PER_MILLI);
    }

    /** All of it in nanoseconds; what does not fit is the nearest long. */
    final long toNanos() {
        long high = Math.multiplyHigh(milliseconds, NANOS_PER_MILLI);
        long low = milliseconds * NANOS_PER_MILLI;
        long sum = low + nanoseconds;
        boolean fits = high == low >> 63 && ((low ^ sum) & (nanoseconds ^ sum)) >= 0;
        return fits ? sum : milliseconds < 0 ? Long.MIN_VALUE : Long.MAX_VALUE;
    }

    /** By value; both must be of one kind and one clock. */
    @Override
    public int compareTo(HighResolutionTime time) {
        if (time.getClass() != getClass()) {
            throw new ClassCastException(time.getClass() + " is not " + getClass());
        }
        if (time.clock != clock) {
            throw new IllegalArgumentException("times of two clocks have no order");
        }
        int byMillis = Long.compare(milliseconds, time.milliseconds);
        return byMillis != 0 ? byMillis : Integer.compare(nanoseconds, time.nanoseconds);
    }

    /** Whether kind, clock and value are the same. */
    public boolean equals(HighResolutionTime time) {
        return equals((Object) time);
    }

    @Override
    public boolean equals(Object other) {
        return other != null
                && other.getClass() == getClass()
                && ((HighResolutionTime) other).milliseconds == milliseconds
                && ((HighResolutionTime) other).nanoseconds == nanoseconds
                && ((HighResolutionTime) other).clock == clock;
    }

    @Override
    public int hashCode() {
        return Long.hashCode(milliseconds) * 31 + nanoseconds;
    }

    @Override
    public Object clone() {
        try {
            return super.clone();
        } catch (CloneNotSupportedException e) {
            throw new AssertionError(e);
        }
    }

    /**
     * As {@link Object#wait()} with a timeout: an absolute time is waited until, a relative one
     * for; null is for ever. The timeout counts in whole milliseconds, rounded up.
     */
    public static void waitForObject(Object target, HighResolutionTime time) throws InterruptedException {
        if (time == null) {
            target.wait();
            return;
        }
        long now = time instanceof AbsoluteTime ? Machine.now() : 0;
        long left = time.toNanos() - now;
        if (time instanceof RelativeTime && left < 0) {
            throw new IllegalArgumentException(time + " is negative");
        }
        if (left > 0) {
            target.wait(Math.max(1, (left - 1) / NANOS_PER_MILLI + 1));
        }
    }
}
