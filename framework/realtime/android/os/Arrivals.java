// SPDX-License-Identifier: Apache-2.0
package android.os;

import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReferenceFieldUpdater;

/**
 * What was sent and is not sorted in yet: a stack for each priority, which senders push to without a lock and which is taken
 * whole. A sender that is preempted has either published its message or not: it holds up nobody.
 *
 * <p>{@link #add} is for any thread: one compare-and-swap, tried again if another sender's came between; one more for a
 * real-time message. Everything else is for the holder of the queue's lock.
 */
final class Arrivals {
    /** Ordinary arrivals turned round or handed out between two looks at what is more urgent. */
    private static final int CHUNK = 32;

    private final Stack[] stacks = new Stack[EntryLane.PRIORITIES];
    /** A bit for each real-time priority whose stack was pushed to: two words. */
    private final AtomicLong low = new AtomicLong();
    private final AtomicLong high = new AtomicLong();

    /** A batch of ordinary arrivals: still the last first; turned round of those; and, when all are turned, the first first. */
    private QueueEntry lastFirst;
    private QueueEntry turned;
    private QueueEntry firstFirst;

    /** One priority's. */
    private static final class Stack {
        static final AtomicReferenceFieldUpdater<Stack, QueueEntry> LAST =
                AtomicReferenceFieldUpdater.newUpdater(Stack.class, QueueEntry.class, "last");
        volatile QueueEntry last;

        void push(QueueEntry entry) {
            while (true) {
                QueueEntry found = last;
                entry.arrival = found;
                if (LAST.compareAndSet(this, found, entry)) {
                    return;
                }
            }
        }

        QueueEntry takeAll() {
            return last == null ? null : LAST.getAndSet(this, null);
        }
    }

    Arrivals() {
        for (int priority = 0; priority < stacks.length; priority++) {
            stacks[priority] = new Stack();
        }
    }

    void add(QueueEntry entry) {
        int priority = entry.priority;
        stacks[priority].push(entry);
        if (priority > 0) {
            AtomicLong word = priority < 64 ? low : high;
            long bit = 1L << (priority & 63);
            long found = word.get();
            while ((found & bit) == 0 && !word.compareAndSet(found, found | bit)) {
                found = word.get();
            }
        }
    }

    /** The highest real-time priority of what arrived; 0 if nothing of that kind did. */
    int highest() {
        long bits = high.get();
        if (bits != 0) {
            return 127 - Long.numberOfLeadingZeros(bits);
        }
        bits = low.get();
        return bits == 0 ? 0 : 63 - Long.numberOfLeadingZeros(bits);
    }

    boolean isEmpty() {
        return highest() == 0 && stacks[0].last == null && !hasBatch();
    }

    /** What arrived at a real-time priority: a chain by {@link QueueEntry#arrival}, the first first. O(arrivals). */
    QueueEntry take(int priority) {
        AtomicLong word = priority < 64 ? low : high;
        long bit = 1L << (priority & 63);
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

    /** Are there ordinary ones that were taken and not handed out? */
    boolean hasBatch() {
        return lastFirst != null || firstFirst != null;
    }

    /** Takes the ordinary ones, if the batch before is handed out. */
    void takeBatch() {
        if (!hasBatch()) {
            lastFirst = stacks[0].takeAll();
        }
    }

    /** Some of the batch, as {@link #take}; null if more of it must be turned round first. O(1). */
    QueueEntry takeOrdinary() {
        if (lastFirst != null) {
            for (int count = 0; count < CHUNK && lastFirst != null; count++) {
                QueueEntry next = lastFirst.arrival;
                lastFirst.arrival = turned;
                turned = lastFirst;
                lastFirst = next;
            }
            if (lastFirst != null) {
                return null;
            }
            firstFirst = turned;
            turned = null;
        }
        QueueEntry first = firstFirst;
        QueueEntry end = first;
        for (int count = 1; count < CHUNK && end != null; count++) {
            end = end.arrival;
        }
        if (end == null) {
            firstFirst = null;
        } else {
            firstFirst = end.arrival;
            end.arrival = null;
        }
        return first;
    }
}
