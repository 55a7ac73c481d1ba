// SPDX-License-Identifier: Apache-2.0
package takt.server;

import android.app.ActivityThread;
import android.app.IApplicationThread;
import android.app.IServiceConnection;
import android.app.Notification;
import android.app.ServiceStartArgs;
import android.content.ComponentName;
import android.content.Context;
import android.content.Intent;
import android.content.pm.ParceledListSlice;
import android.content.pm.ServiceInfo;
import android.os.Binder;
import android.os.IBinder;
import android.os.RemoteException;
import android.util.Log;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Started and bound services: the part of IActivityManager that makes, binds and ends them. */
final class Services implements ServiceHome {
    private static final String TAG = "Takt";

    /** What binds to a service by one intent. */
    private static final class Binding {
        final Intent intent;
        final List<IServiceConnection> connections = new ArrayList<>();
        boolean isRequested;
        boolean wantsRebind;
        IBinder service;

        Binding(Intent intent) {
            this.intent = intent;
        }
    }

    private static final class Record {
        final ServiceInfo info;
        final Binder token = new Binder();
        final Map<Intent.FilterComparison, Binding> bindings = new LinkedHashMap<>();
        boolean isStarted;
        int startId;

        Record(ServiceInfo info) {
            this.info = info;
        }

        ComponentName name() {
            return new ComponentName(info.packageName, info.name);
        }

        boolean isBound() {
            return bindings.values().stream().anyMatch(it -> !it.connections.isEmpty());
        }
    }

    private final AppProcess process;
    private final Map<ComponentName, Record> records = new LinkedHashMap<>();

    Services(AppProcess process) {
        this.process = process;
    }

    /**
     * Starts a service: onCreate if it is not there, then onStartCommand. Null if no component
     * matches.
     */
    @Override
    public synchronized ComponentName startService(IApplicationThread caller, Intent intent, String type,
            boolean isForeground, String callingPackage, String callingFeature, int user) throws RemoteException {
        Record record = find(intent);
        if (record == null) {
            return null;
        }
        create(record);
        record.isStarted = true;
        record.startId++;
        ask(record, "onStartCommand");
        ServiceStartArgs start = new ServiceStartArgs(false, record.startId, 0, intent);
        Urgency.send(record.info, () ->
                process.thread().scheduleServiceArgs(record.token, new ParceledListSlice<>(List.of(start))));
        return record.name();
    }

    /** Stops a started service: 1 if there was one. */
    public synchronized int stopService(IApplicationThread caller, Intent intent, String type, int user)
            throws RemoteException {
        for (Record record : List.copyOf(records.values())) {
            if (process.installed.matching(InstalledPackage.SERVICE, intent).stream()
                    .anyMatch(it -> it.info == record.info)) {
                record.isStarted = false;
                endUnused(record);
                return 1;
            }
        }
        return 0;
    }

    /** A service stops itself, unless it was started again since. */
    public synchronized boolean stopServiceToken(ComponentName name, IBinder token, int startId)
            throws RemoteException {
        Record record = records.get(name);
        if (record == null || (startId >= 0 && startId != record.startId)) {
            return false;
        }
        record.isStarted = false;
        endUnused(record);
        return true;
    }

    /** Binds: 1 if there is such a service. */
    public synchronized int bindServiceInstance(IApplicationThread caller, IBinder token, Intent intent, String type,
            IServiceConnection connection, long flags, String instance, String callingPackage, int user)
            throws RemoteException {
        Record record = find(intent);
        if (record == null) {
            return 0;
        }
        boolean isThere = records.containsKey(record.name());
        if (!isThere && (flags & Context.BIND_AUTO_CREATE) == 0) {
            return 1;
        }
        create(record);
        Binding binding = record.bindings.computeIfAbsent(new Intent.FilterComparison(intent),
                it -> new Binding(it.getIntent()));
        binding.connections.add(connection);
        if (binding.service != null) {
            connection.connected(record.name(), binding.service, false);
        }
        if (!binding.isRequested || binding.wantsRebind) {
            ask(record, binding.wantsRebind ? "onRebind" : "onBind");
            Urgency.send(record.info, () -> process.thread().scheduleBindService(record.token, binding.intent,
                    binding.wantsRebind, AppProcess.STATE, record.startId));
            binding.isRequested = true;
            binding.wantsRebind = false;
        }
        return 1;
    }

    /** The older form of the same call. */
    public int bindService(IApplicationThread caller, IBinder token, Intent intent, String type,
            IServiceConnection connection, long flags, String callingPackage, int user) throws RemoteException {
        return bindServiceInstance(caller, token, intent, type, connection, flags, null, callingPackage, user);
    }

    /** Unbinds one connection. */
    public synchronized boolean unbindService(IServiceConnection connection) throws RemoteException {
        boolean wasBound = false;
        for (Record record : List.copyOf(records.values())) {
            for (Binding binding : record.bindings.values()) {
                // Proxies of one connection are one object inside a process.
                if (!binding.connections.removeIf(it -> it.asBinder() == connection.asBinder())) {
                    continue;
                }
                wasBound = true;
                if (binding.connections.isEmpty() && binding.isRequested) {
                    ask(record, "onUnbind");
                    Urgency.send(record.info, () ->
                            process.thread().scheduleUnbindService(record.token, binding.intent));
                }
            }
            endUnused(record);
        }
        return wasBound;
    }

    /** onUnbind has returned. */
    public synchronized void unbindFinished(IBinder token, Intent intent, boolean wantsRebind) {
        process.watchdog.answered(token);
        Record record = byToken(token);
        Binding binding = record == null ? null : record.bindings.get(new Intent.FilterComparison(intent));
        if (binding != null) {
            binding.wantsRebind = wantsRebind;
        }
    }

    /** onBind has returned. */
    public synchronized void publishService(IBinder token, Intent intent, IBinder service) throws RemoteException {
        process.watchdog.answered(token);
        Record record = byToken(token);
        if (record == null) {
            return;
        }
        Binding binding = record.bindings.get(new Intent.FilterComparison(intent));
        binding.service = service;
        for (IServiceConnection connection : List.copyOf(binding.connections)) {
            connection.connected(record.name(), service, false);
        }
    }

    /** onCreate, onStartCommand or onDestroy has returned. */
    public void serviceDoneExecuting(IBinder token, int type, int startId, int result, Intent bound)
            throws RemoteException {
        process.watchdog.answered(token);
        if (type == ActivityThread.SERVICE_DONE_EXECUTING_STOP) {
            process.watchdog.forget(token);
            process.notifications.serviceEnded(token);
        }
        if (type == ActivityThread.SERVICE_DONE_EXECUTING_ANON) {
            sayIfNotReleased(token);
        }
        if (type == ActivityThread.SERVICE_DONE_EXECUTING_START) {
            process.started("service");
        }
        process.lookForEnd();
    }

    /** A service says that it runs in the foreground, or does no more. */
    public void setServiceForeground(ComponentName name, IBinder token, int id, Notification notification, int flags,
            int type) throws RemoteException {
        process.notifications.setForeground(token, id, notification, flags);
    }

    /** Its onCreate has returned. */
    private synchronized void sayIfNotReleased(IBinder token) {
        Record record = byToken(token);
        if (record != null) {
            Urgency.checkPeriodic(record.info, ActivityThread.currentApplication().getClassLoader());
        }
    }

    /** What a service's binder is, without binding. */
    public synchronized IBinder peekService(Intent intent, String type, String callingPackage) {
        for (Record record : records.values()) {
            Binding binding = record.bindings.get(new Intent.FilterComparison(intent));
            if (binding != null) {
                return binding.service;
            }
        }
        return null;
    }

    @Override
    public synchronized boolean isIdle() {
        return records.isEmpty();
    }

    /** Ends every service, bound or started, in the reverse order of their starts. */
    @Override
    public synchronized void endAll() throws RemoteException {
        List<Record> all = new ArrayList<>(records.values());
        for (int index = all.size() - 1; index >= 0; index--) {
            end(all.get(index));
        }
    }

    private Record find(Intent intent) {
        List<InstalledPackage.Component> found = process.installed.matching(InstalledPackage.SERVICE, intent);
        if (found.isEmpty()) {
            Log.w(TAG, "no service for " + intent);
            return null;
        }
        InstalledPackage.Component component = found.get(0);
        Record record = records.get(component.name());
        return record != null ? record : new Record((ServiceInfo) component.info);
    }

    private void create(Record record) throws RemoteException {
        if (records.putIfAbsent(record.name(), record) == null) {
            ask(record, "onCreate");
            Urgency.send(record.info, () -> process.thread().scheduleCreateService(record.token, record.info,
                    AppProcess.COMPATIBILITY, AppProcess.STATE));
        }
    }

    private void endUnused(Record record) throws RemoteException {
        if (!record.isStarted && !record.isBound()) {
            end(record);
        }
    }

    private void end(Record record) throws RemoteException {
        for (Binding binding : record.bindings.values()) {
            if (binding.isRequested && !binding.connections.isEmpty()) {
                ask(record, "onUnbind");
                Urgency.send(record.info, () ->
                        process.thread().scheduleUnbindService(record.token, binding.intent));
            }
        }
        if (records.remove(record.name()) != null) {
            ask(record, "onDestroy");
            Urgency.send(record.info, () -> process.thread().scheduleStopService(record.token));
        }
    }

    /** Each is answered once: by publishService, unbindFinished or serviceDoneExecuting. */
    private void ask(Record record, String what) {
        process.watchdog.ask(record.token, "executing service " + record.name().flattenToShortString() + " " + what);
    }

    private Record byToken(IBinder token) {
        return records.values().stream().filter(it -> it.token == token).findFirst().orElse(null);
    }
}
