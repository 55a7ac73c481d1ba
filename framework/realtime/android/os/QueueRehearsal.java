// SPDX-License-Identifier: Apache-2.0
package android.os;

import java.util.concurrent.TimeUnit;

/**
 * Goes through everything that is done under a queue's lock, the rare included, in a queue that
 * nobody else has. A method's first call links it, which takes 100 µs and more: who calls first
 * under the lock of a queue in use keeps its looper waiting so long.
 */
final class QueueRehearsal {
    /** A heap grows twice. */
    private static final int MESSAGES = 2 * EntryLane.HEAP_FIRST + 1;
    /** Each turns round or hands out 128. */
    private static final int SORTERS = 4;
    /** One for each word of a set of priorities. */
    private static final int[] REALTIME_PRIORITIES = {1, EntryLane.PRIORITIES - 1};

    private final MessageQueue queue;
    private final UrgentMessages urgent;
    private final OrdinaryMessages ordinary;
    private final long nowNanos = SystemClock.uptimeNanos();

    QueueRehearsal(MessageQueue queue) {
        this.queue = queue;
        urgent = queue.urgent;
        ordinary = queue.ordinary;
    }

    void run() {
        send();
        sortIn();
        queue.announce(0, false);
        takeAll();
        // Only what is not due is left, and ordinary: a looper that waits for what is urgent has
        // its priority.
        synchronized (ordinary) {
            queue.fallAsleep();
        }
        queue.fallAsleepBehindSorters();
        int barrier = queue.postSyncBarrier();
        send();
        sortIn();
        takeAll();
        queue.removeSyncBarrier(barrier);
        queue.rest.set(MessageQueue.AWAKE);
        for (EntryMatch match : EntryMatch.values()) {
            search(match);
            send();
        }
        queue.quit(true);
        send();
        queue.recycleArrivals();
        queue.close();
    }

    /** As ordinary senders: all of it, and once more, which leaves what is offered where it is. */
    private void sortIn() {
        for (int count = 0; count < SORTERS; count++) {
            queue.sortInSome();
        }
    }

    private void search(EntryMatch match) {
        synchronized (urgent) {
            urgent.sortInAll(nowNanos);
            urgent.sorted.contains(match, null, 0, null, this);
            urgent.recycleMatches(match, null, 0, null, this);
            urgent.recycleMatches(match, null, 0, null, null);
        }
        synchronized (ordinary) {
            ordinary.sortInAll(nowNanos);
            ordinary.sorted.contains(match, null, 0, null, this);
            ordinary.sorted.recycleMatches(match, null, 0, null, this);
            ordinary.sorted.recycleMatches(match, null, 0, null, null);
        }
    }

    /** As the looper: what is offered, and then everything that is due. */
    private void takeAll() {
        queue.beginLook();
        synchronized (urgent) {
            for (QueueEntry due = urgent.findDue(nowNanos); due != null; due = urgent.findDue(nowNanos)) {
                queue.runAt(0);
                urgent.take(due);
            }
        }
        QueueEntry offered = ordinary.offered();
        if (offered != null && queue.isOrdinaryNext()) {
            ordinary.takeOffered(offered);
        }
        synchronized (ordinary) {
            for (QueueEntry due = ordinary.findDue(nowNanos); due != null; due = ordinary.findDue(nowNanos)) {
                ordinary.take(due);
            }
        }
    }

    /**
     * One that comes before the rest, and is offered; then each earlier than the one before: a line
     * holds what comes in the order of its time, a heap the rest. And one that is not due.
     */
    private void send() {
        add(nowNanos - TimeUnit.HOURS.toNanos(1), 0, false);
        for (int count = 0; count < MESSAGES; count++) {
            add(nowNanos - TimeUnit.MILLISECONDS.toNanos(count), 0, count % 2 == 0);
        }
        add(nowNanos + TimeUnit.HOURS.toNanos(1), 0, false);
        for (int priority : REALTIME_PRIORITIES) {
            add(nowNanos, priority, false);
            add(nowNanos - 1, priority, true);
        }
    }

    private void add(long whenNanos, int priority, boolean isAsynchronous) {
        QueueEntry entry = new Message().entry;
        entry.whenNanos = whenNanos;
        entry.priority = priority;
        entry.isAsynchronous = isAsynchronous;
        if (priority == 0) {
            ordinary.add(entry);
        } else if (urgent.tryReserve(MessageQueue.REALTIME_PENDING_MAX)) {
            urgent.add(entry);
        }
    }
}
