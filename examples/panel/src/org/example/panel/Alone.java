// SPDX-License-Identifier: Apache-2.0
package org.example.panel;

import android.app.Service;
import android.content.Intent;
import android.os.Handler;
import android.os.IBinder;
import android.os.Looper;
import android.util.Log;

/** The panel's control task without a window: {@code --service .Alone --extra seconds=3}. */
public final class Alone extends Service {
    private static final String TAG = "Panel";
    private static final int MILLIS_PER_SECOND = 1000;

    private final Handler handler = new Handler(Looper.getMainLooper());
    private ControlTask task;

    @Override
    public int onStartCommand(Intent intent, int flags, int start) {
        String seconds = intent.getStringExtra("seconds");
        if (seconds == null || task != null) {
            Log.w(TAG, "needs --extra seconds=N, once");
            stopSelf();
            return START_NOT_STICKY;
        }
        task = new ControlTask(new Readings());
        task.setPhase(ControlTask.BEGINNING);
        task.start();
        Log.i(TAG, "started");
        handler.postDelayed(() -> {
            task.setPhase(ControlTask.ALONE);
            Log.i(TAG, "alone");
        }, MILLIS_PER_SECOND);
        handler.postDelayed(this::stop, MILLIS_PER_SECOND + Long.parseLong(seconds) * MILLIS_PER_SECOND);
        return START_NOT_STICKY;
    }

    private void stop() {
        try {
            task.end();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return;
        }
        Log.i(TAG, "stopped");
        Log.i(TAG, task.figures("alone", ControlTask.ALONE));
        Log.i(TAG, task.summary());
        stopSelf();
    }

    @Override
    public IBinder onBind(Intent intent) {
        return null;
    }
}
