// SPDX-License-Identifier: Apache-2.0
package takt.os;

import android.content.BroadcastReceiver;

/**
 * A receiver of the manifest on a real-time thread of its own, after RTDroid. It is made once, and
 * handles one intent after the other, whatever the process's looper does: the most urgent first,
 * equals as they came. The intent is a {@link RealtimeIntent}.
 *
 * <p>Its priority is that of {@code <rtdroid:priority>}. How many intents wait, and which of them
 * is dropped when there are more, says the {@code <rtdroid:channel>} that is named as their action.
 *
 * <p>One that code registers is an ordinary receiver.
 */
public abstract class RealtimeReceiver extends BroadcastReceiver {
    private volatile long dropped;

    /** After each intent: for fields that the next one is not to find. */
    public void onClean() {}

    /** Intents that were dropped, since others were more urgent or came later. */
    public final long droppedCount() {
        return dropped;
    }

    /** For those who drop them; one at a time. */
    public final void noteDropped(long count) {
        dropped = count;
    }
}
