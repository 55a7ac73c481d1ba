// SPDX-License-Identifier: Apache-2.0
package org.example.trouble;

import android.content.Intent;
import android.os.Handler;
import android.os.HandlerThread;
import android.os.Message;
import java.util.concurrent.CountDownLatch;
import takt.framework.RealtimeThread;

/**
 * A real-time thread sends more than a queue has entries prepared for, while the looper's thread is
 * held.
 */
public final class FullQueue extends Trouble {
    private static final int MESSAGES = 3000;
    private static final int PRIORITY = 5;
    private int handled;

    @Override
    public int onStartCommand(Intent intent, int flags, int startId) {
        HandlerThread receiver = new HandlerThread("receiver");
        receiver.start();
        Handler handler = new Handler(receiver.getLooper()) {
            @Override
            public void handleMessage(Message message) {
                handled++;
            }
        };
        CountDownLatch isHeld = new CountDownLatch(1);
        CountDownLatch isFilled = new CountDownLatch(1);
        handler.post(() -> {
            isHeld.countDown();
            await(isFilled);
        });
        Thread sender = new Thread(() -> {
            // An urgent message would come before the one that holds the looper's thread.
            await(isHeld);
            String policy = RealtimeThread.setPriority(0, PRIORITY) ? "real-time" : "ordinary";
            int accepted = 0;
            for (int sent = 0; sent < MESSAGES; sent++) {
                accepted += handler.sendEmptyMessage(sent) ? 1 : 0;
            }
            int total = accepted;
            RealtimeThread.setPriority(0, 0);
            boolean isOrdinaryAccepted = handler.post(() -> {
                log(policy + ": accepted " + total + " of " + MESSAGES + ", handled " + handled);
                stopSelf();
            });
            log("an ordinary message: " + isOrdinaryAccepted);
            isFilled.countDown();
        });
        sender.start();
        return START_NOT_STICKY;
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
