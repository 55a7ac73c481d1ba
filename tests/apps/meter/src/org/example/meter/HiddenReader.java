// SPDX-License-Identifier: Apache-2.0
package org.example.meter;

import android.content.BroadcastReceiver;
import android.content.Context;
import android.content.Intent;
import android.util.Log;

/** For its own package and for a person. */
public final class HiddenReader extends BroadcastReceiver {
    @Override
    public void onReceive(Context context, Intent intent) {
        Log.i("HiddenReader", "read " + intent.getStringExtra("text"));
    }
}
