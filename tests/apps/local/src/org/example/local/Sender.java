// SPDX-License-Identifier: Apache-2.0
package org.example.local;

import android.app.Service;
import android.content.BroadcastReceiver;
import android.content.Context;
import android.content.Intent;
import android.content.IntentFilter;
import android.os.IBinder;
import android.support.v4.content.LocalBroadcastManager;
import android.util.Log;
import java.util.ArrayList;
import java.util.List;
import javax.realtime.PriorityParameters;
import javax.realtime.RealtimeThread;
import takt.os.RealtimeIntent;

/**
 * Sends local broadcasts while the main looper is busy, from an ordinary thread and a real-time
 * one, and says in which order they came.
 */
public final class Sender extends Service {
    private static final int PRIORITY = 40;
    /** Two by the synchronous one, and then one by each. */
    private static final int ALL = 8;
    private static final String ACTION = "org.example.local.NEWS";

    private final List<String> notes = new ArrayList<>();
    private LocalBroadcastManager manager;
    private boolean isHeardByNobody;

    /** Notes each. */
    private final class Listener extends BroadcastReceiver {
        private final String name;

        Listener(String name) {
            this.name = name;
        }

        @Override
        public void onReceive(Context context, Intent intent) {
            String thread = Thread.currentThread() == getMainLooper().getThread() ? "" : "!";
            notes.add(name + intent.getStringExtra("text") + thread);
            if (notes.size() == ALL) {
                Log.i("Local", isHeardByNobody + " " + String.join(" ", notes));
            }
        }
    }

    @Override
    public int onStartCommand(Intent intent, int flags, int start) {
        manager = LocalBroadcastManager.getInstance(this);
        Listener first = new Listener("1");
        Listener second = new Listener("2");
        manager.registerReceiver(first, new IntentFilter(ACTION));
        manager.registerReceiver(second, new IntentFilter(ACTION));
        isHeardByNobody = manager.sendBroadcast(new Intent("org.example.local.NOBODY"));
        send("a", -1);
        send("b", -1);
        urgent(() -> {
            send("c", -1);
            // As urgent as its sender and no more; less urgent if it says so.
            send("d", 60);
            send("e", 20);
            send("f", 0);
            manager.sendBroadcastSync(intent("sync", -1));
        });
        manager.unregisterReceiver(second);
        return START_NOT_STICKY;
    }

    private static void urgent(Runnable body) {
        RealtimeThread thread = new RealtimeThread(new PriorityParameters(PRIORITY), null, body);
        thread.start();
        try {
            thread.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void send(String text, int priority) {
        manager.sendBroadcast(intent(text, priority));
    }

    private static Intent intent(String text, int priority) {
        Intent intent = priority < 0 ? new Intent(ACTION) : new RealtimeIntent(ACTION).setPriority(priority);
        return intent.putExtra("text", text);
    }

    @Override
    public IBinder onBind(Intent intent) {
        return null;
    }
}
