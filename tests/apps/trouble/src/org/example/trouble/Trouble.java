// SPDX-License-Identifier: Apache-2.0
package org.example.trouble;

import android.app.Service;
import android.content.Intent;
import android.os.IBinder;
import android.util.Log;

/** A started service that does one thing wrong. */
abstract class Trouble extends Service {
    static void log(String text) {
        Log.i("Trouble", text);
    }

    @Override
    public IBinder onBind(Intent intent) {
        return null;
    }

    @Override
    public void onDestroy() {
        log("onDestroy");
    }
}
