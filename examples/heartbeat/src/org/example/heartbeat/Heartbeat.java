// SPDX-License-Identifier: Apache-2.0
package org.example.heartbeat;

import android.app.Service;
import android.content.Intent;
import android.os.Handler;
import android.os.IBinder;
import android.os.Looper;
import android.util.Log;

/**
 * A periodic control task in a service, with messages to the main looper and garbage beside it:
 * {@code --extra beats=500} sets how often the heart beats, {@code --extra period_us=2000} how
 * fast, {@code --extra live_mb=200} what the other thread holds and {@code --extra garbage_mb=200}
 * what it throws away in a second. It ends by itself and says what it measured.
 */
public final class Heartbeat extends Service {
    static final String TAG = "Heartbeat";
    private static final int BEATS = 1000;
    private static final int PERIOD_US = 2000;
    private static final int LIVE_MB = 10;
    private static final int GARBAGE_MB = 50;
    private static final int PULSES_PER_MESSAGE = 10;

    private Garbage garbage;
    private int messages;

    @Override
    public int onStartCommand(Intent intent, int flags, int startId) {
        int beats = number(intent, "beats", BEATS);
        int periodUs = number(intent, "period_us", PERIOD_US);
        Handler main = new Handler(Looper.getMainLooper(), message -> {
            messages++;
            return true;
        });
        garbage = new Garbage(number(intent, "live_mb", LIVE_MB), number(intent, "garbage_mb", GARBAGE_MB));
        garbage.start();
        new ControlTask(beats, periodUs * 1000L, PULSES_PER_MESSAGE, main, this::report).start();
        return START_NOT_STICKY;
    }

    private static int number(Intent intent, String name, int otherwise) {
        String text = intent.getStringExtra(name);
        return text == null ? otherwise : Integer.parseInt(text);
    }

    /** On the main looper, behind the last message of the task. */
    private void report(ControlTask task) {
        Log.i(TAG, task.result() + ", " + messages + " messages, " + garbage.megabytes() + " MB of garbage");
        stopSelf();
    }

    @Override
    public void onDestroy() {
        garbage.end();
        Log.i(TAG, "ended");
    }

    @Override
    public IBinder onBind(Intent intent) {
        return null;
    }
}
