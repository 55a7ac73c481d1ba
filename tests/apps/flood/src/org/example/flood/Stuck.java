// SPDX-License-Identifier: Apache-2.0
package org.example.flood;

import android.content.BroadcastReceiver;
import android.content.Context;
import android.content.Intent;
import android.os.SystemClock;
import android.util.Log;

/** Never returns. */
public final class Stuck extends BroadcastReceiver {
    private static final long LONG_MILLIS = 60_000;

    @Override
    public void onReceive(Context context, Intent intent) {
        Log.i("Flood", "stuck");
        while (true) {
            SystemClock.sleep(LONG_MILLIS);
        }
    }
}
