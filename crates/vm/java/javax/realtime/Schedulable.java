// SPDX-License-Identifier: Apache-2.0
package javax.realtime;

/** What a scheduler releases: a real-time thread or an event's handler. */
public interface Schedulable extends Runnable {
    /** How urgent it is. */
    SchedulingParameters getSchedulingParameters();

    /** Changes how urgent it is, at once. */
    void setSchedulingParameters(SchedulingParameters scheduling);

    /** When it is released. */
    ReleaseParameters getReleaseParameters();

    /** Changes when it is released, from its next release on. */
    void setReleaseParameters(ReleaseParameters release);

    /** Who releases it. */
    Scheduler getScheduler();
}
