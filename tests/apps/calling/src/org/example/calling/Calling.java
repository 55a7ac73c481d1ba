// SPDX-License-Identifier: Apache-2.0
package org.example.calling;

import android.app.Service;
import android.content.BroadcastReceiver;
import android.content.Context;
import android.content.Intent;
import android.content.IntentFilter;
import android.net.Uri;
import android.os.IBinder;
import android.util.Log;
import javax.realtime.PriorityParameters;
import javax.realtime.RealtimeThread;

/** Has the hearing package held up, then sends it an ordinary broadcast, and an urgent one. */
public final class Calling extends Service {
    private static final int PRIORITY = 40;

    @Override
    public int onStartCommand(Intent intent, int flags, int start) {
        BroadcastReceiver held = new BroadcastReceiver() {
            @Override
            public void onReceive(Context context, Intent intent) {
                send("ORDINARY");
                new RealtimeThread(new PriorityParameters(PRIORITY), null, () -> send("URGENT")).start();
            }
        };
        registerReceiver(held, new IntentFilter("org.example.calling.HELD"), RECEIVER_EXPORTED);
        getContentResolver().notifyChange(Uri.parse("content://org.example.hearing.news/all"), null);
        return START_NOT_STICKY;
    }

    private void send(String what) {
        sendBroadcast(new Intent("org.example.hearing." + what).setPackage("org.example.hearing"));
        Log.i("Calling", "sent " + what);
    }

    @Override
    public IBinder onBind(Intent intent) {
        return null;
    }
}
