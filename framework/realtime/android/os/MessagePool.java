// SPDX-License-Identifier: Apache-2.0
package android.os;

import java.util.concurrent.atomic.AtomicLong;

/**
 * Unused messages, for any number of threads, without a lock: a thread that is preempted here holds
 * up nobody.
 *
 * <p>Places are numbered. One stack holds the numbers of empty places, one those of full ones;
 * a thread with a number has the place to itself. Taking and giving are two compare-and-swaps
 * each, tried again only if another thread's came between. The upper half of a stack's word changes
 * with every removal, so that a number which was taken and came back in between is noticed.
 */
public final class MessagePool {
    private final Message[] places;
    /** The number below, in whichever stack a number is; numbers count from one. */
    private final int[] below;
    private final AtomicLong empty = new AtomicLong();
    private final AtomicLong full = new AtomicLong();

    /** An empty pool that keeps so many messages at most. */
    MessagePool(int capacity) {
        places = new Message[capacity + 1];
        below = new int[capacity + 1];
        for (int number = 1; number <= capacity; number++) {
            push(empty, number);
        }
    }

    /**
     * A pool that owns so many messages, all made now; each comes back to it when it was handled.
     */
    public static MessagePool prepared(int count) {
        MessagePool pool = new MessagePool(count);
        for (int made = 0; made < count; made++) {
            pool.give(new Message(pool));
        }
        return pool;
    }

    /** A message that nobody uses, or null. */
    public Message take() {
        int number = pop(full);
        if (number == 0) {
            return null;
        }
        Message message = places[number];
        places[number] = null;
        push(empty, number);
        message.markObtained();
        return message;
    }

    /** Keeps a message, if there is room. */
    void give(Message message) {
        int number = pop(empty);
        if (number != 0) {
            places[number] = message;
            push(full, number);
        }
    }

    private void push(AtomicLong stack, int number) {
        while (true) {
            long top = stack.get();
            below[number] = (int) top;
            if (stack.compareAndSet(top, (top & 0xffff_ffff_0000_0000L) | number)) {
                return;
            }
        }
    }

    private int pop(AtomicLong stack) {
        while (true) {
            long top = stack.get();
            int number = (int) top;
            if (number == 0) {
                return 0;
            }
            long tag = ((top >>> 32) + 1) << 32;
            if (stack.compareAndSet(top, tag | below[number])) {
                return number;
            }
        }
    }
}
