// SPDX-License-Identifier: Apache-2.0
package takt.server;

import android.database.IContentObserver;
import android.net.Uri;
import android.os.IBinder;
import android.os.RemoteException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** IContentService: who watches the data behind a Uri, and hears when it changes. */
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

    /** From now on. */
    public synchronized void registerContentObserver(Uri uri, boolean hearsOfDescendants, IContentObserver observer,
            int user, int targetSdk) {
        observers.add(new Observer(uri, hearsOfDescendants, observer));
    }

    /** From all places. */
    public synchronized void unregisterContentObserver(IContentObserver observer) {
        IBinder own = observer.asBinder();
        observers.removeIf(it -> it.observer.asBinder() == own);
    }

    /** The observer that made the change hears of it if it wants to. */
    public void notifyChange(Uri[] uris, IContentObserver own, boolean ownWantsToHear, int flags, int user,
            int targetSdk, String caller) throws RemoteException {
        IBinder self = own == null ? null : own.asBinder();
        for (Observer observer : copy()) {
            boolean isSelf = observer.observer.asBinder() == self;
            Uri[] heard = Arrays.stream(uris).filter(observer::hears).toArray(Uri[]::new);
            if (heard.length > 0 && (!isSelf || ownWantsToHear)) {
                observer.observer.onChangeEtc(isSelf, heard, flags, user);
            }
        }
    }

    private synchronized List<Observer> copy() {
        return List.copyOf(observers);
    }
}
