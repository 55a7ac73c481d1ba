// SPDX-License-Identifier: Apache-2.0
package org.example.flood;

import android.app.AlarmManager;
import android.app.PendingIntent;
import android.app.Service;
import android.content.BroadcastReceiver;
import android.content.Context;
import android.content.Intent;
import android.content.IntentFilter;
import android.os.Handler;
import android.os.IBinder;
import android.os.SystemClock;
import android.util.Log;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntConsumer;

/** Asks for ten thousand of each kind of thing that the server keeps, and says what came of it. */
public final class Flood extends Service {
    private static final int COUNT = 10_000;
    private static final long HOUR_MILLIS = 3_600_000;

    private final List<Object> kept = new ArrayList<>();

    @Override
    public int onStartCommand(Intent intent, int flags, int start) {
        AlarmManager alarms = getSystemService(AlarmManager.class);
        Handler handler = new Handler(getMainLooper());
        long later = SystemClock.elapsedRealtime() + HOUR_MILLIS;
        flood("alarms", index -> {
            AlarmManager.OnAlarmListener listener = () -> Log.i("Flood", "an alarm came");
            kept.add(listener);
            alarms.set(AlarmManager.ELAPSED_REALTIME, later, "later", listener, handler);
        });
        flood("pending", index -> {
            Intent what = new Intent("org.example.flood.WHAT").setPackage(getPackageName());
            kept.add(PendingIntent.getBroadcast(this, index, what, PendingIntent.FLAG_IMMUTABLE));
        });
        flood("receivers", index -> registerReceiver(new Nothing(), new IntentFilter("org.example.flood.WHAT")));
        Log.i("Flood", "done");
        return START_NOT_STICKY;
    }

    @Override
    public void onTrimMemory(int level) {
        Log.i("Flood", "gives up " + level);
    }

    /** A receiver of its own. */
    private static final class Nothing extends BroadcastReceiver {
        @Override
        public void onReceive(Context context, Intent intent) {}
    }

    /** How many were taken, how many refused, and what the first refusal says. */
    private static void flood(String what, IntConsumer one) {
        int refused = 0;
        String first = "";
        for (int index = 0; index < COUNT; index++) {
            try {
                one.accept(index);
            } catch (IllegalStateException | SecurityException e) {
                first = refused == 0 ? e.getClass().getSimpleName() + ": " + e.getMessage() : first;
                refused++;
            }
        }
        Log.i("Flood", what + " " + (COUNT - refused) + " taken, " + refused + " refused: " + first);
    }

    @Override
    public IBinder onBind(Intent intent) {
        return null;
    }
}
