// SPDX-License-Identifier: Apache-2.0
package org.example.ledger;

import android.app.Service;
import android.content.Intent;
import android.os.IBinder;
import android.util.Log;

/** Fills the ledger, a thousand entries at a time, from where an earlier process got to. */
public final class Bookkeeper extends Service {
    private static final String TAG = "Ledger";
    private static final int TOTAL = 100_000;
    private static final int AT_ONCE = 1000;

    @Override
    public int onStartCommand(Intent intent, int flags, int startId) {
        new Thread(this::keep, "bookkeeper").start();
        return START_NOT_STICKY;
    }

    @Override
    public IBinder onBind(Intent intent) {
        return null;
    }

    private void keep() {
        try (Ledger ledger = new Ledger(this)) {
            long count = ledger.count();
            Log.i(TAG, "found " + count + ", integrity " + ledger.integrity());
            for (; count < TOTAL; count += AT_ONCE) {
                ledger.enter(count, AT_ONCE);
                Log.i(TAG, "kept " + (count + AT_ONCE));
            }
            Log.i(TAG, "read " + ledger.read() + ", of 7: " + ledger.countOf(7)
                    + ", integrity " + ledger.integrity());
        }
        stopSelf();
    }
}
