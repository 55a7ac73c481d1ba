// SPDX-License-Identifier: Apache-2.0

import java.util.concurrent.atomic.AtomicLong;

/** Objects that are kept until memory is exhausted; then some of them are let go. */
final class Hoard {
    private static final int PARTS = 64;
    private static final int PART_BYTES_MAX = 4000;
    static final AtomicLong EXHAUSTED = new AtomicLong();
    /** Lists of nodes: what is let go is a whole list. */
    private static final Hoard[] LISTS = new Hoard[PARTS];
    private static int given;

    private final Hoard next;
    private final byte[] bytes;

    private Hoard(Hoard next, int length) {
        this.next = next;
        bytes = new byte[length];
    }

    /** Until there is no more, or the window is over. */
    static void fill() {
        try {
            for (int count = 0; !Stall.isOver(); count++) {
                int part = count % PARTS;
                LISTS[part] = new Hoard(LISTS[part], 16 + count * 61 % PART_BYTES_MAX);
            }
        } catch (OutOfMemoryError e) {
            EXHAUSTED.incrementAndGet();
            giveOne();
        }
    }

    private static synchronized void giveOne() {
        LISTS[given++ % PARTS] = null;
    }

    /** Lets go of all. */
    static void empty() {
        java.util.Arrays.fill(LISTS, null);
    }
}
