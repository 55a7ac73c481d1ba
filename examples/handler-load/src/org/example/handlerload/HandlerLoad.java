// SPDX-License-Identifier: Apache-2.0
package org.example.handlerload;

import android.app.Service;
import android.content.Intent;
import android.os.HandlerThread;
import android.os.IBinder;
import android.os.Message;
import android.util.Log;
import takt.framework.RealtimeThread;
import takt.os.RealtimeHandler;

/**
 * RTDroid's experiment (section 5): a real-time thread sends a message every 100 ms, ordinary
 * threads send ten each every 10 ms to the same handler. {@code --extra threads=300} says how many,
 * {@code --extra messages=400} how long; it ends by itself and says how late the real-time messages
 * were handled. The manifest gives the service's own callbacks a priority.
 */
public final class HandlerLoad extends Service {
    static final String TAG = "HandlerLoad";
    static final int URGENT = 1;
    static final int ORDINARY = 2;
    private static final int THREADS = 30;
    private static final int MESSAGES = 20;
    private static final int PERIOD_MS = 100;
    private static final int PREPARED = 16;

    private HandlerThread looper;
    private OrdinarySenders ordinary;
    private long[] lateNanos;
    private int urgentCount;
    private long ordinaryCount;

    @Override
    public int onStartCommand(Intent intent, int flags, int startId) {
        Log.i(TAG, "onStartCommand at priority " + RealtimeThread.priority());
        int threads = number(intent, "threads", THREADS);
        int messages = number(intent, "messages", MESSAGES);
        int periodMs = number(intent, "period_ms", PERIOD_MS);
        lateNanos = new long[messages];
        looper = new HandlerThread("handler-load");
        looper.start();
        RealtimeHandler handler = new RealtimeHandler(looper.getLooper(), this::handle, PREPARED);
        ordinary = new OrdinarySenders(handler, threads);
        new UrgentSender(handler, messages, periodMs, sender -> report(sender, threads, messages)).start();
        return START_NOT_STICKY;
    }

    private static int number(Intent intent, String name, int otherwise) {
        String text = intent.getStringExtra(name);
        return text == null ? otherwise : Integer.parseInt(text);
    }

    /** On the looper that all senders share. */
    private boolean handle(Message message) {
        if (message.what == URGENT) {
            long sent = ((long) message.arg1 << 32) | (message.arg2 & 0xffff_ffffL);
            lateNanos[urgentCount++] = System.nanoTime() - sent;
        } else {
            ordinaryCount++;
        }
        return true;
    }

    /** On the looper as well, behind the last real-time message. */
    private void report(UrgentSender sender, int threads, int messages) {
        ordinary.end();
        long[] sorted = java.util.Arrays.copyOf(lateNanos, urgentCount);
        java.util.Arrays.sort(sorted);
        Log.i(TAG, threads + " threads: " + urgentCount + " of " + messages + " messages (" + sender.policy() + "), late by "
                + sorted[urgentCount / 2] / 1000 + " us (median), " + sorted[urgentCount - 1] / 1000 + " us (worst); "
                + ordinaryCount * 1_000_000_000L / sender.elapsedNanos() + " ordinary messages a second; "
                + looper.getLooper().getQueue().notRaisedCount() + " times not raised");
        stopSelf();
    }

    @Override
    public void onDestroy() {
        looper.quit();
        Log.i(TAG, "ended");
    }

    @Override
    public IBinder onBind(Intent intent) {
        return null;
    }
}
