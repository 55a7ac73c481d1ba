// SPDX-License-Identifier: Apache-2.0
package javax.realtime;

import java.util.Date;

/**
 * A point of time since a clock's epoch. The real-time clock's is the start of the machine that
 * Linux runs on.
 */
public class AbsoluteTime extends HighResolutionTime {
    /** The real-time clock's epoch. */
    public AbsoluteTime() {
        this(0, 0, null);
    }

    /** A clock's epoch; null is the real-time clock. */
    public AbsoluteTime(Clock clock) {
        this(0, 0, clock);
    }

    /** A copy. */
    public AbsoluteTime(AbsoluteTime time) {
        this(time.getMilliseconds(), time.getNanoseconds(), time.getClock());
    }

    /** A date, as the real-time clock has it now: later steps of the wall clock do not move it. */
    public AbsoluteTime(Date date) {
        this(date.getTime(), 0, null);
        setNanos(toNanos() - Clock.getRealtimeClock().getEpochOffset().toNanos());
    }

    /** Of the real-time clock. */
    public AbsoluteTime(long millis, int nanos) {
        this(millis, nanos, null);
    }

    /** Of any clock; null is the real-time clock. */
    public AbsoluteTime(long millis, int nanos, Clock clock) {
        super(millis, nanos, clock);
    }

    @Override
    public AbsoluteTime absolute(Clock clock) {
        return absolute(clock, null);
    }

    /** As {@link #absolute(Clock)}, into {@code destination} unless that is null. */
    public AbsoluteTime absolute(Clock clock, AbsoluteTime destination) {
        return put(getMilliseconds(), getNanoseconds(), destination);
    }

    @Override
    public RelativeTime relative(Clock clock) {
        return relative(clock, null);
    }

    /** From now on the clock, into {@code destination} unless that is null. */
    public RelativeTime relative(Clock clock, RelativeTime destination) {
        RelativeTime result = destination == null ? new RelativeTime() : destination;
        result.setNanos(toNanos() - Clock.orRealtime(clock).now());
        return result;
    }

    /** Later by so much. */
    public AbsoluteTime add(long millis, int nanos) {
        return add(millis, nanos, null);
    }

    /** Later by so much, into {@code destination} unless that is null. */
    public AbsoluteTime add(long millis, int nanos, AbsoluteTime destination) {
        return put(Math.addExact(getMilliseconds(), millis), getNanoseconds() + nanos, destination);
    }

    /** Later by so much. */
    public final AbsoluteTime add(RelativeTime time) {
        return add(time.getMilliseconds(), time.getNanoseconds(), null);
    }

    /** Later by so much, into {@code destination} unless that is null. */
    public AbsoluteTime add(RelativeTime time, AbsoluteTime destination) {
        return add(time.getMilliseconds(), time.getNanoseconds(), destination);
    }

    /** How much later this is. */
    public final RelativeTime subtract(AbsoluteTime time) {
        return subtract(time, null);
    }

    /** How much later this is, into {@code destination} unless that is null. */
    public RelativeTime subtract(AbsoluteTime time, RelativeTime destination) {
        RelativeTime result = destination == null ? new RelativeTime() : destination;
        result.set(
                Math.subtractExact(getMilliseconds(), time.getMilliseconds()),
                getNanoseconds() - time.getNanoseconds());
        return result;
    }

    /** Earlier by so much. */
    public final AbsoluteTime subtract(RelativeTime time) {
        return subtract(time, (AbsoluteTime) null);
    }

    /** Earlier by so much, into {@code destination} unless that is null. */
    public AbsoluteTime subtract(RelativeTime time, AbsoluteTime destination) {
        return put(
                Math.subtractExact(getMilliseconds(), time.getMilliseconds()),
                getNanoseconds() - time.getNanoseconds(),
                destination);
    }

    /** The date, by the wall clock as it stands now. */
    public Date getDate() {
        long offset = Clock.getRealtimeClock().getEpochOffset().getMilliseconds();
        return new Date(getMilliseconds() + offset);
    }

    /** Takes a date. */
    public void set(Date date) {
        set(new AbsoluteTime(date));
    }

    private AbsoluteTime put(long millis, int nanos, AbsoluteTime destination) {
        AbsoluteTime result = destination == null ? new AbsoluteTime(getClock()) : destination;
        result.set(millis, nanos);
        return result;
    }

    @Override
    public String toString() {
        return getMilliseconds() + " ms " + getNanoseconds() + " ns";
    }
}
