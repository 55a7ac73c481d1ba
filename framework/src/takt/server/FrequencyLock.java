// SPDX-License-Identifier: Apache-2.0
package takt.server;

import android.os.RemoteException;

/** What this process asks the system server of the processors' frequency. */
public final class FrequencyLock {
    private FrequencyLock() {}

    /** Once more at this level; an exception if it is not held then. */
    public static void lock(int percent) {
        try {
            SystemLink.ofProcess().system().lockFrequency(percent);
        } catch (RemoteException e) {
            throw e.rethrowFromSystemServer();
        }
    }

    /** Once less; false if it was not held. */
    public static boolean unlock() {
        try {
            return SystemLink.ofProcess().system().unlockFrequency();
        } catch (RemoteException e) {
            throw e.rethrowFromSystemServer();
        }
    }

    /** What is held, in percent; -1 if nothing is. */
    public static int level() {
        try {
            return SystemLink.ofProcess().system().lockedFrequency();
        } catch (RemoteException e) {
            throw e.rethrowFromSystemServer();
        }
    }
}
