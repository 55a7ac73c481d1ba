// SPDX-License-Identifier: Apache-2.0
package org.example.meter;

import android.app.Activity;
import android.content.Intent;
import android.os.Bundle;
import android.util.Log;

/** Gives back what it was started with, twice. */
public final class Pick extends Activity {
    @Override
    protected void onCreate(Bundle state) {
        super.onCreate(state);
        Log.i("Pick", "started by " + getCallingActivity().flattenToShortString());
        int number = getIntent().getIntExtra("number", 0);
        setResult(RESULT_OK, new Intent().putExtra("number", number * 2));
        finish();
    }
}
