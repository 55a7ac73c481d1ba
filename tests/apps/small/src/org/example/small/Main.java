// SPDX-License-Identifier: Apache-2.0
package org.example.small;

import android.app.Activity;
import android.os.Bundle;
import android.util.Log;

/** Says when it was made: `takt bench start` compares that with when it was asked for. */
public final class Main extends Activity {
    @Override
    protected void onCreate(Bundle state) {
        long now = System.nanoTime();
        super.onCreate(state);
        Log.i("Small", "onCreate at " + now + " of " + getTitle());
    }
}
