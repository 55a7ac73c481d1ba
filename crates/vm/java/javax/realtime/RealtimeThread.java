// SPDX-License-Identifier: Apache-2.0
package javax.realtime;

/**
 * A thread with a priority above all ordinary ones and, with {@link PeriodicParameters}, a release
 * per period. Before it starts, what its {@code run} can reach is compiled and linked by the thread
 * that starts it. Where the system refuses SCHED_FIFO it runs as an ordinary thread, and its jitter
 * ledger says so: {@code takt java --report}.
 */
public class RealtimeThread extends Thread implements Schedulable {
    private final Runnable logic;
    private final Object scheduleLock = new Object();
    private volatile SchedulingParameters scheduling;
    private volatile ReleaseParameters release;
    private AsyncEventHandler missHandler;
    private AsyncEventHandler overrunHandler;
    private volatile boolean isDescheduled;
    /** See {@link Machine}. Read by the machine. */
    private volatile long record;

    /**
     * At the creator's priority if that is a real-time thread, else at {@link
     * PriorityScheduler#getNormPriority}.
     */
    public RealtimeThread() {
        this(null, null, null);
    }

    /** With a priority. */
    public RealtimeThread(SchedulingParameters scheduling) {
        this(scheduling, null, null);
    }

    /** With a priority and release times. */
    public RealtimeThread(SchedulingParameters scheduling, ReleaseParameters release) {
        this(scheduling, release, null);
    }

    /** With a priority, release times and something to run; each may be null. */
    public RealtimeThread(SchedulingParameters scheduling, ReleaseParameters release, Runnable logic) {
        super(logic);
        this.logic = logic;
        this.scheduling = scheduling == null ? inherited() : scheduling;
        this.release = release;
    }

    private static SchedulingParameters inherited() {
        return Thread.currentThread() instanceof RealtimeThread creator
                ? (SchedulingParameters) creator.scheduling.clone()
                : new PriorityParameters(PriorityScheduler.instance().getNormPriority());
    }

    /**
     * The calling thread.
     *
     * @throws ClassCastException if that is no real-time thread
     */
    public static RealtimeThread currentRealtimeThread() {
        return (RealtimeThread) Thread.currentThread();
    }

    /**
     * Ends the calling thread's work on a release and waits for the next one.
     *
     * <p>Without a handler for missed deadlines, a release that was done too late is told by {@code
     * false}, at once and once; the next call goes on. Releases that passed meanwhile are not lost:
     * they come one after another. With such a handler the thread is descheduled after a miss: it
     * waits until {@link #schedulePeriodic}, then for the first release from then on.
     *
     * @throws IllegalThreadStateException if the thread has no {@link PeriodicParameters}
     */
    public static boolean waitForNextPeriod() {
        return currentRealtimeThread().awaitRelease(false);
    }

    /** As {@link #waitForNextPeriod}, ended by an interrupt. The release is then still to come. */
    public static boolean waitForNextPeriodInterruptible() throws InterruptedException {
        if (Thread.interrupted()) {
            throw new InterruptedException();
        }
        boolean isReleased = currentRealtimeThread().awaitRelease(true);
        if (Thread.interrupted()) {
            throw new InterruptedException();
        }
        return isReleased;
    }

    /** Sleeps until an absolute time, or for a relative one, on the monotonic clock. */
    public static void sleep(HighResolutionTime time) throws InterruptedException {
        long nanos = time.toNanos();
        if (time instanceof AbsoluteTime) {
            Machine.sleepUntil(Math.max(nanos, 0));
        } else if (nanos < 0) {
            throw new IllegalArgumentException(time + " is negative");
        } else {
            long now = Machine.now();
            Machine.sleepUntil(nanos > Long.MAX_VALUE - now ? Long.MAX_VALUE : now + nanos);
        }
    }

    /**
     * Compiles and links what this thread can reach, then starts it.
     *
     * @throws IllegalStateException if SCHED_FIFO is refused and {@code takt java
     * --realtime-strict} was asked for
     */
    @Override
    public void start() {
        synchronized (this) {
            if (record != 0) {
                throw new IllegalThreadStateException();
            }
            record = Machine.prepare(this, roots(), priorityOf(scheduling));
        }
        ReleaseParameters current = release;
        if (current != null) {
            missHandler = current.getDeadlineMissHandler();
            overrunHandler = current.getCostOverrunHandler();
        }
        scheduling.users().add(this);
        takeParameters();
        boolean isWatched = missHandler != null && current.deadlineNanos() != 0;
        if (missHandler != null) {
            missHandler.startServer();
        }
        if (overrunHandler != null) {
            overrunHandler.startServer();
        }
        super.start();
        if (isWatched) {
            new DeadlineMonitor(this, missHandler).start();
        }
    }

    /** Whose methods will run. */
    Object[] roots() {
        return logic == null ? new Object[] {this} : new Object[] {this, logic};
    }

    final long record() {
        return record;
    }

    /** Parameters have changed. */
    final void takeParameters() {
        long own = record;
        if (own == 0) {
            return;
        }
        Machine.setPriority(own, priorityOf(scheduling));
        ReleaseParameters current = release;
        if (current instanceof PeriodicParameters periodic) {
            periodic.users().add(this);
            Machine.setRelease(
                    own, periodic.startNanos(), periodic.periodNanos(), periodic.costNanos(), periodic.deadlineNanos());
        } else if (current != null) {
            current.users().add(this);
            Machine.setRelease(own, 0, 0, current.costNanos(), current.deadlineNanos());
        } else {
            Machine.setRelease(own, 0, 0, 0, 0);
        }
    }

    static int priorityOf(SchedulingParameters scheduling) {
        return ((PriorityParameters) scheduling).getPriority();
    }

    private boolean awaitRelease(boolean isInterruptible) {
        if (!(release instanceof PeriodicParameters)) {
            throw new IllegalThreadStateException("a thread without PeriodicParameters has no releases");
        }
        while (true) {
            if (isDescheduled) {
                Machine.resume(record);
                awaitScheduling();
                Machine.resume(record);
            }
            int outcome = Machine.waitForNextPeriod(record, isInterruptible);
            tellOverruns();
            if (outcome == Machine.RELEASED && !isDescheduled) {
                return true;
            }
            if (outcome == Machine.MISSED && missHandler == null) {
                return false;
            }
            if (outcome == Machine.MISSED) {
                // The monitor had not seen it yet, and now it will not.
                deschedulePeriodic();
                missHandler.release();
            }
        }
    }

    private void tellOverruns() {
        if (overrunHandler == null) {
            return;
        }
        for (int count = Machine.takeCostOverruns(record); count > 0; count--) {
            overrunHandler.release();
        }
    }

    private void awaitScheduling() {
        boolean wasInterrupted = false;
        synchronized (scheduleLock) {
            while (isDescheduled) {
                try {
                    scheduleLock.wait();
                } catch (InterruptedException e) {
                    wasInterrupted = true;
                }
            }
        }
        if (wasInterrupted) {
            interrupt();
        }
    }

    /**
     * Has the thread wait at its next {@link #waitForNextPeriod} until {@link #schedulePeriodic}.
     */
    public void deschedulePeriodic() {
        synchronized (scheduleLock) {
            isDescheduled = true;
        }
    }

    /** Ends {@link #deschedulePeriodic}, or what a missed deadline did. */
    public void schedulePeriodic() {
        synchronized (scheduleLock) {
            isDescheduled = false;
            scheduleLock.notifyAll();
        }
    }

    @Override
    public SchedulingParameters getSchedulingParameters() {
        return scheduling;
    }

    @Override
    public void setSchedulingParameters(SchedulingParameters scheduling) {
        SchedulingParameters wanted = scheduling == null ? inherited() : scheduling;
        this.scheduling.users().remove(this);
        this.scheduling = wanted;
        wanted.users().add(this);
        takeParameters();
    }

    @Override
    public ReleaseParameters getReleaseParameters() {
        return release;
    }

    /**
     * From the next release on; handlers, and whether there are releases at all, only before the
     * start.
     */
    @Override
    public void setReleaseParameters(ReleaseParameters release) {
        if (this.release != null) {
            this.release.users().remove(this);
        }
        this.release = release;
        takeParameters();
    }

    @Override
    public Scheduler getScheduler() {
        return PriorityScheduler.instance();
    }

    /**
     * The SCHED_FIFO priority that the system has granted; 0 if it runs as an ordinary thread, or
     * has not started.
     */
    public final int grantedPriority() {
        long own = record;
        return own == 0 ? 0 : Machine.grantedPriority(own);
    }
}
