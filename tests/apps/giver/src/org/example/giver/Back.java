// SPDX-License-Identifier: Apache-2.0
package org.example.giver;

import android.app.Activity;
import android.os.Bundle;
import android.util.Log;

/** Others come here by a PendingIntent alone. */
public final class Back extends Activity {
    @Override
    protected void onCreate(Bundle state) {
        super.onCreate(state);
        Log.i("Back", "started with " + getIntent().getStringExtra("added"));
        finish();
    }
}
