// SPDX-License-Identifier: Apache-2.0
package org.example.life;

import android.app.Activity;
import android.os.Bundle;
import android.util.Log;

/** An activity that says in the log what happens to it. */
abstract class LoggingActivity extends Activity {
    final void log(String text) {
        Log.i(App.TAG, getClass().getSimpleName() + "." + text);
    }

    @Override
    protected void onCreate(Bundle state) {
        super.onCreate(state);
        log("onCreate");
    }

    @Override
    protected void onRestart() {
        super.onRestart();
        log("onRestart");
    }

    @Override
    protected void onStart() {
        super.onStart();
        log("onStart");
    }

    @Override
    protected void onResume() {
        super.onResume();
        log("onResume");
    }

    @Override
    protected void onPause() {
        super.onPause();
        log("onPause");
    }

    @Override
    protected void onStop() {
        super.onStop();
        log("onStop");
    }

    @Override
    protected void onDestroy() {
        super.onDestroy();
        log("onDestroy");
    }
}
