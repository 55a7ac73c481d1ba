// SPDX-License-Identifier: Apache-2.0
package org.example.drawing;

import android.app.Service;
import android.content.Intent;
import android.os.IBinder;
import android.util.Log;

/** Draws, reads its resources, and uses a database; each in a class of its own. */
public final class Sheet extends Service {
    static void log(String text) {
        Log.i("Drawing", text);
    }

    @Override
    public int onStartCommand(Intent intent, int flags, int startId) {
        setTheme(getResources().getIdentifier("Paper", "style", getPackageName()));
        Pictures.draw();
        Values.read(this);
        try (Store store = new Store(this)) {
            store.use();
        }
        Pictures.send();
        log("done");
        stopSelf();
        return START_NOT_STICKY;
    }

    @Override
    public IBinder onBind(Intent intent) {
        return null;
    }
}
