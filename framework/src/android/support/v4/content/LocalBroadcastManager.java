// SPDX-License-Identifier: Apache-2.0
package android.support.v4.content;

import android.content.BroadcastReceiver;
import android.content.Context;
import android.content.Intent;
import android.content.IntentFilter;
import takt.os.LocalBroadcasts;

/**
 * The support library's broadcasts within a process. It stands in front of the copy that an
 * application brings.
 */
public final class LocalBroadcastManager {
    private static LocalBroadcastManager instance;

    private final LocalBroadcasts broadcasts;

    private LocalBroadcastManager(Context context) {
        broadcasts = new LocalBroadcasts(context);
    }

    /** The process's. */
    public static synchronized LocalBroadcastManager getInstance(Context context) {
        if (instance == null) {
            instance = new LocalBroadcastManager(context);
        }
        return instance;
    }

    /** See {@link LocalBroadcasts#register}. */
    public void registerReceiver(BroadcastReceiver receiver, IntentFilter filter) {
        broadcasts.register(receiver, filter);
    }

    /** See {@link LocalBroadcasts#unregister}. */
    public void unregisterReceiver(BroadcastReceiver receiver) {
        broadcasts.unregister(receiver);
    }

    /** See {@link LocalBroadcasts#send}. */
    public boolean sendBroadcast(Intent intent) {
        return broadcasts.send(intent);
    }

    /** See {@link LocalBroadcasts#sendSync}. */
    public void sendBroadcastSync(Intent intent) {
        broadcasts.sendSync(intent);
    }
}
