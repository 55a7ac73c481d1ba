// SPDX-License-Identifier: Apache-2.0
package javax.realtime;

/** A length of time. */
public class RelativeTime extends HighResolutionTime {
    /** No time at all. */
    public RelativeTime() {
        this(0, 0, null);
    }

    /** A length on a clock; null is the real-time clock. */
    public RelativeTime(Clock clock) {
        this(0, 0, clock);
    }

    /** A copy. */
    public RelativeTime(RelativeTime time) {
        this(time.getMilliseconds(), time.getNanoseconds(), time.getClock());
    }

    /** On the real-time clock. */
    public RelativeTime(long millis, int nanos) {
        this(millis, nanos, null);
    }

    /** On any clock; null is the real-time clock. */
    public RelativeTime(long millis, int nanos, Clock clock) {
        super(millis, nanos, clock);
    }

    @Override
    public AbsoluteTime absolute(Clock clock) {
        return absolute(clock, null);
    }

    /** From now on the clock, into {@code destination} unless that is null. */
    public AbsoluteTime absolute(Clock clock, AbsoluteTime destination) {
        AbsoluteTime result = destination == null ? new AbsoluteTime(clock) : destination;
        result.setNanos(Clock.orRealtime(clock).now() + toNanos());
        return result;
    }

    @Override
    public RelativeTime relative(Clock clock) {
        return relative(clock, null);
    }

    /** As {@link #relative(Clock)}, into {@code destination} unless that is null. */
    public RelativeTime relative(Clock clock, RelativeTime destination) {
        return put(getMilliseconds(), getNanoseconds(), destination);
    }

    /** Longer by so much. */
    public RelativeTime add(long millis, int nanos) {
        return add(millis, nanos, null);
    }

    /** Longer by so much, into {@code destination} unless that is null. */
    public RelativeTime add(long millis, int nanos, RelativeTime destination) {
        return put(Math.addExact(getMilliseconds(), millis), getNanoseconds() + nanos, destination);
    }

    /** Longer by so much. */
    public final RelativeTime add(RelativeTime time) {
        return add(time.getMilliseconds(), time.getNanoseconds(), null);
    }

    /** Longer by so much, into {@code destination} unless that is null. */
    public RelativeTime add(RelativeTime time, RelativeTime destination) {
        return add(time.getMilliseconds(), time.getNanoseconds(), destination);
    }

    /** Shorter by so much. */
    public final RelativeTime subtract(RelativeTime time) {
        return subtract(time, null);
    }

    /** Shorter by so much, into {@code destination} unless that is null. */
    public RelativeTime subtract(RelativeTime time, RelativeTime destination) {
        return put(
                Math.subtractExact(getMilliseconds(), time.getMilliseconds()),
                getNanoseconds() - time.getNanoseconds(),
                destination);
    }

    private RelativeTime put(long millis, int nanos, RelativeTime destination) {
        RelativeTime result = destination == null ? new RelativeTime(getClock()) : destination;
        result.set(millis, nanos);
        return result;
    }

    @Override
    public String toString() {
        return getMilliseconds() + " ms " + getNanoseconds() + " ns";
    }
}
