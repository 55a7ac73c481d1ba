// SPDX-License-Identifier: Apache-2.0
package takt.server;

import android.database.IContentObserver;
import android.net.Uri;
import android.os.IBinder;
import android.os.RemoteException;
import android.provider.Settings;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import takt.system.ISystem;
import takt.system.Step;

/**
 * IContentService: who watches the data behind a Uri, and hears when it changes. What the process
 * watches of other packages, and what it changes, it tells the system server.
 */
final class Contents {
    private record Observer(Uri uri, boolean hearsOfDescendants, IContentObserver observer) {
        /** Of a change at the place itself or above it, or, if asked for, below it. */
        boolean hears(Uri changed) {
            return isAbove(changed, uri) || hearsOfDescendants && isAbove(uri, changed);
        }

        private static boolean isAbove(Uri upper, Uri lower) {
            List<String> whole = lower.getPathSegments();
            List<String> start = upper.getPathSegments();
            return String.valueOf(upper.getAuthority()).equals(lower.getAuthority())
                    && start.size() <= whole.size() && start.equals(whole.subList(0, start.size()));
        }
    }

    private final List<Observer> observers = new ArrayList<>();
    /** Null: there are no others. */
    private final ISystem system;
    private final Object telling = new Object();
    /** What the server was told last. */
    private Set<String> told = Set.of();

    Contents(ISystem system) {
        this.system = system;
    }

    /** From now on. */
    public void registerContentObserver(Uri uri, boolean hearsOfDescendants, IContentObserver observer, int user,
            int targetSdk) throws RemoteException {
        synchronized (this) {
            observers.add(new Observer(uri, hearsOfDescendants, observer));
        }
        tellAuthorities();
    }

    /** From all places. */
    public void unregisterContentObserver(IContentObserver observer) throws RemoteException {
        IBinder own = observer.asBinder();
        synchronized (this) {
            observers.removeIf(it -> it.observer.asBinder() == own);
        }
        tellAuthorities();
    }

    /** The settings are each process's own. */
    private static boolean isShared(Uri uri) {
        return uri.getAuthority() != null && !uri.getAuthority().equals(Settings.AUTHORITY);
    }

    private void tellAuthorities() throws RemoteException {
        if (system == null) {
            return;
        }
        // Its own lock: who changes content meanwhile does not wait for the server.
        synchronized (telling) {
            Set<String> all = copy().stream().map(Observer::uri).filter(Contents::isShared).map(Uri::getAuthority)
                    .collect(Collectors.toSet());
            if (!all.equals(told)) {
                system.observe(all.toArray(new String[0]));
                told = all;
            }
        }
    }

    /** The observer that made the change hears of it if it wants to. */
    public void notifyChange(Uri[] uris, IContentObserver own, boolean ownWantsToHear, int flags, int user,
            int targetSdk, String caller) throws RemoteException {
        String[] addresses = Arrays.stream(uris).filter(Contents::isShared).map(Uri::toString).toArray(String[]::new);
        if (system != null && addresses.length > 0) {
            system.changed(addresses, flags);
        }
        tell(uris, own, ownWantsToHear, flags);
    }

    /** Another process has changed something. */
    void carryOut(Step step) throws RemoteException {
        Uri[] uris = Arrays.stream(step.texts).map(Uri::parse).toArray(Uri[]::new);
        tell(uris, null, false, (int) step.numbers[0]);
    }

    private void tell(Uri[] uris, IContentObserver own, boolean ownWantsToHear, int flags) throws RemoteException {
        IBinder self = own == null ? null : own.asBinder();
        for (Observer observer : copy()) {
            boolean isSelf = observer.observer.asBinder() == self;
            Uri[] heard = Arrays.stream(uris).filter(observer::hears).toArray(Uri[]::new);
            if (heard.length > 0 && (!isSelf || ownWantsToHear)) {
                observer.observer.onChangeEtc(isSelf, heard, flags, AppProcess.USER);
            }
        }
    }

    private synchronized List<Observer> copy() {
        return List.copyOf(observers);
    }
}
