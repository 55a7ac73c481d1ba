// SPDX-License-Identifier: Apache-2.0
package javax.realtime;

/** Linux's SCHED_FIFO: priority n here is SCHED_FIFO n there, from 1 (least urgent) to 99. */
public class PriorityScheduler extends Scheduler {
    private static final int PRIORITY_MIN = 1;
    /** The kernel's own watchdogs run at 99 too. */
    private static final int PRIORITY_MAX = 99;
    private static final int PRIORITY_NORM = 50;
    private static final PriorityScheduler INSTANCE = new PriorityScheduler();

    /** For subclasses; see {@link #instance}. */
    protected PriorityScheduler() {}

    /** The only one. */
    public static PriorityScheduler instance() {
        return INSTANCE;
    }

    /** SCHED_FIFO 1. */
    public int getMinPriority() {
        return PRIORITY_MIN;
    }

    /** SCHED_FIFO 99. */
    public int getMaxPriority() {
        return PRIORITY_MAX;
    }

    /** What a real-time thread gets that asks for nothing else: SCHED_FIFO 50. */
    public int getNormPriority() {
        return PRIORITY_NORM;
    }

    @Override
    public String getPolicyName() {
        return "Fixed Priority";
    }

    static boolean isPriority(int priority) {
        return PRIORITY_MIN <= priority && priority <= PRIORITY_MAX;
    }
}
