// SPDX-License-Identifier: Apache-2.0
package takt.os;

import android.content.Intent;

/**
 * An intent with a priority of its own, after RTDroid: broadcasts of it are at most as urgent as
 * that, and at most as urgent as the thread that sends them. A {@link RealtimeReceiver} gets one,
 * with the priority that came of it.
 */
public class RealtimeIntent extends Intent {
    /** What a broadcast's priority is lowered to, 0 to 99. */
    public static final String EXTRA_PRIORITY = "takt.intent.extra.PRIORITY";

    private static final int PRIORITY_MAX = 99;

    /** Without a priority of its own: as urgent as its sender. */
    public RealtimeIntent(String action) {
        super(action);
    }

    /** A copy. */
    public RealtimeIntent(Intent other) {
        super(other);
    }

    /** 1 to 99, or 0 for an ordinary broadcast, no matter who sends it. */
    public final RealtimeIntent setPriority(int priority) {
        if (priority < 0 || priority > PRIORITY_MAX) {
            throw new IllegalArgumentException("priority " + priority + " is not within 0 to 99");
        }
        putExtra(EXTRA_PRIORITY, priority);
        return this;
    }

    /** Its own; of one that was received, the broadcast's. -1 if it has none. */
    public final int getPriority() {
        return getIntExtra(EXTRA_PRIORITY, -1);
    }
}
