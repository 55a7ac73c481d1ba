// SPDX-License-Identifier: Apache-2.0
package org.example.giver;

import android.content.BroadcastReceiver;
import android.content.Context;
import android.content.Intent;
import android.util.Log;

/** Others reach it by a PendingIntent alone. */
public final class Private extends BroadcastReceiver {
    @Override
    public void onReceive(Context context, Intent intent) {
        Log.i("Private", "got " + intent.getStringExtra("own") + " and " + intent.getStringExtra("added"));
        if (isOrderedBroadcast()) {
            setResult(getResultCode() + 1, "from private", null);
        }
    }
}
