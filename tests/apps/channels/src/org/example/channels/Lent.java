// SPDX-License-Identifier: Apache-2.0
package org.example.channels;

import android.content.Context;
import android.content.Intent;
import takt.os.RealtimeReceiver;

/** Runs as its sender does; an ordered broadcast goes through it as well. */
public final class Lent extends RealtimeReceiver {
    @Override
    public void onReceive(Context context, Intent intent) {
        Sender.note(intent.getStringExtra("text"), intent, "");
    }
}
