// SPDX-License-Identifier: Apache-2.0
package javax.realtime;

/** Who decides which thread runs: there is {@link PriorityScheduler}. */
public abstract class Scheduler {
    Scheduler() {}

    /** {@link PriorityScheduler#instance}. */
    public static Scheduler getDefaultScheduler() {
        return PriorityScheduler.instance();
    }

    /** The policy's name. */
    public abstract String getPolicyName();
}
