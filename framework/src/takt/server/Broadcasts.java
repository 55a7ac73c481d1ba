// SPDX-License-Identifier: Apache-2.0
package takt.server;

import android.app.IApplicationThread;
import android.content.ComponentName;
import android.content.Context;
import android.content.IIntentReceiver;
import android.content.Intent;
import android.content.IntentFilter;
import android.content.pm.ActivityInfo;
import android.os.Bundle;
import android.os.IBinder;
import android.os.Process;
import android.os.RemoteException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Deque;
import java.util.List;
import takt.system.ISystem;
import takt.system.Step;

/**
 * Broadcasts: the part of IActivityManager that brings intents to receivers.
 *
 * <p>Receivers that are registered in code get an unordered broadcast at once. Those of the
 * manifest, and all of an ordered broadcast, get it one after the other: the next one when {@code
 * finishReceiver} says that the last is done.
 *
 * <p>Under {@code takt system} one without order goes to the server, which brings it to all
 * packages. An ordered one stays in the process.
 */
final class Broadcasts {
    private record Registered(IIntentReceiver receiver, IntentFilter filter, String permission, boolean isExported) {}

    /** One receiver's turn: registered in code, or a component. */
    private record Turn(IIntentReceiver receiver, ActivityInfo component, int priority) {}

    private static final class Broadcast {
        final Intent intent;
        final boolean isOrdered;
        final IIntentReceiver last;
        final Deque<Turn> turns = new ArrayDeque<>();
        int code;
        String data;
        Bundle extras;

        Broadcast(Intent intent, boolean isOrdered, IIntentReceiver last) {
            this.intent = intent;
            this.isOrdered = isOrdered;
            this.last = last;
        }
    }

    private final AppProcess process;
    /** Null: there are no others. */
    private final ISystem system;
    private final List<Registered> registered = new ArrayList<>();
    private final Deque<Broadcast> waiting = new ArrayDeque<>();
    private Broadcast current;

    Broadcasts(AppProcess process, ISystem system) {
        this.process = process;
        this.system = system;
    }

    /** Registers a receiver; there are no sticky broadcasts, so the answer is null. */
    public synchronized Intent registerReceiverWithFeature(IApplicationThread caller, String callerPackage,
            String feature, String id, IIntentReceiver receiver, IntentFilter filter, String permission, int user,
            int flags) throws RemoteException {
        if (receiver != null) {
            boolean isExported = (flags & Context.RECEIVER_NOT_EXPORTED) == 0;
            registered.add(new Registered(receiver, filter, permission, isExported));
            if (system != null) {
                String[] actions = new String[filter.countActions()];
                Arrays.setAll(actions, filter::getAction);
                system.listen(actions);
            }
        }
        return null;
    }

    /** Forgets a receiver. */
    public synchronized void unregisterReceiver(IIntentReceiver receiver) {
        registered.removeIf(it -> it.receiver.asBinder() == receiver.asBinder());
    }

    /** Sends an intent to every receiver that it reaches; 0 is success. */
    public synchronized int broadcastIntentWithFeature(IApplicationThread caller, String feature, Intent intent,
            String type, IIntentReceiver last, int code, String data, Bundle extras, String[] permissions,
            String[] excludedPermissions, String[] excludedPackages, int operation, Bundle options,
            boolean isOrdered, boolean isSticky, int user) throws RemoteException {
        if (system != null && !isOrdered && last == null) {
            system.broadcast(Wishes.of(intent, type), only(permissions, excludedPermissions, excludedPackages));
            return 0;
        }
        Broadcast broadcast = new Broadcast(intent, isOrdered, last);
        broadcast.code = code;
        broadcast.data = data;
        broadcast.extras = extras;
        List<Turn> turns = new ArrayList<>();
        for (Registered target : List.copyOf(registered)) {
            if (!isReached(target.filter, intent)) {
                continue;
            }
            if (isOrdered) {
                turns.add(new Turn(target.receiver, null, target.filter.getPriority()));
            } else {
                deliver(target.receiver, broadcast, false);
            }
        }
        for (InstalledPackage.Component component : process.installed.matching(InstalledPackage.RECEIVER, intent)) {
            int priority = component.filters.stream().mapToInt(IntentFilter::getPriority).max().orElse(0);
            turns.add(new Turn(null, (ActivityInfo) component.info, priority));
        }
        turns.sort(Comparator.comparingInt(Turn::priority).reversed());
        broadcast.turns.addAll(turns);
        waiting.add(broadcast);
        if (current == null) {
            next();
        }
        return 0;
    }

    /** The permission that receivers need; null for none. */
    private static String only(String[] permissions, String[] excludedPermissions, String[] excludedPackages) {
        boolean isMore = permissions != null && permissions.length > 1;
        if (isMore || (excludedPermissions != null && excludedPermissions.length > 0)
                || (excludedPackages != null && excludedPackages.length > 0)) {
            throw new UnsupportedOperationException(
                    "a broadcast with several permissions, or with excluded ones, is not supported by Takt yet");
        }
        return permissions == null || permissions.length == 0 ? null : permissions[0];
    }

    /** The server brings a broadcast, for a receiver of the manifest or for what code added. */
    synchronized void carryOut(Step step) throws RemoteException {
        Intent intent = Wishes.intent(step.wishes[0]);
        int sender = (int) step.numbers[0];
        int pid = (int) step.numbers[1];
        Broadcast broadcast = new Broadcast(intent, false, null);
        if (step.component == null) {
            for (Registered target : List.copyOf(registered)) {
                if (isReached(target.filter, intent) && mayReach(target, pid, sender)) {
                    deliver(target.receiver, broadcast, false);
                }
            }
            return;
        }
        String name = ComponentName.unflattenFromString(step.component).getClassName();
        InstalledPackage.Component component = process.installed.named(InstalledPackage.RECEIVER, name);
        if (component == null) {
            return;
        }
        broadcast.turns.add(new Turn(null, (ActivityInfo) component.info, 0));
        waiting.add(broadcast);
        if (current == null) {
            next();
        }
    }

    /** A person reaches all; others what is exported, with the permission that it asks for. */
    private boolean mayReach(Registered target, int pid, int sender) throws RemoteException {
        if (sender == 0 || pid == Process.myPid()) {
            return true;
        }
        boolean isOwn = sender == process.installed.application.uid;
        return isOwn || (target.isExported && (target.permission == null || system.has(target.permission, pid, sender)));
    }

    /** A receiver is done. */
    public synchronized void finishReceiver(IBinder token, int code, String data, Bundle extras, boolean isAborted,
            int flags) throws RemoteException {
        if (current == null) {
            return;
        }
        process.watchdog.answered(current);
        if (current.isOrdered) {
            current.code = code;
            current.data = data;
            current.extras = extras;
            if (isAborted) {
                current.turns.clear();
            }
        }
        process.started("receiver");
        next();
        process.lookForEnd();
    }

    synchronized boolean isIdle() {
        return current == null && waiting.isEmpty();
    }

    /** Gives the next turn; a broadcast without one is over. */
    private void next() throws RemoteException {
        while (true) {
            if (current == null) {
                current = waiting.poll();
                if (current == null) {
                    return;
                }
            }
            Turn turn = current.turns.poll();
            if (turn != null) {
                give(turn);
                return;
            }
            Broadcast over = current;
            current = null;
            if (over.last != null) {
                deliver(over.last, over, false);
            }
        }
    }

    private void give(Turn turn) throws RemoteException {
        process.watchdog.ask(current, "Broadcast of " + current.intent);
        if (turn.receiver != null) {
            deliver(turn.receiver, current, true);
            return;
        }
        Intent intent = new Intent(current.intent);
        intent.setClassName(turn.component.packageName, turn.component.name);
        Urgency.send(turn.component, () -> process.thread().scheduleReceiver(intent, turn.component,
                AppProcess.COMPATIBILITY, current.code, current.data, current.extras, current.isOrdered, false,
                AppProcess.USER, AppProcess.STATE, Process.myUid(), turn.component.packageName));
    }

    private void deliver(IIntentReceiver receiver, Broadcast broadcast, boolean isOrdered) throws RemoteException {
        process.thread().scheduleRegisteredReceiver(receiver, new Intent(broadcast.intent), broadcast.code,
                broadcast.data, broadcast.extras, isOrdered, false, !isOrdered, AppProcess.USER, AppProcess.STATE,
                Process.myUid(), process.installed.info.packageName);
    }

    private boolean isReached(IntentFilter filter, Intent intent) {
        boolean isElsewhere = intent.getPackage() != null
                && !intent.getPackage().equals(process.installed.info.packageName);
        return intent.getComponent() == null && !isElsewhere && filter.match(intent.getAction(), intent.getType(),
                intent.getScheme(), intent.getData(), intent.getCategories(), "Takt") >= 0;
    }
}
