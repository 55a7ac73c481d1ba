// SPDX-License-Identifier: Apache-2.0
package takt.server;

import android.app.IApplicationThread;
import android.content.IIntentReceiver;
import android.content.Intent;
import android.os.Bundle;
import android.os.RemoteException;

/**
 * Who decides about broadcasts: this process for itself ({@link Broadcasts}), or the system server
 * ({@link SystemBroadcasts}). Both answer IActivityManager's calls.
 */
interface BroadcastHome {
    /** Sends an intent to every receiver that it reaches; 0 is success. */
    int broadcastIntentWithFeature(IApplicationThread caller, String feature, Intent intent, String type,
            IIntentReceiver last, int code, String data, Bundle extras, String[] permissions,
            String[] excludedPermissions, String[] excludedPackages, int operation, Bundle options,
            boolean isOrdered, boolean isSticky, int user) throws RemoteException;

    /** Is none under way? */
    boolean isIdle();
}
