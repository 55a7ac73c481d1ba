// SPDX-License-Identifier: Apache-2.0
package takt.server;

import android.app.ContentProviderHolder;
import android.content.ComponentName;
import android.content.ContentProviderNative;
import android.content.pm.ProviderInfo;
import android.os.Binder;
import android.os.IBinder;
import android.os.RemoteException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import takt.system.IApp;
import takt.system.ISystem;

/** Content providers of other processes under {@code takt system}: who asks waits for one. */
final class OtherProviders {
    /** The server gives up on a process much sooner. */
    private static final long WAIT_MILLIS = 300_000;

    private final ISystem system;
    private final OtherPackages packages;
    private final IApp waiter;
    /** What the server has said of each provider last. */
    private final Map<String, Boolean> said = new HashMap<>();

    OtherProviders(ISystem system, OtherPackages packages, IApp waiter) {
        this.system = system;
        this.packages = packages;
        this.waiter = waiter;
    }

    /** How this process holds one: fast, as often as it says, or loosely. */
    private final class Connection extends Binder {
        private final String name;
        private int fast;

        Connection(String name, boolean isFast) {
            this.name = name;
            fast = isFast ? 1 : 0;
        }

        void change(int by) throws RemoteException {
            boolean wasHeld;
            boolean isHeld;
            synchronized (this) {
                wasHeld = fast > 0;
                fast = Math.max(0, fast + by);
                isHeld = fast > 0;
            }
            if (wasHeld != isHeld) {
                system.holdProvider(name, isHeld);
            }
        }
    }

    /** Null if nobody provides it, or its process cannot be had. */
    ContentProviderHolder acquire(String authority, boolean isFast) throws RemoteException {
        String name = system.acquireProvider(waiter, authority, isFast);
        IBinder binder = name == null || !await(name) ? null : system.providerBinder(name);
        if (binder == null) {
            return null;
        }
        InstalledPackage.Component found =
                packages.component(InstalledPackage.PROVIDER, ComponentName.unflattenFromString(name));
        if (found == null) {
            return null;
        }
        ContentProviderHolder holder = new ContentProviderHolder((ProviderInfo) found.info);
        holder.provider = ContentProviderNative.asInterface(binder);
        holder.connection = new Connection(name, isFast);
        return holder;
    }

    private synchronized boolean await(String name) {
        long until = System.nanoTime() + WAIT_MILLIS * 1_000_000;
        while (!said.containsKey(name)) {
            long left = (until - System.nanoTime()) / 1_000_000;
            if (left <= 0) {
                return false;
            }
            try {
                wait(left);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return false;
            }
        }
        return said.remove(name);
    }

    /** The server says of a provider whether it is there. */
    synchronized void hear(String name, boolean isThere) {
        said.put(name, isThere);
        notifyAll();
    }

    /** What this process provides itself, for others. */
    void publish(List<ContentProviderHolder> holders) throws RemoteException {
        String[] names = new String[holders.size()];
        IBinder[] binders = new IBinder[names.length];
        for (int index = 0; index < names.length; index++) {
            ProviderInfo info = holders.get(index).info;
            names[index] = new ComponentName(info.packageName, info.name).flattenToString();
            binders[index] = holders.get(index).provider.asBinder();
        }
        system.publishProviders(names, binders);
    }

    /** It is held fast more or less often; false for what is none of these. */
    static boolean change(IBinder connection, int by) throws RemoteException {
        if (connection instanceof Connection known) {
            known.change(by);
            return true;
        }
        return false;
    }
}
