// SPDX-License-Identifier: Apache-2.0
package org.example.handlerload;

import android.os.Message;
import android.os.SystemClock;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import takt.framework.RealtimeThread;
import takt.os.RealtimeHandler;

/** The real-time task: a message each period, at its own priority. A release makes nothing. */
final class UrgentSender extends Thread {
    private static final int PRIORITY = 50;

    private final RealtimeHandler handler;
    private final int count;
    private final long periodNanos;
    private final Consumer<UrgentSender> whenDone;
    private boolean isRealtime;
    private long startNanos;

    UrgentSender(RealtimeHandler handler, int count, int periodMs, Consumer<UrgentSender> whenDone) {
        super("urgent");
        this.handler = handler;
        this.count = count;
        periodNanos = TimeUnit.MILLISECONDS.toNanos(periodMs);
        this.whenDone = whenDone;
    }

    @Override
    public void run() {
        isRealtime = RealtimeThread.setPriority(0, PRIORITY);
        startNanos = System.nanoTime();
        long release = startNanos;
        for (int index = 0; index < count; index++) {
            release += periodNanos;
            while (System.nanoTime() < release) {
                LockSupport.parkNanos(release - System.nanoTime());
            }
            send();
        }
        Message done = Message.obtain(handler, () -> whenDone.accept(this));
        handler.sendAt(done, SystemClock.uptimeNanos(), PRIORITY);
    }

    private void send() {
        Message message = handler.obtainPrepared(HandlerLoad.URGENT);
        if (message != null) {
            long now = System.nanoTime();
            message.arg1 = (int) (now >>> 32);
            message.arg2 = (int) now;
            handler.send(message, PRIORITY);
        }
    }

    String policy() {
        return isRealtime ? "FIFO " + PRIORITY : "an ordinary thread: no CAP_SYS_NICE";
    }

    long elapsedNanos() {
        return System.nanoTime() - startNanos;
    }
}
