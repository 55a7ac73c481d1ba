// SPDX-License-Identifier: Apache-2.0
package org.example.handlerload;

import android.os.Handler;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/** Threads without a real-time priority: each sends ten messages every 10 ms. */
final class OrdinarySenders {
    private static final long PERIOD_NANOS = TimeUnit.MILLISECONDS.toNanos(10);
    private static final int BURST = 10;

    private final Handler handler;
    private volatile boolean isOver;

    OrdinarySenders(Handler handler, int threads) {
        this.handler = handler;
        for (int index = 0; index < threads; index++) {
            Thread thread = new Thread(this::send, "ordinary-" + index);
            thread.setDaemon(true);
            thread.start();
        }
    }

    private void send() {
        long next = System.nanoTime();
        while (!isOver) {
            for (int count = 0; count < BURST; count++) {
                handler.sendEmptyMessage(HandlerLoad.ORDINARY);
            }
            next += PERIOD_NANOS;
            LockSupport.parkNanos(next - System.nanoTime());
        }
    }

    void end() {
        isOver = true;
    }
}
