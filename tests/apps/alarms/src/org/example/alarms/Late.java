// SPDX-License-Identifier: Apache-2.0
package org.example.alarms;

import android.app.AlarmManager;
import android.app.PendingIntent;
import android.app.Service;
import android.content.Intent;
import android.os.IBinder;
import android.os.SystemClock;
import android.util.Log;

/** Sets an alarm for a process that may have ended by then, and one that is far away. */
public final class Late extends Service {
    private static final long LATE_MILLIS = 3_000;
    private static final long FAR_MILLIS = 3_600_000;

    @Override
    public int onStartCommand(Intent intent, int flags, int id) {
        AlarmManager alarms = getSystemService(AlarmManager.class);
        long late = SystemClock.elapsedRealtime() + LATE_MILLIS;
        alarms.setExact(AlarmManager.ELAPSED_REALTIME_WAKEUP, late, bell("late", PendingIntent.FLAG_MUTABLE));
        long far = System.currentTimeMillis() + FAR_MILLIS;
        PendingIntent show = bell("show", PendingIntent.FLAG_IMMUTABLE);
        PendingIntent ring = bell("ring", PendingIntent.FLAG_IMMUTABLE);
        alarms.setAlarmClock(new AlarmManager.AlarmClockInfo(far, show), ring);
        AlarmManager.AlarmClockInfo next = alarms.getNextAlarmClock();
        Log.i("Late", "set, next " + (next.getTriggerTime() == far) + " " + show.equals(next.getShowIntent()));
        return START_NOT_STICKY;
    }

    private PendingIntent bell(String action, int flags) {
        return PendingIntent.getBroadcast(this, 1, new Intent(this, Bell.class).setAction(action), flags);
    }

    @Override
    public IBinder onBind(Intent intent) {
        return null;
    }
}
