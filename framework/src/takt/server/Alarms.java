// SPDX-License-Identifier: Apache-2.0
package takt.server;

import android.Manifest;
import android.app.ActivityManager;
import android.app.AlarmManager;
import android.app.IAlarmCompleteListener;
import android.app.IAlarmListener;
import android.app.PendingIntent;
import android.content.Intent;
import android.os.Build;
import android.os.IBinder;
import android.os.Parcel;
import android.os.RemoteException;
import android.os.WorkSource;
import android.util.Log;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import takt.framework.RealtimeThread;
import takt.system.ISystem;
import takt.system.Timed;

/**
 * IAlarmManager: alarms in the order of time, their setter's priority, and arrival.
 *
 * <p>Under {@code takt system} the server has the alarms of PendingIntents; those of listeners end
 * with the process, and stay here.
 *
 * <p>An alarm comes when it was asked for: what Android takes for inexact without a window is exact
 * here, and neither windows nor intervals have a least length. Alarms of real-time threads have a
 * thread of their own, and what they send counts as sent at the setter's priority.
 */
final class Alarms {
    private static final String TAG = "AlarmManager";
    /** What ends {@link RealtimeThread#sendAtMost}. */
    private static final int ANY_PRIORITY = 99;

    /** What is to be done, of one operation or one listener. */
    private record Target(long payload, IBinder key, long alarm, PendingIntent operation, IAlarmListener listener,
            AlarmManager.AlarmClockInfo clock) {}

    private static Alarms instance;

    private final AppProcess process;
    private final SystemSenders senders;
    /** Who has PendingIntents sent, also when this process has ended; null: this process itself. */
    private final ISystem system;
    private final Map<Long, Target> byPayload = new HashMap<>();
    private final Map<IBinder, Target> byKey = new HashMap<>();
    /** Listeners that have not said that they are done. */
    private final Set<IBinder> running = new HashSet<>();
    private final boolean[] hasThread = new boolean[2];
    private long payloads;

    Alarms(AppProcess process, SystemSenders senders) {
        this.process = process;
        this.senders = senders;
        system = senders.link().isHosted() ? null : senders.link().system();
        synchronized (Alarms.class) {
            instance = this;
        }
    }

    /** Sets an alarm; one of the same operation or listener gives way. */
    public void set(String callingPackage, int type, long at, long window, long interval, int flags,
            PendingIntent operation, IAlarmListener listener, String listenerTag, WorkSource workSource,
            AlarmManager.AlarmClockInfo clock) throws RemoteException {
        if ((operation == null) == (listener == null)) {
            Log.w(TAG, "Alarms must either supply a PendingIntent or an AlarmReceiver");
            return;
        }
        boolean isExact = window == AlarmManager.WINDOW_EXACT;
        if (isExact && operation != null && !canScheduleExactAlarms(callingPackage)) {
            throw new SecurityException("Caller " + callingPackage + " needs to hold "
                    + Manifest.permission.SCHEDULE_EXACT_ALARM + " or " + Manifest.permission.USE_EXACT_ALARM
                    + " to set exact alarms.");
        }
        boolean isWall = type == AlarmManager.RTC_WAKEUP || type == AlarmManager.RTC;
        boolean wakes = type == AlarmManager.RTC_WAKEUP || type == AlarmManager.ELAPSED_REALTIME_WAKEUP;
        if (operation != null && system != null) {
            Timed timed = new Timed();
            timed.isWall = isWall;
            timed.wakes = wakes;
            timed.at = at;
            timed.window = Math.max(0, window);
            timed.interval = Math.max(0, interval);
            timed.isClock = clock != null;
            timed.show = clock == null || clock.getShowIntent() == null ? null
                    : clock.getShowIntent().getTarget().asBinder();
            system.setAlarm(operation.getTarget().asBinder(), timed);
            return;
        }
        int priority = RealtimeThread.priority();
        IBinder key = operation == null ? listener.asBinder() : operation.getTarget().asBinder();
        synchronized (this) {
            forget(key);
            long payload = ++payloads;
            long[] numbers = {at, Math.max(0, window), Math.max(0, interval), payload};
            long alarm = AlarmStore.set(isWall, wakes, numbers, priority);
            Target target = new Target(payload, key, alarm, operation, listener, clock);
            byPayload.put(payload, target);
            byKey.put(key, target);
            startThread(priority > 0);
        }
    }

    /** The alarm's thread, with the first alarm of its class; and one that looks at the clock. */
    private void startThread(boolean isUrgent) {
        int index = isUrgent ? 1 : 0;
        if (hasThread[index]) {
            return;
        }
        if (!hasThread[0] && !hasThread[1]) {
            daemon("clock", AlarmStore::watchClock);
        }
        hasThread[index] = true;
        daemon(isUrgent ? "urgent alarms" : "alarms", () -> deliverAll(isUrgent));
    }

    private static void daemon(String name, Runnable body) {
        Thread thread = new Thread(body, name);
        thread.setDaemon(true);
        thread.start();
    }

    private void deliverAll(boolean isUrgent) {
        long[] fired = new long[AlarmStore.FIRED_LENGTH];
        while (AlarmStore.await(isUrgent, fired)) {
            Target target = taken(fired);
            if (target == null) {
                continue;
            }
            RealtimeThread.sendAtMost((int) fired[AlarmStore.PRIORITY]);
            try {
                deliver(target, (int) fired[AlarmStore.COUNT]);
            } catch (RemoteException | RuntimeException e) {
                Log.w(TAG, "an alarm was not delivered", e);
            } finally {
                RealtimeThread.sendAtMost(ANY_PRIORITY);
            }
            process.lookForEnd();
        }
    }

    /** What an alarm was for; null if it was taken back meanwhile. */
    private synchronized Target taken(long[] fired) {
        Target target = byPayload.get(fired[AlarmStore.PAYLOAD]);
        if (target == null) {
            return null;
        }
        if (target.listener != null) {
            running.add(target.key);
        }
        if (fired[AlarmStore.IS_REPEATED] == 0) {
            byPayload.remove(target.payload);
            byKey.remove(target.key);
        }
        return target;
    }

    private void deliver(Target target, int count) throws RemoteException {
        if (target.listener != null) {
            try {
                target.listener.doAlarm(new Completion(target.key));
            } catch (RuntimeException e) {
                completed(target.key);
                throw e;
            }
            return;
        }
        Intent fill = new Intent().putExtra(Intent.EXTRA_ALARM_COUNT, count);
        int sent = senders.link().in(() -> senders.sendIntentSender(null, target.operation.getTarget(), null, 0, fill,
                null, null, null, null));
        if (sent == ActivityManager.START_CANCELED) {
            forget(target.key);
        }
    }

    private final class Completion extends IAlarmCompleteListener.Stub {
        private final IBinder key;

        Completion(IBinder key) {
            this.key = key;
        }

        @Override
        public void alarmComplete(IBinder who) {
            completed(key);
            process.lookForEnd();
        }
    }

    private synchronized void completed(IBinder key) {
        running.remove(key);
    }

    private synchronized void forget(IBinder key) {
        Target target = byKey.remove(key);
        if (target != null) {
            byPayload.remove(target.payload);
            AlarmStore.remove(target.alarm);
        }
    }

    /** Takes back the alarm of an operation or of a listener. */
    public synchronized void remove(PendingIntent operation, IAlarmListener listener) throws RemoteException {
        if (operation != null && system != null) {
            system.removeAlarm(operation.getTarget().asBinder());
        } else if (operation != null) {
            forget(operation.getTarget().asBinder());
        }
        if (listener != null) {
            forget(listener.asBinder());
        }
    }

    /** Takes back all alarms of the one package. */
    public synchronized void removeAll(String callingPackage) throws RemoteException {
        if (!callingPackage.equals(process.installed.info.packageName)) {
            throw new SecurityException("Package " + callingPackage + " does not belong to the calling uid");
        }
        Set.copyOf(byKey.keySet()).forEach(this::forget);
        if (system != null) {
            system.removeAlarms();
        }
    }

    /** The alarm clock that rings first; null without one. */
    public synchronized AlarmManager.AlarmClockInfo getNextAlarmClock(int user) throws RemoteException {
        if (system != null) {
            return known(system.nextClock());
        }
        return byKey.values().stream()
                .map(Target::clock)
                .filter(it -> it != null)
                .min(Comparator.comparingLong(AlarmManager.AlarmClockInfo::getTriggerTime))
                .orElse(null);
    }

    private static AlarmManager.AlarmClockInfo known(Timed timed) {
        if (timed == null) {
            return null;
        }
        Parcel parcel = Parcel.obtain();
        try {
            parcel.writeStrongBinder(timed.show);
            parcel.setDataPosition(0);
            PendingIntent show = PendingIntent.readPendingIntentOrNullFromParcel(parcel);
            return new AlarmManager.AlarmClockInfo(timed.at, show);
        } finally {
            parcel.recycle();
        }
    }

    /** From Android 12 on a permission is needed; who runs the application has granted it. */
    public boolean canScheduleExactAlarms(String packageName) {
        int target = process.installed.application.targetSdkVersion;
        return target < Build.VERSION_CODES.S || process.installed.asksFor(Manifest.permission.SCHEDULE_EXACT_ALARM)
                || target >= Build.VERSION_CODES.TIRAMISU
                && process.installed.asksFor(Manifest.permission.USE_EXACT_ALARM);
    }

    /** The same, as the system's settings ask. */
    public boolean hasScheduleExactAlarm(String packageName, int user) {
        return process.installed.asksFor(Manifest.permission.SCHEDULE_EXACT_ALARM);
    }

    /** No alarm waits, and no listener is at work. */
    synchronized boolean isIdle() {
        return byKey.isEmpty() && running.isEmpty();
    }

    /** {@link AlarmStore#watchClock} calls it: somebody has set the clock. A server says so too. */
    static void clockChanged() {
        AppProcess process;
        synchronized (Alarms.class) {
            process = instance.process;
            if (instance.system != null) {
                return;
            }
        }
        try {
            process.broadcast(new Intent(Intent.ACTION_TIME_CHANGED)
                    .addFlags(Intent.FLAG_RECEIVER_REPLACE_PENDING));
        } catch (RemoteException e) {
            Log.w(TAG, "nobody was told that the clock was set", e);
        }
    }
}
