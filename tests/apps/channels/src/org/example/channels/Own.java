// SPDX-License-Identifier: Apache-2.0
package org.example.channels;

import android.content.Context;
import android.content.Intent;
import takt.os.RealtimeReceiver;

/** Holds at the first intent until more have come than there is room for. */
public final class Own extends RealtimeReceiver {
    private static final int DROPPED = 3;
    private int cleaned;

    @Override
    public void onReceive(Context context, Intent intent) {
        String text = intent.getStringExtra("text");
        Sender.note(text, intent, " cleaned " + cleaned);
        if (text.equals("hold")) {
            Sender.HOLDS.countDown();
            Sender.await(() -> droppedCount() == DROPPED);
        }
    }

    @Override
    public void onClean() {
        cleaned++;
    }
}
