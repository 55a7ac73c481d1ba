// SPDX-License-Identifier: Apache-2.0
package org.example.meter;

import android.app.Service;
import android.content.Intent;
import android.os.Handler;
import android.os.IBinder;
import android.os.Looper;
import android.os.Message;
import android.os.Messenger;
import android.os.Process;
import android.os.RemoteException;
import android.util.Log;

/** Answers each message by its number and one, or by the user who asks. */
public final class Meter extends Service {
    private static final String TAG = "Meter";
    private static final int WHO = 1;

    @Override
    public IBinder onBind(Intent intent) {
        Log.i(TAG, "bound: " + intent.getStringExtra("for"));
        Handler handler = new Handler(Looper.getMainLooper(), Meter::answer);
        return new Messenger(handler).getBinder();
    }

    private static boolean answer(Message asked) {
        boolean isWho = asked.what == WHO;
        Log.i(TAG, isWho ? "asked by " + asked.sendingUid : "asked " + asked.arg1);
        int answer = isWho ? asked.sendingUid : asked.arg1 + 1;
        try {
            asked.replyTo.send(Message.obtain(null, 0, answer, Process.myPid()));
        } catch (RemoteException e) {
            Log.e(TAG, "nobody hears the answer", e);
        }
        return true;
    }

    @Override
    public boolean onUnbind(Intent intent) {
        Log.i(TAG, "unbound");
        return false;
    }

    @Override
    public void onDestroy() {
        Log.i(TAG, "destroyed");
    }
}
