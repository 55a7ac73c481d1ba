// SPDX-License-Identifier: Apache-2.0
package org.example.meter;

import android.content.BroadcastReceiver;
import android.content.Context;
import android.content.Intent;
import android.util.Log;

/** Says again what it has read. */
public final class Reader extends BroadcastReceiver {
    @Override
    public void onReceive(Context context, Intent intent) {
        String text = intent.getStringExtra("text");
        Log.i("Reader", "read " + text);
        context.sendBroadcast(new Intent("org.example.asker.HEAR").putExtra("text", text));
    }
}
