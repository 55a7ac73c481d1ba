// SPDX-License-Identifier: Apache-2.0
package org.example.life;

import android.content.BroadcastReceiver;
import android.content.Context;
import android.content.Intent;
import android.util.Log;

/** A receiver of the manifest. */
public final class Ping extends BroadcastReceiver {
    @Override
    public void onReceive(Context context, Intent intent) {
        Log.i(App.TAG, "Ping.onReceive " + intent.getStringExtra("word"));
    }
}
