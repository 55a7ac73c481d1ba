// SPDX-License-Identifier: Apache-2.0
package org.example.widgets;

import android.app.Activity;
import android.content.res.Configuration;
import android.os.Bundle;
import android.util.Log;
import android.widget.TextView;

/** Its manifest names what a turn of the display changes: it is told, and lives on. */
public class Steady extends Activity {
    private static final String TAG = "Widgets";

    @Override
    protected void onCreate(Bundle state) {
        super.onCreate(state);
        setContentView(new TextView(this));
        Log.i(TAG, (state == null ? "created, " : "created again, ") + width() + " wide");
    }

    @Override
    public void onConfigurationChanged(Configuration configuration) {
        super.onConfigurationChanged(configuration);
        Log.i(TAG, "told, " + configuration.screenWidthDp + " wide, resources " + width());
    }

    @Override
    protected void onDestroy() {
        Log.i(TAG, "destroyed");
        super.onDestroy();
    }

    private int width() {
        return getResources().getConfiguration().screenWidthDp;
    }
}
