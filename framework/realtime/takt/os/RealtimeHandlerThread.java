// SPDX-License-Identifier: Apache-2.0
package takt.os;

import android.os.HandlerThread;
import android.util.Log;
import takt.framework.RealtimeThread;

/**
 * A thread with a looper that never runs below a real-time priority: ordinary messages are
 * dispatched at that one.
 */
public class RealtimeHandlerThread extends HandlerThread {
    private final int priority;
    private volatile boolean isGranted;

    /** The priority is SCHED_FIFO's, 1 to 99. */
    public RealtimeHandlerThread(String name, int priority) {
        super(name);
        if (priority < 1 || priority > 99) {
            throw new IllegalArgumentException("priority " + priority + " is not within 1 to 99");
        }
        this.priority = priority;
    }

    @Override
    public void run() {
        // Before the looper is made: its queue takes this for the priority to come back to.
        isGranted = RealtimeThread.setPriority(0, priority);
        if (!isGranted) {
            Log.w("Takt", getName() + ": SCHED_FIFO " + priority + " is not permitted (CAP_SYS_NICE): an ordinary thread");
        }
        super.run();
    }

    /** Does it run at its priority? Known once {@link #getLooper} has answered. */
    public final boolean isGranted() {
        return isGranted;
    }
}
