// SPDX-License-Identifier: Apache-2.0
package org.example.trouble;

import android.content.Intent;
import android.os.Handler;
import android.os.Message;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Threads that send to the main looper as fast as they can, each {@code messages} of them, or for
 * ever; with {@code heavy} each message brings a kilobyte and nobody takes it, and what is left of
 * the heap is used up to the last word.
 */
public final class Storm extends Trouble {
    private static final int SENDERS = 4;
    private static final int HEAVY_BYTES = 1024;

    private final AtomicInteger endedSenders = new AtomicInteger();
    private volatile boolean isOver;
    private Object rest;
    private int handled;
    private int starts;

    @Override
    public int onStartCommand(Intent intent, int flags, int startId) {
        starts++;
        if (startId > 1) {
            return START_NOT_STICKY;
        }
        boolean isEndless = !intent.hasExtra("messages");
        int messages = isEndless ? 0 : Integer.parseInt(intent.getStringExtra("messages"));
        boolean isHeavy = intent.hasExtra("heavy");
        Handler handler = new Handler(getMainLooper()) {
            @Override
            public void handleMessage(Message message) {
                handled++;
                if (message.what == 1) {
                    // The storm is no reason not to hear of one's own life.
                    startService(new Intent(Storm.this, Storm.class));
                }
                if (message.what == 2 && endedSenders.incrementAndGet() == SENDERS) {
                    stopSelf();
                }
            }
        };
        for (int sender = 0; sender < SENDERS; sender++) {
            Thread thread = new Thread(() -> {
                try {
                    for (int sent = 0; (isEndless || sent < messages) && !isOver; sent++) {
                        Object load = isHeavy ? new byte[HEAVY_BYTES] : null;
                        int what = sent == messages / 2 ? 1 : 0;
                        handler.sendMessageDelayed(Message.obtain(handler, what, load), isHeavy ? 3_600_000 : 0);
                    }
                    handler.sendEmptyMessage(2);
                } catch (OutOfMemoryError e) {
                    useUp(e);
                }
            }, "sender " + sender);
            thread.setDaemon(true);
            thread.start();
        }
        log("storm");
        return START_NOT_STICKY;
    }

    /** Takes the rest of the heap, down to the smallest object, and throws. */
    private void useUp(OutOfMemoryError e) {
        for (int length = HEAVY_BYTES; length >= 0; length = length == 0 ? -1 : length / 2) {
            try {
                while (true) {
                    Object[] link = new Object[1 + length / Integer.BYTES];
                    synchronized (endedSenders) {
                        link[0] = rest;
                        rest = link;
                    }
                }
            } catch (OutOfMemoryError smaller) {
                // So the next is smaller.
            }
        }
        throw e;
    }

    @Override
    public void onDestroy() {
        isOver = true;
        log("handled " + handled + ", started " + starts);
        super.onDestroy();
    }
}
