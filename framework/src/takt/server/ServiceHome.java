// SPDX-License-Identifier: Apache-2.0
package takt.server;

import android.app.IApplicationThread;
import android.content.ComponentName;
import android.content.Intent;
import android.os.RemoteException;

/**
 * Who decides about services: this process for itself ({@link Services}), or the system server
 * ({@link SystemServices}). Both answer IActivityManager's calls.
 */
interface ServiceHome {
    /** Null if nothing takes the intent. */
    ComponentName startService(IApplicationThread caller, Intent intent, String type, boolean isForeground,
            String callingPackage, String callingFeature, int user) throws RemoteException;

    /** Is none there? */
    boolean isIdle();

    /** Ends all. */
    void endAll() throws RemoteException;
}
