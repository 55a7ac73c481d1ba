// SPDX-License-Identifier: Apache-2.0
package org.example.life;

import android.app.Service;
import android.content.Intent;
import android.os.Binder;
import android.os.IBinder;
import android.util.Log;

/** A bound service. */
public final class Bound extends Service {
    /** What it can be asked. */
    static final class Answers extends Binder {
        int answer() {
            return 42;
        }
    }

    @Override
    public void onCreate() {
        Log.i(App.TAG, "Bound.onCreate");
    }

    @Override
    public IBinder onBind(Intent intent) {
        Log.i(App.TAG, "Bound.onBind");
        return new Answers();
    }

    @Override
    public boolean onUnbind(Intent intent) {
        Log.i(App.TAG, "Bound.onUnbind");
        return false;
    }

    @Override
    public void onDestroy() {
        Log.i(App.TAG, "Bound.onDestroy");
    }
}
