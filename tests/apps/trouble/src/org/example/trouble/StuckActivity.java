// SPDX-License-Identifier: Apache-2.0
package org.example.trouble;

import android.app.Activity;
import android.os.Bundle;

/** Never returns from onCreate, and does not sleep either. */
public final class StuckActivity extends Activity {
    private volatile long turns;

    @Override
    protected void onCreate(Bundle state) {
        super.onCreate(state);
        Trouble.log("stuck");
        turnForEver();
    }

    private void turnForEver() {
        while (turns >= 0) {
            turns = (turns + 1) & Integer.MAX_VALUE;
        }
    }
}
