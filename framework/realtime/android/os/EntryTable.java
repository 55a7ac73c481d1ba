// SPDX-License-Identifier: Apache-2.0
package android.os;

/**
 * Entries by what they are removed by: handler; handler and what; handler and callback. Chains of a
 * fixed hash table, so that a removal visits what it removes, and what shares a chain with it.
 */
final class EntryTable {
    static final int BY_HANDLER = 0;
    static final int BY_WHAT = 1;
    static final int BY_CALLBACK = 2;
    static final int KEYS = 3;

    /** Chains per key: a power of two. */
    private static final int CHAINS = 256;

    private final QueueEntry[][] chains = new QueueEntry[KEYS][CHAINS];

    void add(QueueEntry entry) {
        Message message = entry.message;
        int handler = System.identityHashCode(message.target);
        entry.chain[BY_HANDLER] = spread(handler);
        entry.chain[BY_WHAT] = spread(handler * 31 + message.what);
        entry.chain[BY_CALLBACK] = spread(handler * 31 + System.identityHashCode(message.callback));
        for (int key = 0; key < KEYS; key++) {
            int chain = entry.chain[key];
            QueueEntry head = chains[key][chain];
            entry.chainAfter[key] = head;
            if (head != null) {
                head.chainBefore[key] = entry;
            }
            chains[key][chain] = entry;
        }
    }

    void remove(QueueEntry entry) {
        for (int key = 0; key < KEYS; key++) {
            QueueEntry before = entry.chainBefore[key];
            QueueEntry after = entry.chainAfter[key];
            if (before == null) {
                chains[key][entry.chain[key]] = after;
            } else {
                before.chainAfter[key] = after;
            }
            if (after != null) {
                after.chainBefore[key] = before;
            }
            entry.chainBefore[key] = null;
            entry.chainAfter[key] = null;
        }
    }

    QueueEntry firstOfHandler(Handler handler) {
        return chains[BY_HANDLER][spread(System.identityHashCode(handler))];
    }

    QueueEntry firstOfWhat(Handler handler, int what) {
        return chains[BY_WHAT][spread(System.identityHashCode(handler) * 31 + what)];
    }

    QueueEntry firstOfCallback(Handler handler, Runnable callback) {
        return chains[BY_CALLBACK][
                spread(System.identityHashCode(handler) * 31 + System.identityHashCode(callback))];
    }

    private static int spread(int hash) {
        return ((hash * 0x9e3779b9) >>> 16) & (CHAINS - 1);
    }
}
