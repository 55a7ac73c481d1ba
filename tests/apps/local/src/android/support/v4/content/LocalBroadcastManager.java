// SPDX-License-Identifier: Apache-2.0
package android.support.v4.content;

import android.content.BroadcastReceiver;
import android.content.Context;
import android.content.Intent;
import android.content.IntentFilter;

/** The copy that an application brings: Takt's stands in front of it. */
public final class LocalBroadcastManager {
    private LocalBroadcastManager() {}

    public static LocalBroadcastManager getInstance(Context context) {
        throw new UnsupportedOperationException("the application's own copy");
    }

    public void registerReceiver(BroadcastReceiver receiver, IntentFilter filter) {
        getInstance(null);
    }

    public void unregisterReceiver(BroadcastReceiver receiver) {
        getInstance(null);
    }

    public boolean sendBroadcast(Intent intent) {
        return getInstance(null) == null;
    }

    public void sendBroadcastSync(Intent intent) {
        getInstance(null);
    }
}
