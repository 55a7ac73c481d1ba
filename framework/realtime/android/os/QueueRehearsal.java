// SPDX-License-Identifier: Apache-2.0
package android.os;

import java.util.concurrent.TimeUnit;

/**
 * Goes through everything that is done under a queue's lock, the rare included, in a queue that nobody else has. A method's first call
 * links it, which takes 100 µs and more: who calls first under the lock of a queue in use keeps its looper waiting so long.
 */
final class QueueRehearsal {
    /** A heap grows twice. */
    private static final int MESSAGES = 2 * EntryLane.HEAP_FIRST + 1;
    /** One for each word of a set of priorities. */
    private static final int[] REALTIME_PRIORITIES = {1, EntryLane.PRIORITIES - 1};

    private final MessageQueue queue;
    private final long nowNanos = SystemClock.uptimeNanos();

    QueueRehearsal(MessageQueue queue) {
        this.queue = queue;
    }

    void run() {
        send();
        queue.sortInSome();
        queue.announce(0, false);
        synchronized (queue) {
            queue.beginLook();
            for (QueueEntry due = queue.findDue(nowNanos); due != null; due = queue.findDue(nowNanos)) {
                queue.settle(0);
                queue.unlink(due);
            }
            // Only what is not due is left, and ordinary: a looper that waits for what is urgent has its priority.
            queue.fallAsleep();
        }
        int barrier = queue.postSyncBarrier();
        send();
        synchronized (queue) {
            queue.findDue(nowNanos);
        }
        queue.removeSyncBarrier(barrier);
        queue.rest.set(MessageQueue.AWAKE);
        for (EntryMatch match : EntryMatch.values()) {
            queue.visit(match, null, 0, null, this, true);
            queue.visit(match, null, 0, null, null, true);
            send();
        }
        queue.quit(true);
        send();
        queue.discardArrivals();
        queue.close();
    }

    /** Each earlier than the one before: a line holds what comes in the order of its time, a heap the rest. And one that is not due. */
    private void send() {
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
        if (priority > 0) {
            queue.realtimePending.incrementAndGet();
        }
        queue.arrivals.add(entry);
    }
}
