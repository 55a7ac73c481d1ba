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
import android.os.RemoteException;
import java.util.Comparator;
import java.util.HashMap;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.function.IntFunction;
import takt.framework.RealtimeThread;
import takt.system.ISystem;
import takt.system.Outcome;
import takt.system.Receiver;
import takt.system.Shout;
import takt.system.Step;
import takt.system.Wish;

/**
 * Broadcasts. The system server knows the receivers of all processes, finds who gets what and in
 * which order; here are the objects behind its numbers.
 *
 * <p>Receivers of the manifest, and all of an ordered broadcast, are given one after the other: the
 * next one when {@code finishReceiver} says that the last is done. No lock is held in a call to the
 * server.
 */
final class SystemBroadcasts implements Served {
    /** Places in the numbers of a step. */
    private static final int UID = 0;
    private static final int RECEIVER = 1;
    private static final int ORDERED = 2;
    private static final int IS_STICKY = 3;
    private static final int CODE = 4;
    private static final int PRIORITY = 5;
    /** The place of the priority in the numbers of a result. */
    private static final int RESULT_PRIORITY = 2;
    /** An intent's own priority, 0 to 99: never more than its sender's. */
    private static final String PRIORITY_EXTRA = "takt.intent.extra.PRIORITY";
    private static final int PRIORITY_MAX = 99;

    private record Result(int code, String data, Bundle extras) {}

    /** One receiver's turn; {@code ordered} is 0 if nobody waits for it. */
    private record Delivery(Intent intent, IIntentReceiver receiver, ActivityInfo component, long ordered, int uid,
            Result found, int priority, long sequence) {}

    /** What a delivery does. */
    private interface Sending {
        void run() throws RemoteException;
    }

    private final AppProcess process;
    private final SystemLink link;
    private final ISystem system;
    private final RealtimeReceivers realtime;
    private final Map<IBinder, Long> numbers = new HashMap<>();
    private final Map<Long, IIntentReceiver> receivers = new HashMap<>();
    /** Who waits for the end of an ordered broadcast. */
    private final Map<Long, IIntentReceiver> results = new HashMap<>();
    /** The most urgent first, equals as they came. */
    private final PriorityQueue<Delivery> waiting = new PriorityQueue<>(
            Comparator.comparingInt(Delivery::priority).reversed().thenComparingLong(Delivery::sequence));
    private Delivery current;
    private long last;
    private long arrivals;

    SystemBroadcasts(AppProcess process, SystemLink link) {
        this.process = process;
        this.link = link;
        system = link.system();
        realtime = new RealtimeReceivers(process, Channels.of(process.installed.extensions));
    }

    @Override
    public SystemLink link() {
        return link;
    }

    /** Registers a receiver: the first sticky broadcast that it takes, or null. */
    public Intent registerReceiverWithFeature(IApplicationThread caller, String callerPackage, String feature,
            String id, IIntentReceiver receiver, IntentFilter filter, String permission, int user, int flags)
            throws RemoteException {
        Receiver described = described(filter);
        described.permission = permission;
        described.isExported = (flags & Context.RECEIVER_NOT_EXPORTED) == 0;
        Wish[] staying = system.staying(described);
        if (receiver != null) {
            described.number = number(receiver);
            system.register(described);
        }
        return staying.length == 0 ? null : Wishes.intent(staying[0]);
    }

    private synchronized long number(IIntentReceiver receiver) {
        Long known = numbers.get(receiver.asBinder());
        if (known != null) {
            return known;
        }
        numbers.put(receiver.asBinder(), ++last);
        receivers.put(last, receiver);
        return last;
    }

    /** Forgets a receiver. */
    public void unregisterReceiver(IIntentReceiver receiver) throws RemoteException {
        Long number;
        synchronized (this) {
            number = numbers.remove(receiver.asBinder());
            receivers.remove(number);
        }
        if (number != null) {
            system.unregister(number);
        }
    }

    private static Receiver described(IntentFilter filter) {
        Receiver receiver = new Receiver();
        receiver.priority = filter.getPriority();
        receiver.actions = texts(filter.countActions(), filter::getAction);
        receiver.categories = texts(filter.countCategories(), filter::getCategory);
        receiver.schemes = texts(filter.countDataSchemes(), filter::getDataScheme);
        // AOSP keeps the base alone of a type that is open.
        receiver.types = texts(filter.countDataTypes(), it -> {
            String type = filter.getDataType(it);
            return type.contains("/") ? type : type + "/*";
        });
        int hosts = filter.countDataAuthorities();
        receiver.hosts = texts(hosts, it -> filter.getDataAuthority(it).getHost());
        receiver.ports = numbers(hosts, it -> filter.getDataAuthority(it).getPort());
        int paths = filter.countDataPaths();
        receiver.paths = texts(paths, it -> filter.getDataPath(it).getPath());
        receiver.pathKinds = numbers(paths, it -> filter.getDataPath(it).getType());
        int parts = filter.countDataSchemeSpecificParts();
        receiver.parts = texts(parts, it -> filter.getDataSchemeSpecificPart(it).getPath());
        receiver.partKinds = numbers(parts, it -> filter.getDataSchemeSpecificPart(it).getType());
        return receiver;
    }

    private static String[] texts(int count, IntFunction<String> at) {
        String[] texts = new String[count];
        for (int index = 0; index < count; index++) {
            texts[index] = at.apply(index);
        }
        return texts;
    }

    private static int[] numbers(int count, IntFunction<Integer> at) {
        int[] numbers = new int[count];
        for (int index = 0; index < count; index++) {
            numbers[index] = at.apply(index);
        }
        return numbers;
    }

    /** Sends an intent to every receiver that it reaches; 0 is success. */
    public int broadcastIntentWithFeature(IApplicationThread caller, String feature, Intent intent, String type,
            IIntentReceiver finished, int code, String data, Bundle extras, String[] permissions,
            String[] excludedPermissions, String[] excludedPackages, int operation, Bundle options,
            boolean isOrdered, boolean isSticky, int user) throws RemoteException {
        boolean excludes = excludedPermissions != null && excludedPermissions.length > 0
                || excludedPackages != null && excludedPackages.length > 0;
        if (excludes) {
            throw new UnsupportedOperationException(
                    "a broadcast with excluded permissions or packages is not supported by Takt yet");
        }
        Shout shout = new Shout();
        shout.wish = Wishes.of(intent, type);
        shout.permissions = permissions == null ? new String[0] : permissions;
        shout.isOrdered = isOrdered;
        shout.isSticky = isSticky;
        shout.priority = priority(intent);
        shout.outcome = outcome(code, data, extras);
        shout.result = finished == null ? 0 : await(finished);
        try {
            system.broadcast(shout);
        } catch (RemoteException | RuntimeException e) {
            forget(shout.result);
            throw e;
        }
        return 0;
    }

    /** The intent's own; below nought it has none. */
    private static int priority(Intent intent) {
        return intent.hasExtra(PRIORITY_EXTRA)
                ? Math.min(Math.max(intent.getIntExtra(PRIORITY_EXTRA, 0), 0), PRIORITY_MAX) : -1;
    }

    private static Outcome outcome(int code, String data, Bundle extras) {
        Outcome outcome = new Outcome();
        outcome.code = code;
        outcome.data = data;
        outcome.extras = Wishes.of(extras);
        return outcome;
    }

    /** The number by which the server tells the end of a broadcast. */
    synchronized long await(IIntentReceiver finished) {
        results.put(++last, finished);
        return last;
    }

    synchronized void forget(long result) {
        results.remove(result);
    }

    /** Takes back a sticky broadcast. */
    public void unbroadcastIntent(IApplicationThread caller, Intent intent, int user) throws RemoteException {
        system.takeBack(Wishes.asked(intent, null));
    }

    /** Before the first: what is to be as fast as the rest. */
    void prepare() {
        realtime.prepare();
    }

    /** The server brings a broadcast. */
    void carryOut(Step step) throws RemoteException {
        long ordered = step.numbers[ORDERED];
        int uid = process.user(step.numbers[UID]);
        int priority = (int) step.numbers[PRIORITY];
        Result found = result(step, CODE);
        if (step.wishes.length == 0) {
            done(ordered, found, false);
            return;
        }
        Intent intent = Wishes.intent(step.wishes[0]);
        if (step.component != null) {
            intent.setComponent(ComponentName.unflattenFromString(step.component));
            String name = intent.getComponent().getClassName();
            InstalledPackage.Component component = process.installed.named(InstalledPackage.RECEIVER, name);
            if (component == null) {
                done(ordered, found, false);
                return;
            }
            ActivityInfo info = (ActivityInfo) component.info;
            Runnable ending = RealtimeReceivers.ending(link, () -> done(ordered, found, false));
            if (!realtime.take(intent, info, priority, ending)) {
                enqueue(intent, null, info, step, found);
            }
            return;
        }
        IIntentReceiver receiver = receiver(step.numbers[RECEIVER]);
        if (receiver == null) {
            done(ordered, found, false);
        } else if (ordered != 0) {
            enqueue(intent, receiver, null, step, found);
        } else {
            as(priority, () -> deliver(receiver, intent, found, false, step.numbers[IS_STICKY] != 0, uid));
        }
    }

    /** What a broadcast's receiver, or the receiver of its result, runs at. */
    static int priority(Step step) {
        return (int) step.numbers[step.kind == ISystem.STEP_RESULT ? RESULT_PRIORITY : PRIORITY];
    }

    private static Result result(Step step, int code) {
        Bundle extras = step.wishes.length < 2 ? null : Wishes.extras(step.wishes[1]);
        return new Result((int) step.numbers[code], step.texts.length == 0 ? null : step.texts[0], extras);
    }

    private synchronized IIntentReceiver receiver(long number) {
        return receivers.get(number);
    }

    /** An ordered broadcast of this process is over. */
    void carryOutResult(Step step) throws RemoteException {
        IIntentReceiver finished;
        synchronized (this) {
            finished = results.remove(step.numbers[0]);
        }
        if (finished != null) {
            Intent intent = step.wishes.length == 0 ? new Intent() : Wishes.intent(step.wishes[0]);
            int uid = process.installed.application.uid;
            as((int) step.numbers[RESULT_PRIORITY],
                    () -> deliver(finished, intent, result(step, 1), false, false, uid));
        }
    }

    /** What is sent to loopers meanwhile is sent at the broadcast's priority. */
    private static void as(int priority, Sending sending) throws RemoteException {
        int before = RealtimeThread.sendAs(priority);
        try {
            sending.run();
        } finally {
            RealtimeThread.sendAs(before);
        }
    }

    private void enqueue(Intent intent, IIntentReceiver receiver, ActivityInfo component, Step step, Result found)
            throws RemoteException {
        synchronized (this) {
            waiting.add(new Delivery(intent, receiver, component, step.numbers[ORDERED], process.user(step.numbers[UID]),
                    found, (int) step.numbers[PRIORITY], ++arrivals));
        }
        next();
    }

    /** Gives the next turn, if nobody has one. */
    private void next() throws RemoteException {
        Delivery turn;
        synchronized (this) {
            if (current != null) {
                return;
            }
            current = waiting.poll();
            turn = current;
        }
        if (turn != null) {
            give(turn);
        }
    }

    private void give(Delivery turn) throws RemoteException {
        process.watchdog.ask(turn, "Broadcast of " + turn.intent);
        Result found = turn.found;
        if (turn.receiver != null) {
            as(turn.priority, () -> deliver(turn.receiver, turn.intent, found, true, false, turn.uid));
            return;
        }
        Urgency.send(turn.component, turn.priority, () -> process.thread().scheduleReceiver(turn.intent, turn.component,
                AppProcess.COMPATIBILITY, found.code, found.data, found.extras, turn.ordered != 0, false,
                AppProcess.USER, AppProcess.STATE, turn.uid, null));
    }

    private void deliver(IIntentReceiver receiver, Intent intent, Result found, boolean isOrdered, boolean isSticky,
            int uid) throws RemoteException {
        process.thread().scheduleRegisteredReceiver(receiver, intent, found.code, found.data, found.extras, isOrdered,
                isSticky, !isOrdered, AppProcess.USER, AppProcess.STATE, uid, null);
    }

    /** A receiver is done. */
    public void finishReceiver(IBinder token, int code, String data, Bundle extras, boolean isAborted, int flags)
            throws RemoteException {
        Delivery over;
        synchronized (this) {
            over = current;
            current = null;
        }
        if (over == null) {
            return;
        }
        process.watchdog.answered(over);
        done(over.ordered, new Result(code, data, extras), isAborted);
        process.started("receiver");
        next();
        process.lookForEnd();
    }

    private void done(long ordered, Result result, boolean isAborted) throws RemoteException {
        if (ordered != 0) {
            system.received(ordered, outcome(result.code, result.data, result.extras), isAborted);
        }
    }

    /** Is none under way? */
    synchronized boolean isIdle() {
        return current == null && waiting.isEmpty() && realtime.isIdle();
    }
}
