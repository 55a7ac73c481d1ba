// SPDX-License-Identifier: Apache-2.0
package org.example.hearing;

import android.app.Service;
import android.content.BroadcastReceiver;
import android.content.Context;
import android.content.Intent;
import android.content.IntentFilter;
import android.database.ContentObserver;
import android.os.Handler;
import android.os.HandlerThread;
import android.os.IBinder;
import android.util.Log;
import java.io.File;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import takt.framework.RealtimeThread;

/**
 * Holds up the thread that fetches what the server has for the process, until an urgent broadcast
 * comes or a file is there, and says in which order things came.
 */
public final class Hearing extends Service {
    private static final String TAG = "Hearing";
    private static final long LOOK_MILLIS = 10;
    /** The log brings what a real-time thread says later than what others do. */
    private final List<String> inOrder = new ArrayList<>();
    private final CountDownLatch hasCome = new CountDownLatch(1);

    @Override
    public int onStartCommand(Intent intent, int flags, int start) {
        HandlerThread thread = new HandlerThread("ear");
        thread.start();
        Handler handler = new Handler(thread.getLooper());
        IntentFilter filter = new IntentFilter("org.example.hearing.URGENT");
        filter.addAction("org.example.hearing.ORDINARY");
        registerReceiver(new Ear(), filter, null, handler, RECEIVER_EXPORTED);
        // Without a handler it runs where the change is heard of.
        getContentResolver().registerContentObserver(News.ADDRESS, true, new Holding());
        Log.i(TAG, "ready");
        return START_NOT_STICKY;
    }

    private synchronized void note(String text) {
        inOrder.add(text);
    }

    private synchronized void sayAll() {
        Log.i(TAG, "in order: " + String.join(", ", inOrder));
    }

    private final class Ear extends BroadcastReceiver {
        @Override
        public void onReceive(Context context, Intent intent) {
            boolean isUrgent = intent.getAction().endsWith("URGENT");
            note((isUrgent ? "urgent" : "ordinary") + " at " + RealtimeThread.priority());
            if (isUrgent) {
                hasCome.countDown();
            } else {
                sayAll();
            }
        }
    }

    private final class Holding extends ContentObserver {
        Holding() {
            super(null);
        }

        @Override
        public void onChange(boolean isOwn) {
            note("held");
            sendBroadcast(new Intent("org.example.calling.HELD").setPackage("org.example.calling"));
            File end = new File(getDataDir(), "end");
            try {
                boolean isOver = false;
                while (!isOver) {
                    isOver = hasCome.await(LOOK_MILLIS, TimeUnit.MILLISECONDS) || end.exists();
                }
                note(hasCome.getCount() == 0 ? "let go by it" : "nothing came");
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }

    @Override
    public IBinder onBind(Intent intent) {
        return null;
    }
}
