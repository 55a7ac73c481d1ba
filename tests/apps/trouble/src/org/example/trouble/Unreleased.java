// SPDX-License-Identifier: Apache-2.0
package org.example.trouble;

import android.app.Service;
import android.content.Intent;
import android.os.IBinder;
import android.util.Log;

/** Declared periodic, but not of the class that is released. */
public final class Unreleased extends Service {
    @Override
    public int onStartCommand(Intent intent, int flags, int startId) {
        Log.i("Trouble", "onStartCommand");
        stopSelf();
        return START_NOT_STICKY;
    }

    @Override
    public IBinder onBind(Intent intent) {
        return null;
    }
}
