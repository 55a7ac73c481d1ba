// SPDX-License-Identifier: Apache-2.0
package org.example.taker;

import android.app.Activity;
import android.os.Bundle;
import android.util.Log;

/** Off, until somebody switches it on. */
public final class Dark extends Activity {
    @Override
    protected void onCreate(Bundle state) {
        super.onCreate(state);
        Log.i("Dark", "made");
        finish();
    }
}
