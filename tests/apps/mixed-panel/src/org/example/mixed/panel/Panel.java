// SPDX-License-Identifier: Apache-2.0
package org.example.mixed.panel;

import android.app.AlarmManager;
import android.app.PendingIntent;
import android.app.Service;
import android.content.BroadcastReceiver;
import android.content.ComponentName;
import android.content.Context;
import android.content.Intent;
import android.content.IntentFilter;
import android.content.ServiceConnection;
import android.os.Handler;
import android.os.IBinder;
import android.os.Looper;
import android.os.Message;
import android.os.Messenger;
import android.os.RemoteException;
import android.os.SystemClock;
import android.util.Log;

/**
 * Asks the control application: a hundred times a second by message, half as often by broadcast,
 * and half as often as that by an alarm's broadcast.
 */
public final class Panel extends Service implements ServiceConnection {
    private static final long PERIOD_MILLIS = 10;
    private static final int PER_LINE = 100;

    private static final String CONTROL = "org.example.mixed.control";
    private static final String TELL = "org.example.mixed.TELL";
    private static final String RING = "org.example.mixed.RING";

    private final Handler main = new Handler(Looper.getMainLooper());
    private final Messenger answers = new Messenger(new Handler(Looper.getMainLooper(), this::hear));
    private int asked;
    private int answered;
    private int told;
    private int rang;

    @Override
    public int onStartCommand(Intent intent, int flags, int start) {
        IntentFilter filter = new IntentFilter(TELL);
        filter.addAction(RING);
        registerReceiver(new Hearing(), filter, Context.RECEIVER_EXPORTED);
        tell();
        PendingIntent ring = PendingIntent.getBroadcast(this, 0, toControl(RING), PendingIntent.FLAG_IMMUTABLE);
        ring(getSystemService(AlarmManager.class), ring);
        Intent control = new Intent().setClassName(CONTROL, CONTROL + ".Control");
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

    private static Intent toControl(String action) {
        return new Intent(action).setPackage(CONTROL);
    }

    private void tell() {
        sendBroadcast(toControl(TELL));
        main.postDelayed(this::tell, 2 * PERIOD_MILLIS);
    }

    private void ring(AlarmManager alarms, PendingIntent ring) {
        alarms.setExact(AlarmManager.ELAPSED_REALTIME, SystemClock.elapsedRealtime() + PERIOD_MILLIS, ring);
        main.postDelayed(() -> ring(alarms, ring), 4 * PERIOD_MILLIS);
    }

    /** What comes back. */
    private final class Hearing extends BroadcastReceiver {
        @Override
        public void onReceive(Context context, Intent intent) {
            if (intent.getAction().equals(TELL)) {
                told++;
                say("told", told);
            } else {
                rang++;
                say("rang", rang);
            }
        }
    }

    private static void say(String what, int count) {
        if (count % PER_LINE == 0) {
            Log.i("Panel", what + " " + count);
        }
    }

    private boolean hear(Message answer) {
        answered++;
        say("answered", answered);
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
