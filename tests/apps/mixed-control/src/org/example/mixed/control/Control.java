// SPDX-License-Identifier: Apache-2.0
package org.example.mixed.control;

import android.app.Service;
import android.content.BroadcastReceiver;
import android.content.Context;
import android.content.Intent;
import android.content.IntentFilter;
import android.os.Handler;
import android.os.IBinder;
import android.os.Looper;
import android.os.Message;
import android.os.Messenger;
import android.os.RemoteException;
import android.util.Log;

/** A control task, and beside it a door for messages and one for intents. */
public final class Control extends Service {
    private static final String TELL = "org.example.mixed.TELL";
    private static final String RING = "org.example.mixed.RING";
    private static final String PANEL = "org.example.mixed.panel";

    @Override
    public void onCreate() {
        IntentFilter filter = new IntentFilter(TELL);
        filter.addAction(RING);
        registerReceiver(new Answering(), filter, Context.RECEIVER_EXPORTED);
    }

    /** Sends back what came. */
    private static final class Answering extends BroadcastReceiver {
        @Override
        public void onReceive(Context context, Intent intent) {
            context.sendBroadcast(new Intent(intent.getAction()).setPackage(PANEL));
        }
    }

    @Override
    public int onStartCommand(Intent intent, int flags, int start) {
        int count = Integer.parseInt(intent.getStringExtra("releases"));
        int period = Integer.parseInt(intent.getStringExtra("period"));
        String window = intent.getStringExtra("window");
        new Task(count, period, text -> Log.i("Control", window + " " + text)).start();
        return START_NOT_STICKY;
    }

    @Override
    public IBinder onBind(Intent intent) {
        return new Messenger(new Handler(Looper.getMainLooper(), Control::answer)).getBinder();
    }

    private static boolean answer(Message asked) {
        try {
            asked.replyTo.send(Message.obtain(null, 0, asked.arg1, 0));
        } catch (RemoteException e) {
            Log.i("Control", "nobody hears the answer");
        }
        return true;
    }
}
