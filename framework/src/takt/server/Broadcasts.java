// SPDX-License-Identifier: Apache-2.0
package takt.server;

import android.app.IApplicationThread;
import android.content.ComponentName;
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
import java.util.Comparator;
import java.util.Deque;
import java.util.List;

/**
 * Broadcasts: the part of IActivityManager that brings intents to receivers.
 *
 * <p>Receivers that are registered in code get an unordered broadcast at once. Those of the
 * manifest, and all of an ordered broadcast, get it one after the other: the next one when {@code
 * finishReceiver} says that the last is done.
 *
 * <p>Those of the one application of {@code takt run}; {@link SystemBroadcasts} has the others'.
 */
final class Broadcasts implements BroadcastHome {
    private record Registered(IIntentReceiver receiver, IntentFilter filter) {}

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
    private final List<Registered> registered = new ArrayList<>();
    private final Deque<Broadcast> waiting = new ArrayDeque<>();
    private Broadcast current;

    Broadcasts(AppProcess process) {
        this.process = process;
    }

    /** Registers a receiver; there are no sticky broadcasts, so the answer is null. */
    public synchronized Intent registerReceiverWithFeature(IApplicationThread caller, String callerPackage,
            String feature, String id, IIntentReceiver receiver, IntentFilter filter, String permission, int user,
            int flags) throws RemoteException {
        if (receiver != null) {
            registered.add(new Registered(receiver, filter));
        }
        return null;
    }

    /** Forgets a receiver. */
    public synchronized void unregisterReceiver(IIntentReceiver receiver) {
        registered.removeIf(it -> it.receiver.asBinder() == receiver.asBinder());
    }

    @Override
    public synchronized int broadcastIntentWithFeature(IApplicationThread caller, String feature, Intent intent,
            String type, IIntentReceiver last, int code, String data, Bundle extras, String[] permissions,
            String[] excludedPermissions, String[] excludedPackages, int operation, Bundle options,
            boolean isOrdered, boolean isSticky, int user) throws RemoteException {
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

    @Override
    public synchronized boolean isIdle() {
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
