// SPDX-License-Identifier: Apache-2.0
package android.os;

import java.util.ArrayList;

/**
 * Messages in the order in which they are dispatched, the barriers among them, and what they are
 * found by. For one thread at a time.
 */
final class SortedEntries {
    private final EntryLane synchronous;
    private final EntryLane asynchronous;
    private final EntryTable table = new EntryTable();
    /** By time, then arrival; {@code message.arg1} is the token. */
    private final ArrayList<QueueEntry> barriers = new ArrayList<>();
    private long nextSequence = 1;
    private long nextFrontSequence = -1;

    /** For priorities below {@code priorities}. */
    SortedEntries(int priorities) {
        synchronous = new EntryLane(priorities);
        asynchronous = new EntryLane(priorities);
    }

    /** A chain by {@link QueueEntry#arrival}, the first first. */
    void addAll(QueueEntry chain, long nowNanos) {
        QueueEntry entry = chain;
        while (entry != null) {
            QueueEntry next = entry.arrival;
            entry.arrival = null;
            // AOSP puts time 0 in front of everything, the last one first.
            entry.sequence = entry.whenNanos == 0 ? nextFrontSequence-- : nextSequence++;
            putBack(entry, nowNanos);
            entry = next;
        }
    }

    /** One that was here before, where it was. */
    void putBack(QueueEntry entry, long nowNanos) {
        laneOf(entry).add(entry, nowNanos);
        table.add(entry);
    }

    void remove(QueueEntry entry) {
        laneOf(entry).remove(entry);
        table.remove(entry);
    }

    private EntryLane laneOf(QueueEntry entry) {
        return entry.isAsynchronous ? asynchronous : synchronous;
    }

    /** The due entry of the highest priority that no barrier holds back, or null. */
    QueueEntry due(long nowNanos) {
        QueueEntry barrier = firstBarrier();
        int ordinary = synchronous.highestBelow(EntryLane.PRIORITIES);
        int free = asynchronous.highestBelow(EntryLane.PRIORITIES);
        while (ordinary >= 0 || free >= 0) {
            int priority = Math.max(ordinary, free);
            QueueEntry best = null;
            if (ordinary == priority) {
                QueueEntry head = synchronous.head(priority);
                boolean isFree = barrier == null || head.isBefore(barrier);
                best = isFree && head.whenNanos <= nowNanos ? head : null;
                ordinary = synchronous.highestBelow(priority);
            }
            if (free == priority) {
                QueueEntry head = asynchronous.head(priority);
                boolean isBetter = best == null || head.isBefore(best);
                best = isBetter && head.whenNanos <= nowNanos ? head : best;
                free = asynchronous.highestBelow(priority);
            }
            if (best != null) {
                return best;
            }
        }
        return null;
    }

    /**
     * The earliest time of an entry that no barrier holds back; {@link Long#MAX_VALUE} if there is
     * none.
     */
    long nextTimeNanos() {
        QueueEntry barrier = firstBarrier();
        long earliest = Long.MAX_VALUE;
        int priority = synchronous.highestBelow(EntryLane.PRIORITIES);
        for (; priority >= 0; priority = synchronous.highestBelow(priority)) {
            QueueEntry head = synchronous.head(priority);
            if (barrier == null || head.isBefore(barrier)) {
                earliest = Math.min(earliest, head.whenNanos);
            }
        }
        priority = asynchronous.highestBelow(EntryLane.PRIORITIES);
        for (; priority >= 0; priority = asynchronous.highestBelow(priority)) {
            earliest = Math.min(earliest, asynchronous.head(priority).whenNanos);
        }
        return earliest;
    }

    /** -1 if there is nothing. */
    int highestPriority() {
        return Math.max(
                synchronous.highestBelow(EntryLane.PRIORITIES), asynchronous.highestBelow(EntryLane.PRIORITIES));
    }

    /** Is nothing due, not even a barrier? */
    boolean isIdleAt(long nowNanos) {
        QueueEntry barrier = firstBarrier();
        return (barrier == null || barrier.whenNanos > nowNanos) && due(nowNanos) == null;
    }

    private QueueEntry firstBarrier() {
        return barriers.isEmpty() ? null : barriers.get(0);
    }

    /** Behind all that is here. */
    void postBarrier(int token, long whenNanos) {
        Message message = Message.obtain();
        message.tryMarkInUse();
        message.arg1 = token;
        message.entry.whenNanos = whenNanos;
        message.entry.sequence = nextSequence++;
        barriers.add(message.entry);
    }

    /** False if there is none of that token. */
    boolean removeBarrier(int token) {
        for (int index = 0; index < barriers.size(); index++) {
            if (barriers.get(index).message.arg1 == token) {
                barriers.remove(index).message.recycleUnchecked();
                return true;
            }
        }
        return false;
    }

    void clearBarriers() {
        barriers.clear();
    }

    /** Visits one chain: is there a match? */
    boolean contains(EntryMatch match, Handler handler, int what, Runnable callback, Object object) {
        for (QueueEntry entry = match.first(table, handler, what, callback); entry != null; entry = entry.chainAfter[match.key]) {
            if (match.isMatch(entry.message, handler, what, callback, object)) {
                return true;
            }
        }
        return false;
    }

    /** Visits one chain, recycles what matches and answers how many that were. */
    int recycleMatches(EntryMatch match, Handler handler, int what, Runnable callback, Object object) {
        int count = 0;
        QueueEntry entry = match.first(table, handler, what, callback);
        while (entry != null) {
            QueueEntry after = entry.chainAfter[match.key];
            if (match.isMatch(entry.message, handler, what, callback, object)) {
                recycle(entry);
                count++;
            }
            entry = after;
        }
        return count;
    }

    private void recycle(QueueEntry entry) {
        remove(entry);
        entry.message.recycleUnchecked();
    }

    /** Recycles what is for later than a time, and answers how many that were. O(n log n). */
    int recycleAfter(long limitNanos) {
        return recycleAfter(synchronous, limitNanos) + recycleAfter(asynchronous, limitNanos);
    }

    private int recycleAfter(EntryLane lane, long limitNanos) {
        int count = 0;
        ArrayList<QueueEntry> kept = new ArrayList<>();
        for (int priority = lane.highestBelow(EntryLane.PRIORITIES); priority >= 0; ) {
            QueueEntry head = lane.head(priority);
            if (head.whenNanos > limitNanos) {
                recycle(head);
                count++;
            } else {
                lane.remove(head);
                kept.add(head);
            }
            priority = lane.highestBelow(EntryLane.PRIORITIES);
        }
        for (QueueEntry entry : kept) {
            lane.add(entry, limitNanos);
        }
        return count;
    }

    /**
     * Puts a handler's due entries in front of all others of their priority, in their order. O(n
     * log n) in the handler's entries.
     */
    void bringForward(Handler handler, long nowNanos) {
        ArrayList<QueueEntry> found = new ArrayList<>();
        for (QueueEntry entry = table.firstOfHandler(handler); entry != null;
                entry = entry.chainAfter[EntryTable.BY_HANDLER]) {
            if (entry.message.target == handler && entry.whenNanos <= nowNanos) {
                found.add(entry);
            }
        }
        found.sort((one, other) -> one.isBefore(other) ? 1 : -1);
        for (QueueEntry entry : found) {
            EntryLane lane = laneOf(entry);
            lane.remove(entry);
            entry.whenNanos = 0;
            entry.sequence = nextFrontSequence--;
            lane.add(entry, nowNanos);
        }
    }
}
