// SPDX-License-Identifier: Apache-2.0
package org.example.alarms;

import android.content.BroadcastReceiver;
import android.content.Context;
import android.content.Intent;
import android.util.Log;

/** What PendingIntents reach: says what came, and counts down. */
public final class Bell extends BroadcastReceiver {
    @Override
    public void onReceive(Context context, Intent intent) {
        String more = intent.hasExtra("more") ? " and more" : "";
        Log.i("Bell", intent.getAction() + " " + intent.getIntExtra(Intent.EXTRA_ALARM_COUNT, 0));
        Sleeper.heard(intent.getAction() + " with " + intent.getStringExtra("word") + more);
    }
}
