// SPDX-License-Identifier: Apache-2.0
package android.os;

import java.util.concurrent.atomic.AtomicReferenceFieldUpdater;

/**
 * What was sent and is not sorted in: senders push without a lock, one compare-and-swap, tried
 * again if another sender's came between; all of it is taken at once. A sender that is preempted
 * has either published its message or not: it holds up nobody.
 */
final class ArrivalStack {
    private static final AtomicReferenceFieldUpdater<ArrivalStack, QueueEntry> LAST =
            AtomicReferenceFieldUpdater.newUpdater(ArrivalStack.class, QueueEntry.class, "last");

    private volatile QueueEntry last;

    /**
     * Answers how many lie there now: a hint, for the one below may have been taken and be back
     * meanwhile.
     */
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

    boolean isEmpty() {
        return last == null;
    }

    /** The last first. */
    QueueEntry takeAll() {
        return last == null ? null : LAST.getAndSet(this, null);
    }
}
