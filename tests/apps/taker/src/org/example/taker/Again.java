// SPDX-License-Identifier: Apache-2.0
package org.example.taker;

import android.app.Activity;
import android.app.PendingIntent;
import android.content.Intent;
import android.os.Bundle;
import android.util.Log;

/** Sends once more what was given away. */
public final class Again extends Activity {
    private static final String TAG = "Again";

    @Override
    protected void onCreate(Bundle state) {
        super.onCreate(state);
        try {
            Main.kept.send(this, 0, new Intent().putExtra("added", "again"));
            Log.i(TAG, "sent");
        } catch (PendingIntent.CanceledException e) {
            Log.i(TAG, "cancelled");
        }
        finish();
    }
}
