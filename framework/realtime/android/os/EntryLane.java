// SPDX-License-Identifier: Apache-2.0
package android.os;

import java.util.Arrays;

/**
 * Entries of one kind (synchronous or asynchronous) by priority; within a priority by time, then
 * arrival.
 *
 * <p>What arrives in the order of its times is appended to a line in O(1); what does not goes to a
 * heap in O(log n). The head of a priority is the earlier of both. A search looks at no more than
 * {@link #PRIORITIES} heads.
 */
final class EntryLane {
    /** 0 is for ordinary threads, 1 to 99 are Linux's real-time priorities. */
    static final int PRIORITIES = 100;
    /** First size of a priority's heap, made when the first message needs it. */
    static final int HEAP_FIRST = 64;

    private final QueueEntry[] first;
    private final QueueEntry[] last;
    private final QueueEntry[][] heaps;
    private final int[] heapCounts;
    /** A bit for each priority that holds something: two words. */
    private long low;
    private long high;

    /** For priorities below {@code priorities}. */
    EntryLane(int priorities) {
        first = new QueueEntry[priorities];
        last = new QueueEntry[priorities];
        heaps = new QueueEntry[priorities][];
        heapCounts = new int[priorities];
    }

    void add(QueueEntry entry, long nowNanos) {
        int priority = entry.priority;
        QueueEntry tail = last[priority];
        boolean isInOrder = entry.whenNanos <= nowNanos && (tail == null || tail.isBefore(entry));
        if (isInOrder) {
            entry.before = tail;
            if (tail == null) {
                first[priority] = entry;
            } else {
                tail.after = entry;
            }
            last[priority] = entry;
        } else {
            push(priority, entry);
        }
        mark(priority, true);
    }

    void remove(QueueEntry entry) {
        int priority = entry.priority;
        if (entry.heapIndex >= 0) {
            removeFromHeap(priority, entry);
        } else {
            if (entry.before == null) {
                first[priority] = entry.after;
            } else {
                entry.before.after = entry.after;
            }
            if (entry.after == null) {
                last[priority] = entry.before;
            } else {
                entry.after.before = entry.before;
            }
            entry.before = null;
            entry.after = null;
        }
        if (first[priority] == null && heapCounts[priority] == 0) {
            mark(priority, false);
        }
    }

    /** The highest priority below {@code limit} that holds something, or -1. */
    int highestBelow(int limit) {
        if (limit > 64) {
            long bits = limit >= 128 ? high : high & ((1L << (limit - 64)) - 1);
            if (bits != 0) {
                return 127 - Long.numberOfLeadingZeros(bits);
            }
        }
        long bits = limit >= 64 ? low : low & ((1L << limit) - 1);
        return bits == 0 ? -1 : 63 - Long.numberOfLeadingZeros(bits);
    }

    /** The earliest entry of a priority, due or not. */
    QueueEntry head(int priority) {
        QueueEntry line = first[priority];
        QueueEntry top = heapCounts[priority] == 0 ? null : heaps[priority][0];
        if (line == null || top == null) {
            return line == null ? top : line;
        }
        return line.isBefore(top) ? line : top;
    }

    private void mark(int priority, boolean isHeld) {
        long bit = 1L << (priority & 63);
        if (priority < 64) {
            low = isHeld ? low | bit : low & ~bit;
        } else {
            high = isHeld ? high | bit : high & ~bit;
        }
    }

    private void push(int priority, QueueEntry entry) {
        QueueEntry[] heap = heaps[priority];
        int count = heapCounts[priority];
        if (heap == null) {
            heap = new QueueEntry[HEAP_FIRST];
        } else if (count == heap.length) {
            heap = Arrays.copyOf(heap, count * 2);
        }
        heaps[priority] = heap;
        heapCounts[priority] = count + 1;
        up(heap, count, entry);
    }

    private void removeFromHeap(int priority, QueueEntry entry) {
        QueueEntry[] heap = heaps[priority];
        int count = --heapCounts[priority];
        int index = entry.heapIndex;
        QueueEntry moved = heap[count];
        heap[count] = null;
        entry.heapIndex = -1;
        if (index == count) {
            return;
        }
        if (index > 0 && moved.isBefore(heap[(index - 1) / 2])) {
            up(heap, index, moved);
        } else {
            down(heap, count, index, moved);
        }
    }

    private static void up(QueueEntry[] heap, int start, QueueEntry entry) {
        int index = start;
        while (index > 0 && entry.isBefore(heap[(index - 1) / 2])) {
            int parent = (index - 1) / 2;
            heap[index] = heap[parent];
            heap[index].heapIndex = index;
            index = parent;
        }
        heap[index] = entry;
        entry.heapIndex = index;
    }

    private static void down(QueueEntry[] heap, int count, int start, QueueEntry entry) {
        int index = start;
        while (true) {
            int child = 2 * index + 1;
            if (child >= count) {
                break;
            }
            if (child + 1 < count && heap[child + 1].isBefore(heap[child])) {
                child++;
            }
            if (!heap[child].isBefore(entry)) {
                break;
            }
            heap[index] = heap[child];
            heap[index].heapIndex = index;
            index = child;
        }
        heap[index] = entry;
        entry.heapIndex = index;
    }
}
