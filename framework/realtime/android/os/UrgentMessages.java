// SPDX-License-Identifier: Apache-2.0
package android.os;

import java.util.concurrent.atomic.AtomicInteger;

/**
 * What real-time threads sent to a queue. {@link #add} and {@link #hasArrived} are for any thread
 * and take no lock; everything else is for the holder of this object's: the looper, and who
 * searches. No sender takes it.
 */
final class UrgentMessages {
    final SortedEntries sorted = new SortedEntries(EntryLane.PRIORITIES);
    /** Of those that were sent and not taken. */
    private final AtomicInteger pending = new AtomicInteger();
    private final UrgentArrivals arrivals = new UrgentArrivals();
    /** Something was sorted in, or has raised the looper: its priority is to be settled. */
    volatile boolean isUnsettled;

    /** One more, unless {@code max} wait already. */
    boolean tryReserve(int max) {
        if (pending.incrementAndGet() <= max) {
            return true;
        }
        pending.decrementAndGet();
        return false;
    }

    /** After {@link #tryReserve}. */
    void add(QueueEntry entry) {
        arrivals.add(entry);
    }

    boolean hasArrived() {
        return !arrivals.isEmpty();
    }

    /**
     * The due entry of the highest priority, or null; what had arrived and is less urgent than it
     * may be left where it is.
     */
    QueueEntry findDue(long nowNanos) {
        QueueEntry due = sorted.due(nowNanos);
        int arrived = arrivals.highest();
        while (arrived > 0 && (due == null || arrived >= due.priority)) {
            sortIn(arrived, nowNanos);
            due = sorted.due(nowNanos);
            arrived = arrivals.highest();
        }
        return due;
    }

    /** All that had arrived before the call. */
    void sortInAll(long nowNanos) {
        for (int priority = arrivals.highest(); priority > 0; priority = arrivals.highest()) {
            sortIn(priority, nowNanos);
        }
    }

    private void sortIn(int priority, long nowNanos) {
        isUnsettled = true;
        sorted.addAll(arrivals.take(priority), nowNanos);
    }

    /** The looper takes it. */
    Message take(QueueEntry entry) {
        sorted.remove(entry);
        pending.decrementAndGet();
        return entry.message;
    }

    /** As {@link SortedEntries#recycleMatches}. */
    int recycleMatches(EntryMatch match, Handler handler, int what, Runnable callback, Object object) {
        int count = sorted.recycleMatches(match, handler, what, callback, object);
        pending.addAndGet(-count);
        return count;
    }

    /** As {@link SortedEntries#recycleAfter}. */
    void recycleAfter(long limitNanos) {
        pending.addAndGet(-sorted.recycleAfter(limitNanos));
    }

    /** What was sent when the queue had quit already. */
    void recycleArrivals() {
        for (int priority = arrivals.highest(); priority > 0; priority = arrivals.highest()) {
            QueueEntry.recycleChain(arrivals.take(priority));
        }
    }
}
