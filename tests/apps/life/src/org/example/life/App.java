// SPDX-License-Identifier: Apache-2.0
package org.example.life;

import android.app.Application;
import android.util.Log;

/** Says in the log what happens to the application. */
public final class App extends Application {
    static final String TAG = "Life";

    @Override
    public void onCreate() {
        super.onCreate();
        Log.i(TAG, "App.onCreate in " + getPackageName());
    }
}
