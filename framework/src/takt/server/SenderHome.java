// SPDX-License-Identifier: Apache-2.0
package takt.server;

import android.app.IApplicationThread;
import android.content.IIntentReceiver;
import android.content.IIntentSender;
import android.content.Intent;
import android.os.Bundle;
import android.os.IBinder;
import android.os.RemoteException;

/**
 * Who keeps PendingIntents: this process for itself ({@link PendingSenders}), or the system server
 * ({@link SystemSenders}). Both answer IActivityManager's calls.
 */
interface SenderHome {
    /** Sends it; negative if it was cancelled, or sent once already. */
    int sendIntentSender(IApplicationThread caller, IIntentSender target, IBinder allowlist, int code, Intent fill,
            String type, IIntentReceiver finished, String permission, Bundle options) throws RemoteException;
}
