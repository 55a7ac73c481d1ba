// SPDX-License-Identifier: Apache-2.0
package android.os;

import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReferenceFieldUpdater;

/**
 * What was sent and is not sorted in yet: a stack for each priority, which senders push to without a lock and which is taken
 * whole. A sender that is preempted has either published its message or not: it holds up nobody.
 *
 * <p>The earliest time of the ordinary ones is known without looking through them: a sender that pushed announces its time if
 * that is earlier. So whoever has sorted in some of them knows whether the rest may come before what is due. Until a sender
 * has announced, its message counts as being sent.
 *
 * <p>{@link #add} is for any thread: one compare-and-swap, tried again if another sender's came between; one more for a
 * real-time message or an earlier time. Everything else is for the holder of the queue's lock.
 */
final class Arrivals {
    /** Ordinary arrivals turned round or handed out between two looks at what is more urgent. */
    private static final int CHUNK = 8;

    private final Stack[] stacks = new Stack[EntryLane.PRIORITIES];
    /** A bit for each real-time priority whose stack was pushed to: two words. */
    private final AtomicLong low = new AtomicLong();
    private final AtomicLong high = new AtomicLong();

    /** No later than any ordinary arrival that was announced and is not in the batch. */
    private final AtomicLong earliest = new AtomicLong(Long.MAX_VALUE);

    /** A batch of ordinary arrivals: still the last first; turned round of those; and, when all are turned, the first first. */
    private QueueEntry lastFirst;
    private QueueEntry turned;
    private QueueEntry firstFirst;
    /** {@link #earliest} when it was taken. */
    private long batchEarliest;

    /** One priority's. */
    private static final class Stack {
        static final AtomicReferenceFieldUpdater<Stack, QueueEntry> LAST =
                AtomicReferenceFieldUpdater.newUpdater(Stack.class, QueueEntry.class, "last");
        volatile QueueEntry last;

        /** Answers how many lie there now: a hint, for the one below may have been taken and be back meanwhile. */
        int push(QueueEntry entry) {
            while (true) {
                QueueEntry found = last;
                int depth = found == null ? 1 : found.depth + 1;
                entry.arrival = found;
                entry.depth = depth;
                if (LAST.compareAndSet(this, found, entry)) {
                    return depth;
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

    /** Answers about how many of its priority are not taken: the entry is the looper's already. */
    int add(QueueEntry entry) {
        int priority = entry.priority;
        long whenNanos = entry.whenNanos;
        int depth = stacks[priority].push(entry);
        if (priority == 0) {
            // After the push: takeBatch forgets what was announced before it takes, so nothing that stays behind.
            long found = earliest.get();
            while (whenNanos < found && !earliest.compareAndSet(found, whenNanos)) {
                found = earliest.get();
            }
        } else {
            AtomicLong word = priority < 64 ? low : high;
            long bit = 1L << (priority & 63);
            long found = word.get();
            while ((found & bit) == 0 && !word.compareAndSet(found, found | bit)) {
                found = word.get();
            }
        }
        return depth;
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

    /** Comes every ordinary arrival, in AOSP's order, after an entry that is sorted in? False also if that is not known. */
    boolean areAfter(QueueEntry entry) {
        long batch = Long.MAX_VALUE;
        if (lastFirst != null) {
            batch = batchEarliest;
        } else if (firstFirst != null) {
            batch = firstFirst.earliestNanos;
        }
        long least = Math.min(batch, earliest.get());
        // Equal times keep the order of arrival, but time 0 goes in front of all.
        return least >= entry.whenNanos && least != 0;
    }

    /** Are there ordinary ones that were taken and not handed out? */
    boolean hasBatch() {
        return lastFirst != null || firstFirst != null;
    }

    /** Takes the ordinary ones that are there now; the batch before is handed out. False if there are none. */
    boolean takeBatch() {
        if (stacks[0].last == null) {
            return false;
        }
        batchEarliest = earliest.getAndSet(Long.MAX_VALUE);
        lastFirst = stacks[0].takeAll();
        return true;
    }

    /** Some of the batch, as {@link #take}; null if more of it must be turned round first. O(1). */
    QueueEntry takeOrdinary() {
        if (lastFirst != null) {
            turnRound();
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

    /** Each one turned learns the earliest time of itself and of those that came after it. */
    private void turnRound() {
        for (int count = 0; count < CHUNK && lastFirst != null; count++) {
            QueueEntry entry = lastFirst;
            lastFirst = entry.arrival;
            entry.arrival = turned;
            entry.earliestNanos =
                    turned == null ? entry.whenNanos : Math.min(entry.whenNanos, turned.earliestNanos);
            turned = entry;
        }
    }
}
