// SPDX-License-Identifier: Apache-2.0
package takt.server;

import android.app.ActivityThread;
import android.app.IApplicationThread;
import android.app.IServiceConnection;
import android.app.Notification;
import android.app.Service;
import android.app.ServiceStartArgs;
import android.content.ComponentName;
import android.content.Intent;
import android.content.pm.ParceledListSlice;
import android.content.pm.ServiceInfo;
import android.os.Binder;
import android.os.IBinder;
import android.os.RemoteException;
import android.util.Log;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import takt.system.ISystem;
import takt.system.Step;

/**
 * Services: the part of IActivityManager that asks the system server to start and bind them, and
 * what the server has this process do with its own. The server decides; here are the objects behind
 * its numbers.
 */
final class SystemServices implements Served {
    private static final String TAG = "Takt";

    private static final class Record {
        final long id;
        final ServiceInfo info;
        final Binder token = new Binder();
        /** What it is bound by, with the server's number. */
        final Map<Intent.FilterComparison, Long> bindings = new HashMap<>();

        Record(long id, ServiceInfo info) {
            this.id = id;
            this.info = info;
        }
    }

    private final AppProcess process;
    private final SystemLink link;
    private final ISystem system;
    private final Map<Long, Record> records = new HashMap<>();
    /** What this process has bound, by the server's number. */
    private final Map<Long, IServiceConnection> connections = new HashMap<>();

    SystemServices(AppProcess process, SystemLink link) {
        this.process = process;
        this.link = link;
        system = link.system();
    }

    @Override
    public SystemLink link() {
        return link;
    }

    /** Starts a service of any package. Null if nothing takes the intent. */
    public ComponentName startService(IApplicationThread caller, Intent intent, String type, boolean isForeground,
            String callingPackage, String callingFeature, int user) throws RemoteException {
        String name = system.startService(Wishes.of(intent, type), isForeground);
        if (name == null && link.isHosted()) {
            Log.w(TAG, "no service for " + intent);
        }
        return name == null ? null : ComponentName.unflattenFromString(name);
    }

    /** Stops a started service: 1 if there was one. */
    public int stopService(IApplicationThread caller, Intent intent, String type, int user) throws RemoteException {
        return system.stopService(Wishes.of(intent, type)) ? 1 : 0;
    }

    /** A service stops itself, unless it was started again since. */
    public boolean stopServiceToken(ComponentName name, IBinder token, int startId) throws RemoteException {
        Record record = byToken(token);
        return record != null && system.stopServiceSelf(record.id, startId);
    }

    /** Binds a service of any package: 1 if there is such a service. */
    public synchronized int bindServiceInstance(IApplicationThread caller, IBinder token, Intent intent, String type,
            IServiceConnection connection, long flags, String instance, String callingPackage, int user)
            throws RemoteException {
        // The lock keeps what the server says of this connection behind its number.
        long number = system.bindService(Wishes.of(intent, type), flags);
        if (number == 0) {
            return 0;
        }
        connections.put(number, connection);
        return 1;
    }

    /** The older form of the same call. */
    public int bindService(IApplicationThread caller, IBinder token, Intent intent, String type,
            IServiceConnection connection, long flags, String callingPackage, int user) throws RemoteException {
        return bindServiceInstance(caller, token, intent, type, connection, flags, null, callingPackage, user);
    }

    /** Unbinds one connection, by whatever intents it was bound. */
    public synchronized boolean unbindService(IServiceConnection connection) throws RemoteException {
        boolean wasBound = false;
        Iterator<Map.Entry<Long, IServiceConnection>> all = connections.entrySet().iterator();
        while (all.hasNext()) {
            Map.Entry<Long, IServiceConnection> entry = all.next();
            if (entry.getValue().asBinder() == connection.asBinder()) {
                all.remove();
                wasBound |= system.unbindService(entry.getKey());
            }
        }
        return wasBound;
    }

    /** onBind has returned. */
    public synchronized void publishService(IBinder token, Intent intent, IBinder service) throws RemoteException {
        process.watchdog.answered(token);
        Record record = byToken(token);
        Long binding = record == null ? null : record.bindings.get(new Intent.FilterComparison(intent));
        if (binding != null) {
            system.publish(record.id, binding, service);
        }
    }

    /** onUnbind has returned. */
    public synchronized void unbindFinished(IBinder token, Intent intent, boolean wantsRebind) throws RemoteException {
        process.watchdog.answered(token);
        Record record = byToken(token);
        Long binding = record == null ? null : record.bindings.get(new Intent.FilterComparison(intent));
        if (binding != null) {
            system.unbound(record.id, binding, wantsRebind);
        }
    }

    /** onCreate, onStartCommand, onRebind, onUnbind or onDestroy has returned. */
    public synchronized void serviceDoneExecuting(IBinder token, int type, int startId, int result, Intent bound)
            throws RemoteException {
        if (type == ActivityThread.SERVICE_DONE_EXECUTING_UNBIND) {
            unbindFinished(token, bound, false);
            return;
        }
        process.watchdog.answered(token);
        Record record = byToken(token);
        if (record == null) {
            return;
        }
        boolean isStart = type == ActivityThread.SERVICE_DONE_EXECUTING_START;
        system.serviceDone(record.id, isStart ? startId : 0, result);
        switch (type) {
            case ActivityThread.SERVICE_DONE_EXECUTING_ANON ->
                    Urgency.checkPeriodic(record.info, ActivityThread.currentApplication().getClassLoader());
            case ActivityThread.SERVICE_DONE_EXECUTING_START -> process.started("service");
            case ActivityThread.SERVICE_DONE_EXECUTING_STOP -> {
                process.watchdog.forget(token);
                process.notifications.serviceEnded(token);
                records.remove(record.id);
            }
            default -> { }
        }
        process.lookForEnd();
    }

    /** A service says that it runs in the foreground, or does no more. */
    public void setServiceForeground(ComponentName name, IBinder token, int id, Notification notification, int flags,
            int type) throws RemoteException {
        Record record = byToken(token);
        if (record != null) {
            system.setForeground(record.id, id != 0);
            process.notifications.setForeground(token, id, notification, flags);
        }
    }

    /** What a service's binder is, without binding. */
    public IBinder peekService(Intent intent, String type, String callingPackage) throws RemoteException {
        return system.peek(Wishes.asked(intent, type));
    }

    /** Is none there? */
    synchronized boolean isIdle() {
        return records.isEmpty();
    }

    /** One step that the server asks for. */
    void carryOut(Step step) throws RemoteException {
        switch ((int) step.numbers[1]) {
            case ISystem.CONNECTED -> connected(step.numbers[2], step.component);
            case ISystem.DISCONNECTED -> disconnected(step.numbers[2], step.numbers[3] != 0, step.component);
            default -> carryOutOwn(step);
        }
    }

    private synchronized void carryOutOwn(Step step) throws RemoteException {
        long id = step.numbers[0];
        int what = (int) step.numbers[1];
        Record record = records.get(id);
        if (what == ISystem.CREATE) {
            create(id, step.component);
        } else if (record != null) {
            send(record, what, step);
        }
    }

    private void create(long id, String component) throws RemoteException {
        if (component == null) {
            // It was stopped before this process came to it.
            return;
        }
        String name = ComponentName.unflattenFromString(component).getClassName();
        ServiceInfo info = (ServiceInfo) process.installed.named(InstalledPackage.SERVICE, name).info;
        Record record = new Record(id, info);
        records.put(id, record);
        ask(record, "onCreate");
        Urgency.send(info, () -> process.thread().scheduleCreateService(record.token, info, AppProcess.COMPATIBILITY,
                AppProcess.STATE));
    }

    private void send(Record record, int what, Step step) throws RemoteException {
        Intent intent = step.wishes.length == 0 ? null : Wishes.intent(step.wishes[0]);
        switch (what) {
            case ISystem.START -> {
                int flags = step.numbers[4] != 0 ? Service.START_FLAG_REDELIVERY : 0;
                ServiceStartArgs start = new ServiceStartArgs(false, (int) step.numbers[2], flags, intent);
                ask(record, "onStartCommand");
                Urgency.send(record.info, () -> process.thread().scheduleServiceArgs(record.token,
                        new ParceledListSlice<>(List.of(start))));
            }
            case ISystem.BIND -> {
                boolean isAgain = step.numbers[3] != 0;
                record.bindings.put(new Intent.FilterComparison(intent), step.numbers[2]);
                ask(record, isAgain ? "onRebind" : "onBind");
                Urgency.send(record.info, () -> process.thread().scheduleBindService(record.token, intent, isAgain,
                        AppProcess.STATE, step.numbers[2]));
            }
            case ISystem.UNBIND -> {
                ask(record, "onUnbind");
                Urgency.send(record.info, () -> process.thread().scheduleUnbindService(record.token, intent));
            }
            default -> {
                ask(record, "onDestroy");
                Urgency.send(record.info, () -> process.thread().scheduleStopService(record.token));
            }
        }
    }

    private synchronized IServiceConnection connection(long number) {
        return connections.get(number);
    }

    private void connected(long number, String component) throws RemoteException {
        IServiceConnection connection = connection(number);
        if (connection != null && component != null) {
            // This thread waits for the service's process, if both have to be brought together: no
            // lock is held meanwhile.
            IBinder service = system.binderOf(number);
            connection.connected(ComponentName.unflattenFromString(component), service, false);
        }
    }

    /**
     * Of a process that has died its clients' own links tell them. Of a service that has ended
     * nobody else does.
     */
    private void disconnected(long number, boolean isFinal, String component) throws RemoteException {
        IServiceConnection connection = isFinal ? connection(number) : null;
        if (connection != null) {
            ComponentName name = component == null ? null : ComponentName.unflattenFromString(component);
            connection.connected(name, null, true);
        }
    }

    /** Each is answered once: by publishService, unbindFinished or serviceDoneExecuting. */
    private void ask(Record record, String what) {
        String name = new ComponentName(record.info.packageName, record.info.name).flattenToShortString();
        process.watchdog.ask(record.token, "executing service " + name + " " + what);
    }

    private synchronized Record byToken(IBinder token) {
        return records.values().stream().filter(it -> it.token == token).findFirst().orElse(null);
    }
}
