// SPDX-License-Identifier: Apache-2.0
package rtandroid.thread;

import javax.realtime.PeriodicParameters;
import javax.realtime.PriorityParameters;
import javax.realtime.RealtimeThread;
import javax.realtime.RelativeTime;

/** A real-time thread that does one thing a period, until it is told to end. */
public abstract class PeriodicThread extends RealtimeThread {
    private volatile boolean isEnding;

    /** Released every so many nanoseconds, at SCHED_FIFO {@code priority}. */
    protected PeriodicThread(String name, int priority, long periodNanos) {
        super(new PriorityParameters(priority), new PeriodicParameters(time(periodNanos)));
        setName(name);
    }

    private static RelativeTime time(long nanos) {
        return new RelativeTime(nanos / 1_000_000, (int) (nanos % 1_000_000));
    }

    /** The work of a release. */
    protected abstract void onPeriod();

    /** The release was done too late. */
    protected void onDeadlineMissed() {}

    /** Ends the thread after the release that it works on. */
    public final void end() {
        isEnding = true;
    }

    @Override
    public final void run() {
        while (!isEnding) {
            onPeriod();
            while (!waitForNextPeriod()) {
                onDeadlineMissed();
            }
        }
    }
}
