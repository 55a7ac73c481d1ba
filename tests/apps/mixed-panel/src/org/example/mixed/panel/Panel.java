// SPDX-License-Identifier: Apache-2.0
package org.example.mixed.panel;

import android.app.Service;
import android.content.ComponentName;
import android.content.Context;
import android.content.Intent;
import android.content.ServiceConnection;
import android.os.Handler;
import android.os.IBinder;
import android.os.Looper;
import android.os.Message;
import android.os.Messenger;
import android.os.RemoteException;
import android.util.Log;

/** Asks the control application a hundred times a second. */
public final class Panel extends Service implements ServiceConnection {
    private static final long PERIOD_MILLIS = 10;
    private static final int PER_LINE = 100;

    private final Handler main = new Handler(Looper.getMainLooper());
    private final Messenger answers = new Messenger(new Handler(Looper.getMainLooper(), this::hear));
    private int asked;
    private int answered;

    @Override
    public int onStartCommand(Intent intent, int flags, int start) {
        Intent control = new Intent().setClassName("org.example.mixed.control", "org.example.mixed.control.Control");
        Log.i("Panel", "bind " + bindService(control, this, Context.BIND_AUTO_CREATE));
        return START_NOT_STICKY;
    }

    @Override
    public void onServiceConnected(ComponentName name, IBinder service) {
        Messenger control = new Messenger(service);
        main.post(new Runnable() {
            @Override
            public void run() {
                Message message = Message.obtain(null, 0, ++asked, 0);
                message.replyTo = answers;
                try {
                    control.send(message);
                } catch (RemoteException e) {
                    Log.e("Panel", "nobody hears", e);
                    return;
                }
                main.postDelayed(this, PERIOD_MILLIS);
            }
        });
    }

    private boolean hear(Message answer) {
        answered++;
        if (answered % PER_LINE == 0) {
            Log.i("Panel", "answered " + answered);
        }
        return true;
    }

    @Override
    public void onServiceDisconnected(ComponentName name) {
        Log.e("Panel", "the control application has ended");
    }

    @Override
    public IBinder onBind(Intent intent) {
        return null;
    }
}
