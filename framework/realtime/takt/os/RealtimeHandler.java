// SPDX-License-Identifier: Apache-2.0
package takt.os;

import android.os.Handler;
import android.os.Looper;
import android.os.Message;
import android.os.MessagePool;
import android.os.SystemClock;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A handler for real-time senders, after RTDroid: its messages are made beforehand, have a priority
 * and a time in nanoseconds. What it sends, AOSP's interface included, is dispatched at the
 * message's priority.
 *
 * <p>Overflow policy: refuse. When all of its messages are under way, {@link #obtainPrepared}
 * answers null; when too many real-time messages wait in the queue, the send answers false. Both
 * are counted. No operation makes anything, waits for a lock, or depends on how many others send.
 */
public class RealtimeHandler extends Handler {
    private final MessagePool pool;
    private final AtomicLong refused = new AtomicLong();

    /** A handler of a looper with so many messages of its own. */
    public RealtimeHandler(Looper looper, Callback callback, int messages) {
        super(looper, callback);
        pool = MessagePool.prepared(messages);
    }

    /**
     * One of this handler's own messages, which comes back when it was handled; null if all are
     * under way.
     */
    public final Message obtainPrepared(int what) {
        Message message = pool.take();
        if (message == null) {
            refused.incrementAndGet();
            return null;
        }
        message.setTarget(this);
        return message.setWhat(what);
    }

    /** Sends for now, at the sender's priority or a lower one. False: refused, and recycled. */
    public final boolean send(Message message, int priority) {
        return sendAt(message, SystemClock.uptimeNanos(), priority);
    }

    /**
     * Sends for a time in uptime nanoseconds, at the sender's priority or a lower one. False:
     * refused, and recycled.
     */
    public final boolean sendAt(Message message, long uptimeNanos, int priority) {
        message.setTarget(this);
        if (getLooper().getQueue().enqueueRealtime(message, uptimeNanos, priority)) {
            return true;
        }
        refused.incrementAndGet();
        message.recycle();
        return false;
    }

    /** How often a message was not there, or not taken. */
    public final long refusedCount() {
        return refused.get();
    }
}
