// SPDX-License-Identifier: Apache-2.0
package android.os;

/** A message in a {@link MessageQueue}: its time, its priority, and the links of the structures that hold it. */
final class QueueEntry {
    Message message;
    long whenNanos;
    /** Order of arrival: equal times keep it. Negative for the front of the queue, where the last comes first. */
    long sequence;
    int priority;
    boolean isAsynchronous;

    /** Neighbours in the line of its priority; index in the heap, or -1. */
    QueueEntry before;
    QueueEntry after;
    int heapIndex = -1;

    /** Neighbours in each of the table's chains. */
    final QueueEntry[] chainBefore = new QueueEntry[EntryTable.KEYS];
    final QueueEntry[] chainAfter = new QueueEntry[EntryTable.KEYS];

    boolean isBefore(QueueEntry other) {
        return whenNanos != other.whenNanos ? whenNanos < other.whenNanos : sequence < other.sequence;
    }

    boolean isBefore(long otherWhenNanos, long otherSequence) {
        return whenNanos != otherWhenNanos ? whenNanos < otherWhenNanos : sequence < otherSequence;
    }
}
