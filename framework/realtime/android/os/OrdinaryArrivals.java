// SPDX-License-Identifier: Apache-2.0
package android.os;

import java.util.concurrent.atomic.AtomicLong;

/**
 * What ordinary threads sent and is not sorted in, handed out a few at a time.
 *
 * <p>The earliest time of it is known without looking through it: a sender that pushed announces
 * its time if that is earlier. So the thread that sorts some knows whether the rest may come before
 * what is due. Until a sender has announced, its message counts as being sent.
 *
 * <p>{@link #add}, {@link #isEmpty} and {@link #areAnnouncedAfter} are for any thread. Everything
 * else is for the holder of the lock of {@link OrdinaryMessages}.
 */
final class OrdinaryArrivals {
    /** Turned round or handed out between two looks at what is urgent. */
    private static final int CHUNK = 8;

    private final ArrivalStack stack = new ArrivalStack();
    /** No later than any that was announced and is not in the batch. */
    private final AtomicLong earliest = new AtomicLong(Long.MAX_VALUE);

    /**
     * A batch: still the last first; turned round of those; and, when all are turned, the first
     * first.
     */
    private QueueEntry lastFirst;
    private QueueEntry turned;
    private QueueEntry firstFirst;
    /** {@link #earliest} when it was taken. */
    private long takenEarliest;

    /** Answers about how many are not taken. The entry is the looper's from the push on. */
    int add(QueueEntry entry) {
        long whenNanos = entry.whenNanos;
        int depth = stack.push(entry);
        // After the push: takeBatch forgets what was announced before it takes, so nothing that
        // stays behind.
        long found = earliest.get();
        while (whenNanos < found && !earliest.compareAndSet(found, whenNanos)) {
            found = earliest.get();
        }
        return depth;
    }

    /** Has all of it been taken? What was taken and not handed out does not count. */
    boolean isEmpty() {
        return stack.isEmpty();
    }

    /**
     * Comes all that was announced and not taken, in AOSP's order, after an entry that is sorted
     * in?
     */
    boolean areAnnouncedAfter(QueueEntry entry) {
        return isAfter(earliest.get(), entry);
    }

    /** Comes all of it after that entry? False also if that is not known. */
    boolean areAfter(QueueEntry entry) {
        return isAfter(batchEarliest(), entry) && areAnnouncedAfter(entry);
    }

    /** Is one of it for the front of the queue? */
    boolean areForFront() {
        return batchEarliest() == 0 || earliest.get() == 0;
    }

    private long batchEarliest() {
        if (lastFirst != null) {
            return takenEarliest;
        }
        return firstFirst == null ? Long.MAX_VALUE : firstFirst.earliestNanos;
    }

    /** Equal times keep the order of arrival, but time 0 goes in front of all. */
    private static boolean isAfter(long whenNanos, QueueEntry entry) {
        return whenNanos >= entry.whenNanos && whenNanos != 0;
    }

    /** Were some taken and not handed out? */
    boolean hasBatch() {
        return lastFirst != null || firstFirst != null;
    }

    /** Takes what is there now; the batch before is handed out. False if there is nothing. */
    boolean takeBatch() {
        if (stack.isEmpty()) {
            return false;
        }
        takenEarliest = earliest.getAndSet(Long.MAX_VALUE);
        lastFirst = stack.takeAll();
        return true;
    }

    /**
     * Some of the batch, by {@link QueueEntry#arrival}, the first first; null if more of it must be
     * turned round before. O(1).
     */
    QueueEntry takeSome() {
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
