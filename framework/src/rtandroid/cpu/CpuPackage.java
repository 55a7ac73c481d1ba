// SPDX-License-Identifier: Apache-2.0
package rtandroid.cpu;

import takt.server.FrequencyLock;

/**
 * The processors' frequency, held at one level: as in RTAndroid. The first process that holds it
 * decides the level; others join at the same one, and are refused at another. Each process gives
 * back what it has taken, and all of it when it ends, in whatever way.
 *
 * <p>The manifest must ask for {@code takt.permission.LOCK_CPU_FREQUENCY}.
 */
public final class CpuPackage {
    /** The least frequency. */
    public static final int MIN = 0;
    /** Half way from the least to the greatest. */
    public static final int MIDDLE = 50;
    /** The greatest frequency. */
    public static final int MAX = 100;
    /** Nobody holds it. */
    public static final int NONE = -1;

    private CpuPackage() {}

    /**
     * Holds all processors at a level, in percent of the way from the least to the greatest
     * frequency. When this returns they run at it. It counts: a process gives it back as often.
     *
     * @throws SecurityException if the manifest does not ask for the permission
     * @throws IllegalArgumentException unless it is 0 to 100
     * @throws IllegalStateException if another level is held
     * @throws UnsupportedOperationException if the machine has no cpufreq, or does not let it be
     *     written; the message says which
     */
    public static void lockPower(int percent) {
        FrequencyLock.lock(percent);
    }

    /** Gives back one; with the last one of all processes the limits of before are there again. */
    public static void unlockPower() {
        if (!FrequencyLock.unlock()) {
            throw new IllegalStateException("this process does not hold the frequency");
        }
    }

    /** The level that is held, by whichever process, or {@link #NONE}. */
    public static int lockedPower() {
        return FrequencyLock.level();
    }
}
