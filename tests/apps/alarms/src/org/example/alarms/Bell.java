// SPDX-License-Identifier: Apache-2.0
package org.example.alarms;

import android.content.BroadcastReceiver;
import android.content.Context;
import android.content.Intent;

/** What PendingIntents reach: says what came, and counts down. */
public final class Bell extends BroadcastReceiver {
    @Override
    public void onReceive(Context context, Intent intent) {
        String more = intent.hasExtra("more") ? " and more" : "";
        Sleeper.heard(intent.getAction() + " with " + intent.getStringExtra("word") + more);
    }
}
