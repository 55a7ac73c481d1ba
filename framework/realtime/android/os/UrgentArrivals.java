// SPDX-License-Identifier: Apache-2.0
package android.os;

import java.util.concurrent.atomic.AtomicLong;

/**
 * What real-time threads sent and is not sorted in: a stack for each priority. For any thread;
 * {@link #take} for one at a time.
 */
final class UrgentArrivals {
    private final ArrivalStack[] stacks = new ArrivalStack[EntryLane.PRIORITIES];
    /** A bit for each priority whose stack was pushed to: two words. */
    private final AtomicLong low = new AtomicLong();
    private final AtomicLong high = new AtomicLong();

    UrgentArrivals() {
        for (int priority = 1; priority < stacks.length; priority++) {
            stacks[priority] = new ArrivalStack();
        }
    }

    /** Two compare-and-swaps. The entry is the looper's from the first on. */
    void add(QueueEntry entry) {
        int priority = entry.priority;
        stacks[priority].push(entry);
        AtomicLong word = wordOf(priority);
        long bit = bitOf(priority);
        long found = word.get();
        while ((found & bit) == 0 && !word.compareAndSet(found, found | bit)) {
            found = word.get();
        }
    }

    boolean isEmpty() {
        return high.get() == 0 && low.get() == 0;
    }

    /** The highest priority of what arrived; 0 if nothing did. */
    int highest() {
        long bits = high.get();
        if (bits != 0) {
            return 127 - Long.numberOfLeadingZeros(bits);
        }
        bits = low.get();
        return bits == 0 ? 0 : 63 - Long.numberOfLeadingZeros(bits);
    }

    /**
     * What arrived at a priority: a chain by {@link QueueEntry#arrival}, the first first.
     * O(arrivals).
     */
    QueueEntry take(int priority) {
        AtomicLong word = wordOf(priority);
        long bit = bitOf(priority);
        long found = word.get();
        // The bit goes first: who pushes from here on sets it again.
        while (!word.compareAndSet(found, found & ~bit)) {
            found = word.get();
        }
        QueueEntry rest = stacks[priority].takeAll();
        QueueEntry first = null;
        while (rest != null) {
            QueueEntry next = rest.arrival;
            rest.arrival = first;
            first = rest;
            rest = next;
        }
        return first;
    }

    private AtomicLong wordOf(int priority) {
        return priority < 64 ? low : high;
    }

    private static long bitOf(int priority) {
        return 1L << (priority & 63);
    }
}
