// SPDX-License-Identifier: Apache-2.0
package android.os;

/**
 * A message's place in a {@link MessageQueue}: its time, its priority, and the links of the
 * structures that hold it.
 */
final class QueueEntry {
    final Message message;
    long whenNanos;
    /**
     * Order of arrival: equal times keep it. Negative for the front of the queue, where the last
     * comes first.
     */
    long sequence;
    int priority;
    boolean isAsynchronous;

    /** The one that arrived before it, or after it once the order is turned round. */
    QueueEntry arrival;
    /** About how many had arrived and were not taken. */
    int depth;
    /** The earliest time among itself and those of its batch that arrived later. */
    long earliestNanos;

    /** Neighbours in the line of its priority; index in the heap, or -1. */
    QueueEntry before;
    QueueEntry after;
    int heapIndex = -1;

    /** Its chain of the table for each key, and its neighbours there. */
    final int[] chain = new int[EntryTable.KEYS];
    final QueueEntry[] chainBefore = new QueueEntry[EntryTable.KEYS];
    final QueueEntry[] chainAfter = new QueueEntry[EntryTable.KEYS];

    QueueEntry(Message message) {
        this.message = message;
    }

    boolean isBefore(QueueEntry other) {
        return whenNanos != other.whenNanos ? whenNanos < other.whenNanos : sequence < other.sequence;
    }

    /** A chain by {@link #arrival}, or null: nobody has seen them. */
    static void recycleChain(QueueEntry chain) {
        QueueEntry entry = chain;
        while (entry != null) {
            QueueEntry next = entry.arrival;
            entry.arrival = null;
            entry.message.recycleUnchecked();
            entry = next;
        }
    }
}
