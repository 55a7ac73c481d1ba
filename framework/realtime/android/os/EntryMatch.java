// SPDX-License-Identifier: Apache-2.0
package android.os;

/** What a removal or search is for; it visits one chain of the {@link EntryTable}. */
enum EntryMatch {
    WHAT(EntryTable.BY_WHAT, false),
    EQUAL_WHAT(EntryTable.BY_WHAT, true),
    CALLBACK(EntryTable.BY_CALLBACK, false),
    EQUAL_CALLBACK(EntryTable.BY_CALLBACK, true),
    HANDLER(EntryTable.BY_HANDLER, false),
    EQUAL_HANDLER(EntryTable.BY_HANDLER, true);

    final int key;
    private final boolean isEqual;

    EntryMatch(int key, boolean isEqual) {
        this.key = key;
        this.isEqual = isEqual;
    }

    /** The head of the chain. */
    QueueEntry first(EntryTable table, Handler handler, int what, Runnable callback) {
        switch (key) {
            case EntryTable.BY_WHAT:
                return table.firstOfWhat(handler, what);
            case EntryTable.BY_CALLBACK:
                return table.firstOfCallback(handler, callback);
            default:
                return table.firstOfHandler(handler);
        }
    }

    /** Object null matches every one, as in AOSP's. */
    boolean isMatch(Message message, Handler handler, int what, Runnable callback, Object object) {
        boolean isKey = message.target == handler
                && (key != EntryTable.BY_WHAT || message.what == what)
                && (key != EntryTable.BY_CALLBACK || message.callback == callback);
        if (!isKey || object == null) {
            return isKey;
        }
        return isEqual ? object.equals(message.obj) : message.obj == object;
    }
}
