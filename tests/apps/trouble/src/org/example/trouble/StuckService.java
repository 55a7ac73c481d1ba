// SPDX-License-Identifier: Apache-2.0
package org.example.trouble;

import android.content.Intent;
import android.os.SystemClock;

/**
 * Waits for a lock that is never given back: in onDestroy, which the end of the application asks
 * for.
 */
public final class StuckService extends Trouble {
    private final Object lock = new Object();

    @Override
    public int onStartCommand(Intent intent, int flags, int startId) {
        Thread holder = new Thread(() -> {
            synchronized (lock) {
                log("ready");
                SystemClock.sleep(Long.MAX_VALUE);
            }
        });
        holder.setDaemon(true);
        holder.start();
        return START_NOT_STICKY;
    }

    @Override
    public void onDestroy() {
        synchronized (lock) {
            super.onDestroy();
        }
    }
}
