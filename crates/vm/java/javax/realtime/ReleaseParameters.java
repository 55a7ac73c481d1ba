// SPDX-License-Identifier: Apache-2.0
package javax.realtime;

/** When something is released, what it may cost, and when it must be done. */
public abstract class ReleaseParameters implements Cloneable {
    private Users users = new Users();
    private RelativeTime cost;
    private RelativeTime deadline;
    private AsyncEventHandler overrunHandler;
    private AsyncEventHandler missHandler;

    ReleaseParameters(
            RelativeTime cost,
            RelativeTime deadline,
            AsyncEventHandler overrunHandler,
            AsyncEventHandler missHandler) {
        this.cost = cost == null ? new RelativeTime() : copy(cost, "cost", false);
        this.deadline = deadline == null ? null : copy(deadline, "deadline", true);
        this.overrunHandler = overrunHandler;
        this.missHandler = missHandler;
    }

    static RelativeTime copy(RelativeTime time, String what, boolean mustBePositive) {
        long nanos = time.toNanos();
        if (nanos < 0 || (mustBePositive && nanos == 0)) {
            throw new IllegalArgumentException(what + " of " + time);
        }
        return new RelativeTime(time);
    }

    final Users users() {
        return users;
    }

    /** Processor time per release; 0: any. */
    public RelativeTime getCost() {
        return new RelativeTime(cost);
    }

    /** See {@link #getCost}. */
    public void setCost(RelativeTime cost) {
        this.cost = cost == null ? new RelativeTime() : copy(cost, "cost", false);
        users.tell();
    }

    /** How long after its release the work must be done; null: no limit. */
    public RelativeTime getDeadline() {
        return deadline == null ? null : new RelativeTime(deadline);
    }

    /** See {@link #getDeadline}. */
    public void setDeadline(RelativeTime deadline) {
        this.deadline = deadline == null ? null : copy(deadline, "deadline", true);
        users.tell();
    }

    /** Released when a release has used more processor time than its cost. */
    public AsyncEventHandler getCostOverrunHandler() {
        return overrunHandler;
    }

    /** See {@link #getCostOverrunHandler}. Takes effect for threads that start later. */
    public void setCostOverrunHandler(AsyncEventHandler handler) {
        overrunHandler = handler;
    }

    /** Released when a release is not done by its deadline. */
    public AsyncEventHandler getDeadlineMissHandler() {
        return missHandler;
    }

    /** See {@link #getDeadlineMissHandler}. Takes effect for threads that start later. */
    public void setDeadlineMissHandler(AsyncEventHandler handler) {
        missHandler = handler;
    }

    final long costNanos() {
        return cost.toNanos();
    }

    /** 0 for none. */
    long deadlineNanos() {
        return deadline == null ? 0 : deadline.toNanos();
    }

    /** The same values, used by nobody yet. */
    @Override
    public Object clone() {
        try {
            ReleaseParameters copy = (ReleaseParameters) super.clone();
            copy.users = new Users();
            return copy;
        } catch (CloneNotSupportedException e) {
            throw new AssertionError(e);
        }
    }
}
