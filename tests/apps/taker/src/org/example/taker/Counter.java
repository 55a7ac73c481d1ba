// SPDX-License-Identifier: Apache-2.0
package org.example.taker;

import android.app.Activity;
import android.content.ComponentName;
import android.os.Bundle;
import android.util.Log;

/** Counts how often it was made, in what it saves. */
public final class Counter extends Activity {
    private int made = 1;

    @Override
    protected void onCreate(Bundle state) {
        super.onCreate(state);
        if (state != null) {
            made = state.getInt("made") + 1;
            Log.i("Counter", "knows " + state.getParcelable("name", ComponentName.class).getShortClassName());
        }
        Log.i("Counter", "made " + made);
    }

    @Override
    protected void onStop() {
        super.onStop();
        Log.i("Counter", "stopped");
    }

    @Override
    protected void onSaveInstanceState(Bundle state) {
        super.onSaveInstanceState(state);
        state.putInt("made", made);
        state.putParcelable("name", getComponentName());
    }
}
