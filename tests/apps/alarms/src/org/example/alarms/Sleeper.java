// SPDX-License-Identifier: Apache-2.0
package org.example.alarms;

import android.app.AlarmManager;
import android.app.PendingIntent;
import android.app.Service;
import android.content.ComponentName;
import android.content.Intent;
import android.os.Handler;
import android.os.HandlerThread;
import android.os.IBinder;
import android.os.SystemClock;
import android.util.Log;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** Sets alarms of all kinds, and says what came and in which order. */
public final class Sleeper extends Service implements Runnable {
    static final String TAG = "Alarms";
    /** Later than what it takes to set the others. */
    private static final long SOON_MILLIS = 500;
    private static final long PATIENCE_SECONDS = 60;
    private static final BlockingQueue<String> HEARD = new LinkedBlockingQueue<>();

    private AlarmManager alarms;
    private Handler handler;

    /** From whatever an alarm reaches. */
    static void heard(String what) {
        HEARD.add(what);
    }

    private static String next() throws InterruptedException {
        String heard = HEARD.poll(PATIENCE_SECONDS, TimeUnit.SECONDS);
        return heard == null ? "nothing" : heard;
    }

    private static void say(String text) {
        Log.i(TAG, text);
    }

    @Override
    public int onStartCommand(Intent intent, int flags, int id) {
        alarms = getSystemService(AlarmManager.class);
        HandlerThread thread = new HandlerThread("listeners");
        thread.start();
        handler = new Handler(thread.getLooper());
        new Thread(this, "sleeper").start();
        return START_NOT_STICKY;
    }

    @Override
    public IBinder onBind(Intent intent) {
        return null;
    }

    @Override
    public void run() {
        try {
            listeners();
            takenBack();
            pending();
            repeated();
            clocks();
            limits();
            say("done");
        } catch (InterruptedException | PendingIntent.CanceledException e) {
            Log.e(TAG, "failed", e);
        }
        stopSelf();
    }

    private static long soon() {
        return SystemClock.elapsedRealtime() + SOON_MILLIS;
    }

    private void listen(long at, String name) {
        alarms.setExact(AlarmManager.ELAPSED_REALTIME_WAKEUP, at, name, () -> heard(name), handler);
    }

    /** By time, and those of one instant as they were set. */
    private void listeners() throws InterruptedException {
        long at = soon();
        listen(at + 40, "third");
        listen(at, "first");
        listen(at, "second");
        alarms.setWindow(AlarmManager.RTC, System.currentTimeMillis() + SOON_MILLIS + 60, 10, "fourth",
                () -> heard("fourth"), handler);
        say("listeners " + next() + " " + next() + " " + next() + " " + next());
        say("not early " + (SystemClock.elapsedRealtime() >= at + 40));
    }

    private void takenBack() throws InterruptedException {
        long at = soon();
        AlarmManager.OnAlarmListener listener = () -> heard("taken back");
        alarms.setExact(AlarmManager.ELAPSED_REALTIME, at, "gone", listener, handler);
        alarms.cancel(listener);
        AlarmManager.OnAlarmListener moved = () -> heard("moved");
        alarms.setExact(AlarmManager.ELAPSED_REALTIME, at, "moved", moved, handler);
        alarms.setExact(AlarmManager.ELAPSED_REALTIME, at + 20, "moved", moved, handler);
        listen(at + 40, "behind");
        say("taken back " + next() + " " + next());
    }

    private PendingIntent bell(String action, String word, int flags) {
        Intent intent = new Intent(action).setComponent(new ComponentName(this, Bell.class)).putExtra("word", word);
        return PendingIntent.getBroadcast(this, 1, intent, flags);
    }

    private void pending() throws InterruptedException, PendingIntent.CanceledException {
        int immutable = PendingIntent.FLAG_IMMUTABLE;
        say("before " + bell("ring", "none", immutable | PendingIntent.FLAG_NO_CREATE));
        PendingIntent ring = bell("ring", "one", immutable);
        say("the same " + ring.equals(bell("ring", "two", immutable)) + " of " + ring.getCreatorPackage()
                + ", broadcast " + ring.isBroadcast() + ", immutable " + ring.isImmutable());
        alarms.setExactAndAllowWhileIdle(AlarmManager.ELAPSED_REALTIME_WAKEUP, soon(), ring);
        say("alarm " + next());
        bell("ring", "three", immutable | PendingIntent.FLAG_UPDATE_CURRENT);
        Intent fill = new Intent().putExtra("word", "filled in").putExtra("more", true);
        ring.send(this, 0, fill);
        say("immutable " + next());
        PendingIntent open = bell("open", "own", PendingIntent.FLAG_MUTABLE);
        open.send(this, 0, fill);
        say("mutable " + next());
        Intent woken = new Intent(this, Woken.class).putExtra("word", "five");
        alarms.set(AlarmManager.ELAPSED_REALTIME, soon(), PendingIntent.getService(this, 2, woken, immutable));
        say(next());
        PendingIntent once = bell("once", "six", immutable | PendingIntent.FLAG_ONE_SHOT);
        once.send();
        say("once " + next() + ", again " + isSent(once));
        ring.addCancelListener(Runnable::run, it -> heard("told of its end"));
        ring.cancel();
        say("cancelled " + next() + ", sent " + isSent(ring));
    }

    private static boolean isSent(PendingIntent it) {
        try {
            it.send();
            return true;
        } catch (PendingIntent.CanceledException e) {
            return false;
        }
    }

    private void repeated() throws InterruptedException {
        PendingIntent tick = bell("tick", "seven", PendingIntent.FLAG_IMMUTABLE);
        alarms.setRepeating(AlarmManager.ELAPSED_REALTIME, soon(), 50, tick);
        say("repeated " + next() + ", " + next() + ", " + next());
        alarms.cancel(tick);
        tick.cancel();
        listen(soon(), "after");
        String heard = next();
        while (heard.startsWith("tick")) {
            // It came before the end, and nobody had asked for it.
            heard = next();
        }
        say("cancelled, then " + heard);
    }

    private void clocks() throws InterruptedException {
        long at = System.currentTimeMillis() + 3_600_000;
        PendingIntent show = bell("show", "eight", PendingIntent.FLAG_IMMUTABLE);
        say("no clock " + alarms.getNextAlarmClock());
        alarms.setAlarmClock(new AlarmManager.AlarmClockInfo(at + 1, show), bell("later", "", PendingIntent.FLAG_IMMUTABLE));
        alarms.setAlarmClock(new AlarmManager.AlarmClockInfo(at, show), show);
        say("next clock " + (alarms.getNextAlarmClock().getTriggerTime() == at));
        alarms.cancelAll();
        say("exact " + alarms.canScheduleExactAlarms() + ", no clock " + alarms.getNextAlarmClock());
    }

    /** Refused by name beyond the limit; then there is room again. */
    private void limits() throws InterruptedException {
        List<AlarmManager.OnAlarmListener> all = new ArrayList<>();
        String refusal = null;
        while (refusal == null) {
            // Each is another listener: it holds a number.
            int number = all.size();
            AlarmManager.OnAlarmListener it = () -> heard("far " + number);
            try {
                alarms.setExact(AlarmManager.ELAPSED_REALTIME, Long.MAX_VALUE / 2_000_000, "far", it, handler);
                all.add(it);
            } catch (IllegalStateException e) {
                refusal = e.getMessage();
            }
        }
        say("limit " + all.size() + " " + refusal.substring(0, refusal.indexOf(':')));
        alarms.cancelAll();
        listen(soon(), "room");
        say("then " + next());
    }
}
