// SPDX-License-Identifier: Apache-2.0
package takt.server;

import android.app.Activity;
import android.app.ActivityManager;
import android.app.IApplicationThread;
import android.app.PendingIntent;
import android.content.IIntentReceiver;
import android.content.IIntentSender;
import android.content.Intent;
import android.os.Bundle;
import android.os.IBinder;
import android.os.Process;
import android.os.RemoteException;
import com.android.internal.os.IResultReceiver;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;

/**
 * PendingIntents: the part of IActivityManager that keeps and sends them.
 *
 * <p>{@link PendingStore} says which are the same and which are there; here is what they send.
 */
final class PendingSenders implements SenderHome {
    private final AppProcess process;
    private final Map<Long, Sender> senders = new HashMap<>();

    /** One of them, as an application holds it. */
    private final class Sender extends IIntentSender.Stub {
        final long id;
        final int kind;
        final int flags;
        final List<IResultReceiver> watchers = new CopyOnWriteArrayList<>();
        Intent intent;
        String type;
        Bundle options;

        Sender(long id, int kind, int flags) {
            this.id = id;
            this.kind = kind;
            this.flags = flags;
        }

        @Override
        public void send(int code, Intent fill, String type, IBinder allowlist, IIntentReceiver finished,
                String permission, Bundle options) throws RemoteException {
            PendingSenders.this.send(this, code, fill, type, finished, options);
        }

        boolean isMutable() {
            return (flags & PendingIntent.FLAG_IMMUTABLE) == 0;
        }
    }

    PendingSenders(AppProcess process) {
        this.process = process;
    }

    /** The one of this kind, number and intent; null if it is not there and is not to be made. */
    public synchronized IIntentSender getIntentSenderWithFeature(int kind, String packageName, String feature,
            IBinder token, String who, int request, Intent[] intents, String[] types, int flags, Bundle options,
            int user) throws RemoteException {
        if (intents == null || intents.length != 1) {
            throw new UnsupportedOperationException("a PendingIntent of several activities is not supported by Takt yet");
        }
        if (kind == ActivityManager.INTENT_SENDER_ACTIVITY_RESULT) {
            throw new UnsupportedOperationException("Activity.createPendingResult is not supported by Takt yet");
        }
        String type = types == null ? intents[0].getType() : types[0];
        long id = PendingStore.get(kind, request, intents[0], type, flags);
        // CANCEL_CURRENT may have ended one.
        for (Sender it : List.copyOf(senders.values())) {
            if (!PendingStore.isThere(it.id)) {
                ended(it);
            }
        }
        if (id == 0) {
            return null;
        }
        Sender sender = senders.get(id);
        if (sender == null) {
            sender = new Sender(id, kind, flags);
            senders.put(id, sender);
        } else if ((flags & PendingIntent.FLAG_UPDATE_CURRENT) == 0) {
            return sender;
        }
        sender.intent = new Intent(intents[0]);
        sender.type = type;
        sender.options = options;
        return sender;
    }

    /** Its package takes it back. */
    public synchronized void cancelIntentSender(IIntentSender target) throws RemoteException {
        if (target instanceof Sender sender && PendingStore.cancel(sender.id)) {
            ended(sender);
        }
    }

    private void ended(Sender sender) throws RemoteException {
        senders.remove(sender.id);
        for (IResultReceiver it : sender.watchers) {
            it.send(Activity.RESULT_CANCELED, null);
        }
    }

    /** What it is; of one that has ended as well. */
    public ActivityManager.PendingIntentInfo getInfoForIntentSender(IIntentSender target) {
        return target instanceof Sender sender
                ? new ActivityManager.PendingIntentInfo(process.installed.info.packageName, Process.myUid(),
                        !sender.isMutable(), sender.kind)
                : new ActivityManager.PendingIntentInfo(null, -1, false, ActivityManager.INTENT_SENDER_UNKNOWN);
    }

    /** Its intent. */
    public synchronized Intent getIntentForIntentSender(IIntentSender target) {
        return target instanceof Sender sender ? new Intent(sender.intent) : null;
    }

    /** Does it name a component or a package? */
    public synchronized boolean isIntentSenderTargetedToPackage(IIntentSender target) {
        return target instanceof Sender sender
                && (sender.intent.getPackage() != null || sender.intent.getComponent() != null);
    }

    /** Is it an activity's? */
    public boolean isIntentSenderAnActivity(IIntentSender target) {
        return target instanceof Sender sender && sender.kind == ActivityManager.INTENT_SENDER_ACTIVITY;
    }

    /** Who hears when it is cancelled; false if it was. */
    public synchronized boolean registerIntentSenderCancelListenerEx(IIntentSender target, IResultReceiver watcher) {
        if (!(target instanceof Sender sender) || !PendingStore.isThere(sender.id)) {
            return false;
        }
        sender.watchers.add(watcher);
        return true;
    }

    /** Hears of it no more. */
    public synchronized void unregisterIntentSenderCancelListener(IIntentSender target, IResultReceiver watcher) {
        if (target instanceof Sender sender) {
            sender.watchers.removeIf(it -> it.asBinder() == watcher.asBinder());
        }
    }

    @Override
    public int sendIntentSender(IApplicationThread caller, IIntentSender target, IBinder allowlist, int code,
            Intent fill, String type, IIntentReceiver finished, String permission, Bundle options)
            throws RemoteException {
        if (target instanceof Sender sender) {
            return send(sender, code, fill, type, finished, options);
        }
        target.send(code, fill, type, null, finished, permission, options);
        return 0;
    }

    private int send(Sender sender, int code, Intent fill, String fillType, IIntentReceiver finished, Bundle options)
            throws RemoteException {
        Intent intent;
        String type;
        synchronized (this) {
            if (!PendingStore.send(sender.id)) {
                return ActivityManager.START_CANCELED;
            }
            if (!PendingStore.isThere(sender.id)) {
                ended(sender);
            }
            intent = new Intent(sender.intent);
            type = sender.type;
        }
        if (sender.isMutable() && fill != null) {
            int changed = intent.fillIn(fill, sender.flags);
            if ((changed & Intent.FILL_IN_DATA) == 0) {
                fillType = type;
            }
        }
        String sent = fillType == null ? type : fillType;
        return process.send(sender.kind, intent, sent, code, finished, options != null ? options : sender.options);
    }
}
