// SPDX-License-Identifier: Apache-2.0
package javax.realtime;

/**
 * Sees when a thread misses a deadline, while that thread is still at work: it is one more urgent.
 */
final class DeadlineMonitor extends RealtimeThread {
    private final RealtimeThread watched;
    private final AsyncEventHandler handler;

    DeadlineMonitor(RealtimeThread watched, AsyncEventHandler handler) {
        super(above(watched));
        this.watched = watched;
        this.handler = handler;
        setName("deadline " + watched.getName());
        setDaemon(true);
    }

    private static PriorityParameters above(RealtimeThread watched) {
        int own = priorityOf(watched.getSchedulingParameters());
        return new PriorityParameters(Math.min(own + 1, PriorityScheduler.instance().getMaxPriority()));
    }

    @Override
    Object[] roots() {
        return new Object[] {this, handler};
    }

    @Override
    public void run() {
        long record = watched.record();
        try {
            for (long due = Machine.nextDeadline(record); due != 0; due = Machine.nextDeadline(record)) {
                Machine.sleepUntil(due);
                if (Machine.isMissed(record, due)) {
                    watched.deschedulePeriodic();
                    handler.release();
                }
            }
        } catch (InterruptedException e) {
            // A program that interrupts a thread of this package wants it to end.
            return;
        }
    }
}
