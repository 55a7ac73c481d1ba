// SPDX-License-Identifier: Apache-2.0

import android.util.Log;
import javax.realtime.RealtimeThread;

/**
 * What is measured: in each release 64 small arrays, one exception, and a line in the log per
 * hundred.
 */
final class Measured implements Runnable {
    private static final int ARRAYS = 64;
    /**
     * 352 bytes with the header: 2,000 releases allocate more than ten times the reserve of a heap
     * of 128 MB.
     */
    private static final int ARRAY_LENGTH = 84;
    private static final int RING = 1024;
    private static final int RELEASES_PER_LINE = 100;
    private static final int FRAMES = 8;

    private final int[][] ring = new int[RING][];
    private final long startNanos;
    private final long periodNanos;
    /** By release; nanoseconds. */
    final long[] late;
    final long[] work;
    private int allocated;
    private int caught;
    volatile int done;
    volatile int memoryErrors;
    volatile int missed;
    volatile boolean isOver;

    Measured(long startNanos, long periodNanos, int releasesMax) {
        this.startNanos = startNanos;
        this.periodNanos = periodNanos;
        late = new long[releasesMax];
        work = new long[releasesMax];
    }

    static long bytesPerRelease() {
        return ARRAYS * (16L + 4 * ARRAY_LENGTH);
    }

    long due(int release) {
        return startNanos + release * periodNanos;
    }

    @Override
    public void run() {
        for (int release = 0; release < late.length && !isOver; release++) {
            long begun = System.nanoTime();
            try {
                work(release);
            } catch (OutOfMemoryError e) {
                memoryErrors++;
            }
            long ended = System.nanoTime();
            late[release] = begun - due(release);
            work[release] = ended - begun;
            done = release + 1;
            while (!RealtimeThread.waitForNextPeriod()) {
                missed++;
            }
        }
    }

    private void work(int release) {
        for (int count = 0; count < ARRAYS; count++) {
            ring[allocated++ & RING - 1] = new int[ARRAY_LENGTH];
        }
        try {
            descend(FRAMES);
        } catch (IllegalStateException e) {
            caught++;
        }
        if (release % RELEASES_PER_LINE == 0) {
            Log.i("stall", "a line of the measured thread");
        }
    }

    private static int descend(int frames) {
        if (frames == 0) {
            throw new IllegalStateException("one of each release");
        }
        return descend(frames - 1) + 1;
    }
}
