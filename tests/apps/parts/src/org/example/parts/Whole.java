// SPDX-License-Identifier: Apache-2.0
package org.example.parts;

import android.app.Service;
import android.content.Intent;
import android.os.IBinder;
import android.util.Log;

/**
 * Uses what lies in the package's second DEX file and in its native library, and one that it does
 * not have.
 */
public final class Whole extends Service {
    private static native int twice(int number);

    private static void log(String text) {
        Log.i("Parts", text);
    }

    @Override
    public int onStartCommand(Intent intent, int flags, int startId) {
        log("second file: " + Second.sum() + " by " + Second.class.getClassLoader().getClass().getSimpleName());
        System.loadLibrary("twice");
        log("library: " + twice(21));
        try {
            System.loadLibrary("nowhere");
        } catch (UnsatisfiedLinkError e) {
            log("missing: " + e.getMessage().contains("nowhere"));
        }
        stopSelf();
        return START_NOT_STICKY;
    }

    @Override
    public IBinder onBind(Intent intent) {
        return null;
    }
}
