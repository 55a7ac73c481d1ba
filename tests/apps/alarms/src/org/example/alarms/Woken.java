// SPDX-License-Identifier: Apache-2.0
package org.example.alarms;

import android.app.Service;
import android.content.Intent;
import android.os.IBinder;

/** What a PendingIntent starts. */
public final class Woken extends Service {
    @Override
    public int onStartCommand(Intent intent, int flags, int id) {
        Sleeper.heard("service with " + intent.getStringExtra("word"));
        stopSelf(id);
        return START_NOT_STICKY;
    }

    @Override
    public IBinder onBind(Intent intent) {
        return null;
    }
}
