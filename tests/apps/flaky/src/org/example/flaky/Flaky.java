// SPDX-License-Identifier: Apache-2.0
package org.example.flaky;

import android.app.Service;
import android.content.Intent;
import android.os.IBinder;
import android.util.Log;

/** Fails each time that it is started. */
public final class Flaky extends Service {
    @Override
    public int onStartCommand(Intent intent, int flags, int start) {
        Log.i("Flaky", "fails again");
        throw new IllegalStateException("as it always does");
    }

    @Override
    public IBinder onBind(Intent intent) {
        return null;
    }
}
