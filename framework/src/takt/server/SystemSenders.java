// SPDX-License-Identifier: Apache-2.0
package takt.server;

import android.app.Activity;
import android.app.ActivityManager;
import android.app.IApplicationThread;
import android.content.IIntentReceiver;
import android.content.IIntentSender;
import android.content.Intent;
import android.os.Bundle;
import android.os.IBinder;
import android.os.RemoteException;
import com.android.internal.os.IResultReceiver;
import java.util.HashMap;
import java.util.Map;
import takt.system.ISystem;
import takt.system.Step;
import takt.system.Wish;

/**
 * PendingIntents: each is a binder of the system server's, which keeps its intent and sends it in
 * its creator's name. So it goes on when the creator's process has ended.
 */
final class SystemSenders implements Served {
    /** Places in what the server says of one. */
    private static final int UID = 0;
    private static final int KIND = 1;
    private static final int IS_IMMUTABLE = 2;
    private static final int IS_TARGETED = 3;

    /** Who hears of the end of which. */
    private record Watch(IBinder pending, IResultReceiver watcher) {}

    private final AppProcess process;
    private final SystemLink link;
    private final ISystem system;
    private final SystemBroadcasts broadcasts;
    private final Map<Long, Watch> watches = new HashMap<>();
    private long last;

    SystemSenders(AppProcess process, SystemLink link, SystemBroadcasts broadcasts) {
        this.process = process;
        this.link = link;
        system = link.system();
        this.broadcasts = broadcasts;
    }

    @Override
    public SystemLink link() {
        return link;
    }

    /** The one of this kind, number and intent; null if it is not there and is not to be made. */
    public IIntentSender getIntentSenderWithFeature(int kind, String packageName, String feature, IBinder token,
            String who, int request, Intent[] intents, String[] types, int flags, Bundle options, int user)
            throws RemoteException {
        if (intents == null || intents.length != 1) {
            throw new UnsupportedOperationException("a PendingIntent of several activities is not supported by Takt yet");
        }
        if (kind == ActivityManager.INTENT_SENDER_ACTIVITY_RESULT) {
            throw new UnsupportedOperationException("Activity.createPendingResult is not supported by Takt yet");
        }
        String type = types == null ? intents[0].getType() : types[0];
        IBinder found = system.pending(kind, request, Wishes.of(intents[0], type), flags);
        return found == null ? null : IIntentSender.Stub.asInterface(found);
    }

    /** Its package takes it back. */
    public void cancelIntentSender(IIntentSender target) throws RemoteException {
        system.cancelPending(target.asBinder());
    }

    /** What it is; of one that has ended nothing is known. */
    public ActivityManager.PendingIntentInfo getInfoForIntentSender(IIntentSender target) throws RemoteException {
        long[] numbers = system.pendingNumbers(target.asBinder());
        String creator = numbers.length == 0 ? null : system.creatorOf(target.asBinder());
        return creator == null
                ? new ActivityManager.PendingIntentInfo(null, -1, false, ActivityManager.INTENT_SENDER_UNKNOWN)
                : new ActivityManager.PendingIntentInfo(creator, process.user(numbers[UID]), numbers[IS_IMMUTABLE] != 0,
                        (int) numbers[KIND]);
    }

    /** Its intent, for who made it. */
    public Intent getIntentForIntentSender(IIntentSender target) throws RemoteException {
        Wish wish = system.pendingWish(target.asBinder());
        return wish == null ? null : Wishes.intent(wish);
    }

    /** Does it name a component or a package? */
    public boolean isIntentSenderTargetedToPackage(IIntentSender target) throws RemoteException {
        long[] numbers = system.pendingNumbers(target.asBinder());
        return numbers.length > 0 && numbers[IS_TARGETED] != 0;
    }

    /** Is it an activity's? */
    public boolean isIntentSenderAnActivity(IIntentSender target) throws RemoteException {
        long[] numbers = system.pendingNumbers(target.asBinder());
        return numbers.length > 0 && numbers[KIND] == ActivityManager.INTENT_SENDER_ACTIVITY;
    }

    /** Who hears when it is cancelled; false if it was. */
    public boolean registerIntentSenderCancelListenerEx(IIntentSender target, IResultReceiver watcher)
            throws RemoteException {
        long number;
        synchronized (this) {
            number = ++last;
            watches.put(number, new Watch(target.asBinder(), watcher));
        }
        boolean isThere = system.watchPending(target.asBinder(), number);
        if (!isThere) {
            forget(number);
        }
        return isThere;
    }

    /** Hears of it no more. */
    public void unregisterIntentSenderCancelListener(IIntentSender target, IResultReceiver watcher)
            throws RemoteException {
        IBinder pending = target.asBinder();
        Map<Long, Watch> all;
        synchronized (this) {
            all = new HashMap<>(watches);
        }
        for (Map.Entry<Long, Watch> entry : all.entrySet()) {
            Watch watch = entry.getValue();
            if (watch.pending == pending && watch.watcher.asBinder() == watcher.asBinder()) {
                forget(entry.getKey());
                system.unwatchPending(pending, entry.getKey());
            }
        }
    }

    private synchronized Watch forget(long number) {
        return watches.remove(number);
    }

    /** The server says that one has ended. */
    void carryOut(Step step) throws RemoteException {
        Watch watch = forget(step.numbers[0]);
        if (watch != null) {
            watch.watcher.send(Activity.RESULT_CANCELED, null);
        }
    }

    /** Sends it; negative if it was cancelled, or sent once already. */
    public int sendIntentSender(IApplicationThread caller, IIntentSender target, IBinder allowlist, int code,
            Intent fill, String type, IIntentReceiver finished, String permission, Bundle options)
            throws RemoteException {
        Wish added = fill == null ? Wishes.none() : Wishes.of(fill, type);
        boolean isBroadcast = finished != null && isBroadcast(target);
        long result = isBroadcast ? broadcasts.await(finished) : 0;
        int sent;
        try {
            sent = system.sendPending(target.asBinder(), code, added, permission, result);
        } catch (RemoteException | RuntimeException e) {
            broadcasts.forget(result);
            throw e;
        }
        if (sent < 0) {
            broadcasts.forget(result);
        } else if (finished != null && !isBroadcast) {
            Intent intent = fill == null ? new Intent() : new Intent(fill);
            finished.performReceive(intent, 0, null, null, false, false, AppProcess.USER);
        }
        return sent;
    }

    private boolean isBroadcast(IIntentSender target) throws RemoteException {
        long[] numbers = system.pendingNumbers(target.asBinder());
        return numbers.length > 0 && numbers[KIND] == ActivityManager.INTENT_SENDER_BROADCAST;
    }
}
