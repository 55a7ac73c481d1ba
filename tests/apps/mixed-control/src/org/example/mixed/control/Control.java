// SPDX-License-Identifier: Apache-2.0
package org.example.mixed.control;

import android.app.Service;
import android.content.Intent;
import android.os.Handler;
import android.os.IBinder;
import android.os.Looper;
import android.os.Message;
import android.os.Messenger;
import android.os.RemoteException;
import android.util.Log;

/** A control task, and a door for messages beside it. */
public final class Control extends Service {
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
