// SPDX-License-Identifier: Apache-2.0
package org.example.channels;

import android.app.Service;
import android.content.BroadcastReceiver;
import android.content.Context;
import android.content.Intent;
import android.os.IBinder;
import android.os.SystemClock;
import android.util.Log;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.function.BooleanSupplier;
import javax.realtime.PriorityParameters;
import javax.realtime.RealtimeThread;
import takt.os.RealtimeIntent;

/** Sends real-time intents, more than a channel has room for, and says what came of them. */
public final class Sender extends Service {
    static final CountDownLatch HOLDS = new CountDownLatch(1);
    private static final int PRIORITY = 40;
    private static final long LOOK_MILLIS = 5;
    /** The log brings what a real-time thread says later than what others do. */
    private static final List<String> NOTES = new ArrayList<>();

    static void note(String text, Intent intent, String more) {
        int own = takt.framework.RealtimeThread.priority();
        synchronized (NOTES) {
            NOTES.add(text + " " + ((RealtimeIntent) intent).getPriority() + " at " + own + more);
        }
    }

    static void await(BooleanSupplier isSo) {
        while (!isSo.getAsBoolean()) {
            SystemClock.sleep(LOOK_MILLIS);
        }
    }

    private static int count() {
        synchronized (NOTES) {
            return NOTES.size();
        }
    }

    @Override
    public int onStartCommand(Intent intent, int flags, int start) {
        new RealtimeThread(new PriorityParameters(PRIORITY), null, this::sendAll).start();
        return START_NOT_STICKY;
    }

    private void sendAll() {
        send("OWN", "hold", 35);
        try {
            HOLDS.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        send("OWN", "a", 10);
        send("OWN", "b", 30);
        send("OWN", "c", 20);
        send("OWN", "d", 10);
        // More urgent than its sender is nobody.
        send("OWN", "e", 60);
        await(() -> count() == 3);
        send("LENT", "f", 20);
        await(() -> count() == 4);
        RealtimeIntent ordered = intent("LENT", "g");
        BroadcastReceiver end = new BroadcastReceiver() {
            @Override
            public void onReceive(Context context, Intent intent) {
                Log.i("Channels", String.join(", ", NOTES) + ", end " + getResultCode());
            }
        };
        sendOrderedBroadcast(ordered, null, end, null, 7, null, null);
    }

    private RealtimeIntent intent(String action, String text) {
        RealtimeIntent intent = new RealtimeIntent("org.example.channels." + action);
        intent.setPackage(getPackageName()).putExtra("text", text);
        return intent;
    }

    private void send(String action, String text, int priority) {
        sendBroadcast(intent(action, text).setPriority(priority));
    }

    @Override
    public IBinder onBind(Intent intent) {
        return null;
    }
}
