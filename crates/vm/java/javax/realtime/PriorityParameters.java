// SPDX-License-Identifier: Apache-2.0
package javax.realtime;

/** A priority: see {@link PriorityScheduler}. */
public class PriorityParameters extends SchedulingParameters {
    private volatile int priority;

    /** @throws IllegalArgumentException unless {@link PriorityScheduler} has this priority */
    public PriorityParameters(int priority) {
        check(priority);
        this.priority = priority;
    }

    /** The priority. */
    public int getPriority() {
        return priority;
    }

    /** Changes the priority of all who use these parameters, at once. */
    public void setPriority(int priority) {
        check(priority);
        this.priority = priority;
        users().tell();
    }

    private static void check(int priority) {
        if (!PriorityScheduler.isPriority(priority)) {
            throw new IllegalArgumentException("priority " + priority + " is not between 1 and 99");
        }
    }

    @Override
    public String toString() {
        return Integer.toString(priority);
    }
}
