// SPDX-License-Identifier: Apache-2.0
package javax.realtime;

/** Releases at {@code start + n × period}. */
public class PeriodicParameters extends ReleaseParameters {
    private HighResolutionTime start;
    private RelativeTime period;

    /** From the thread's start on, to be done within the period. */
    public PeriodicParameters(RelativeTime period) {
        this(null, period);
    }

    /** From a time on, to be done within the period. */
    public PeriodicParameters(HighResolutionTime start, RelativeTime period) {
        this(start, period, null, null, null, null);
    }

    /**
     * All of it.
     *
     * @param start the first release: absolute, or from the thread's start on; null is the thread's
     * start
     * @param period longer than zero
     * @param cost processor time per release; null is any
     * @param deadline from each release on; null is the period
     * @param overrunHandler released after a release that cost more; may be null
     * @param missHandler released at a missed deadline; may be null
     */
    public PeriodicParameters(
            HighResolutionTime start,
            RelativeTime period,
            RelativeTime cost,
            RelativeTime deadline,
            AsyncEventHandler overrunHandler,
            AsyncEventHandler missHandler) {
        super(cost, deadline, overrunHandler, missHandler);
        this.start = start == null ? null : (HighResolutionTime) start.clone();
        this.period = copy(period, "period", true);
    }

    /** The first release. */
    public HighResolutionTime getStart() {
        return start == null ? null : (HighResolutionTime) start.clone();
    }

    /** For threads that start later. */
    public void setStart(HighResolutionTime start) {
        this.start = start == null ? null : (HighResolutionTime) start.clone();
    }

    /** From release to release. */
    public RelativeTime getPeriod() {
        return new RelativeTime(period);
    }

    /** From the next release on. */
    public void setPeriod(RelativeTime period) {
        this.period = copy(period, "period", true);
        users().tell();
    }

    /** The deadline, which is the period unless there is another. */
    @Override
    public RelativeTime getDeadline() {
        RelativeTime deadline = super.getDeadline();
        return deadline == null ? getPeriod() : deadline;
    }

    final long periodNanos() {
        return period.toNanos();
    }

    @Override
    final long deadlineNanos() {
        long own = super.deadlineNanos();
        return own == 0 ? periodNanos() : own;
    }

    /** 0 for at once. */
    final long startNanos() {
        if (start == null) {
            return 0;
        }
        long nanos = start.toNanos();
        return start instanceof AbsoluteTime ? Math.max(nanos, 1) : Machine.now() + Math.max(nanos, 0);
    }
}
