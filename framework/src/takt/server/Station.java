// SPDX-License-Identifier: Apache-2.0
package takt.server;

import java.util.ArrayList;
import java.util.List;
import takt.os.RealtimeIntent;
import takt.server.Channels.Channel;

/**
 * The intents that wait for one real-time receiver: the most urgent goes first, equals as they
 * came. Each channel has its own room. Where that is full the least urgent one goes, of equals the
 * oldest.
 *
 * <p>Its monitor lends its holder the priority of who waits. Putting and taking cost O(n) of what
 * waits, which channels bound.
 */
final class Station {
    /** One of them; {@code done} is run when it was handled or dropped. */
    record Waiting(RealtimeIntent intent, Channel channel, int priority, Runnable done) {}

    private final List<Waiting> waiting = new ArrayList<>();
    private boolean isHandling;

    /** Adds one: what goes for it, which may be itself; null if there was room. */
    synchronized Waiting put(Waiting one) {
        Waiting gone = null;
        int count = 0;
        // In order: a channel's least urgent are its last, and of these the oldest is the first.
        for (Waiting it : waiting) {
            if (it.channel == one.channel) {
                count++;
                gone = gone == null || it.priority < gone.priority ? it : gone;
            }
        }
        if (count < one.channel.count()) {
            gone = null;
        } else if (one.priority < gone.priority) {
            return one;
        } else {
            waiting.remove(gone);
        }
        int place = waiting.size();
        while (place > 0 && waiting.get(place - 1).priority < one.priority) {
            place--;
        }
        waiting.add(place, one);
        notifyAll();
        return gone;
    }

    /** Waits for the first. */
    synchronized Waiting take() throws InterruptedException {
        isHandling = false;
        while (waiting.isEmpty()) {
            wait();
        }
        isHandling = true;
        return waiting.remove(0);
    }

    /** What was taken was handled. */
    synchronized void handled() {
        isHandling = false;
    }

    /** Does nothing wait, and is nothing handled? */
    synchronized boolean isIdle() {
        return waiting.isEmpty() && !isHandling;
    }
}
