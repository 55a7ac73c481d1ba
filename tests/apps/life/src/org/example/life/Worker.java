// SPDX-License-Identifier: Apache-2.0
package org.example.life;

import android.app.Service;
import android.content.BroadcastReceiver;
import android.content.ComponentName;
import android.content.Context;
import android.content.Intent;
import android.content.IntentFilter;
import android.content.ServiceConnection;
import android.database.Cursor;
import android.net.Uri;
import android.os.Binder;
import android.os.IBinder;
import android.util.Log;

/**
 * A started service: binds another one, asks the provider, sends a broadcast to itself; ends when
 * it is told to.
 */
public final class Worker extends Service {
    private final ServiceConnection connection = new ServiceConnection() {
        @Override
        public void onServiceConnected(ComponentName name, IBinder service) {
            log("connected to " + name.getShortClassName() + ", answer " + ((Bound.Answers) service).answer());
            unbindService(this);
            sendBroadcast(new Intent("org.example.life.OWN").setPackage(getPackageName()));
        }

        @Override
        public void onServiceDisconnected(ComponentName name) {
            log("disconnected");
        }
    };

    private final BroadcastReceiver receiver = new BroadcastReceiver() {
        @Override
        public void onReceive(Context context, Intent intent) {
            log("received " + intent.getAction());
            unregisterReceiver(this);
            if (stays) {
                log("stays");
            } else {
                stopSelf();
            }
        }
    };

    private boolean stays;

    static void log(String text) {
        Log.i(App.TAG, "Worker." + text);
    }

    @Override
    public void onCreate() {
        log("onCreate");
        registerReceiver(receiver, new IntentFilter("org.example.life.OWN"), RECEIVER_NOT_EXPORTED);
    }

    @Override
    public int onStartCommand(Intent intent, int flags, int startId) {
        log("onStartCommand " + startId);
        log("text " + getString(android.R.string.ok));
        stays = intent.hasExtra("stay");
        try (Cursor cursor = getContentResolver().query(Uri.parse("content://org.example.life.facts/all"), null, null,
                null, null)) {
            log("cursor of " + cursor.getCount());
        }
        bindService(new Intent(this, Bound.class), connection, BIND_AUTO_CREATE);
        return START_NOT_STICKY;
    }

    @Override
    public IBinder onBind(Intent intent) {
        return new Binder();
    }

    @Override
    public void onDestroy() {
        log("onDestroy");
    }
}
