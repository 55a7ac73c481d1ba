// SPDX-License-Identifier: Apache-2.0
package javax.realtime;

/** A clock. There is one, {@link #getRealtimeClock}: Linux's CLOCK_MONOTONIC, which nobody sets. */
public abstract class Clock {
    private static final Clock REALTIME = new Monotonic();

    /** For subclasses, which give times but release no thread. */
    public Clock() {}

    /** CLOCK_MONOTONIC. */
    public static Clock getRealtimeClock() {
        return REALTIME;
    }

    static Clock orRealtime(Clock clock) {
        return clock == null ? REALTIME : clock;
    }

    /** From 1970-01-01 to this clock's epoch, as the wall clock has it now. */
    public abstract RelativeTime getEpochOffset();

    /** The shortest time between two readings that differ. */
    public abstract RelativeTime getResolution();

    /** Now. */
    public AbsoluteTime getTime() {
        return getTime(new AbsoluteTime(this));
    }

    /** Now, into {@code destination}. */
    public abstract AbsoluteTime getTime(AbsoluteTime destination);

    /** Now, in nanoseconds since this clock's epoch. */
    long now() {
        return getTime().toNanos();
    }

    private static final class Monotonic extends Clock {
        @Override
        public RelativeTime getEpochOffset() {
            RelativeTime offset = new RelativeTime();
            offset.setNanos(System.currentTimeMillis() * HighResolutionTime.NANOS_PER_MILLI - Machine.now());
            return offset;
        }

        @Override
        public RelativeTime getResolution() {
            RelativeTime resolution = new RelativeTime();
            resolution.setNanos(Machine.resolution());
            return resolution;
        }

        @Override
        public AbsoluteTime getTime(AbsoluteTime destination) {
            destination.setNanos(Machine.now());
            return destination;
        }

        @Override
        long now() {
            return Machine.now();
        }
    }
}
