// SPDX-License-Identifier: Apache-2.0
package org.example.firstday;

import android.app.Service;
import android.content.Intent;
import android.os.IBinder;
import android.util.Log;
import java.util.Arrays;

/** A started service that tries one thing after the other, and logs what each gives or throws. */
abstract class Day extends Service {
    /** One thing. */
    interface Step {
        Object run() throws Exception;
    }

    abstract void day() throws Exception;

    static void say(String name, Step step) {
        String text;
        try {
            Object answer = step.run();
            text = answer instanceof Object[] array ? Arrays.toString(array) : String.valueOf(answer);
        } catch (Exception | LinkageError e) {
            text = e.getClass().getSimpleName() + ": " + e.getMessage();
            Log.d("FirstDayTrace", name, e);
        }
        Log.i("FirstDay", name + ": " + text);
    }

    /** Runs on a thread of its own, and waits for it. */
    static void elsewhere(Runnable run) throws InterruptedException {
        Thread thread = new Thread(run);
        thread.start();
        thread.join();
    }

    @Override
    public int onStartCommand(Intent intent, int flags, int startId) {
        say("day", () -> {
            day();
            return "ended";
        });
        stopSelf();
        return START_NOT_STICKY;
    }

    @Override
    public IBinder onBind(Intent intent) {
        return null;
    }
}
