// SPDX-License-Identifier: Apache-2.0
package org.example.giver;

import android.app.Service;
import android.content.ContentValues;
import android.content.Intent;
import android.os.IBinder;
import android.util.Log;

/** Changes the notes, and says so to who comes later as well. */
public final class Worker extends Service {
    @Override
    @SuppressWarnings("deprecation")
    public int onStartCommand(Intent intent, int flags, int start) {
        Log.i("Worker", "started with " + intent.getStringExtra("added"));
        ContentValues values = new ContentValues();
        values.put("text", "by worker");
        getContentResolver().insert(Notes.ALL, values);
        sendStickyBroadcast(new Intent("org.example.STAYS").putExtra("text", "stays"));
        stopSelf(start);
        return START_NOT_STICKY;
    }

    @Override
    public IBinder onBind(Intent intent) {
        return null;
    }
}
