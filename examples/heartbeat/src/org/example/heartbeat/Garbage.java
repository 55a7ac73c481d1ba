// SPDX-License-Identifier: Apache-2.0
package org.example.heartbeat;

/** An ordinary thread that makes garbage at a steady rate. */
final class Garbage extends Thread {
    private static final int CHUNK_BYTES = 1024;
    private static final int CHUNKS = 256;
    private static final long PAUSE_MILLIS = 5;

    private volatile boolean ends;
    private volatile long chunks;
    private final byte[][] kept = new byte[CHUNKS][];

    Garbage() {
        super("garbage");
        setDaemon(true);
    }

    @Override
    public void run() {
        try {
            while (!ends) {
                for (int index = 0; index < CHUNKS; index++) {
                    kept[index] = new byte[CHUNK_BYTES];
                }
                chunks += CHUNKS;
                Thread.sleep(PAUSE_MILLIS);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    long kilobytes() {
        return chunks * CHUNK_BYTES / 1024;
    }

    void end() {
        ends = true;
    }
}
