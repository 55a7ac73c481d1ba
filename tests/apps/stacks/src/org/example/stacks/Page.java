// SPDX-License-Identifier: Apache-2.0
package org.example.stacks;

import android.app.Activity;
import android.content.Intent;
import android.os.Bundle;
import android.os.Handler;
import android.os.Looper;
import android.util.Log;

/** Each time that a page comes to the front, it does the script's next step. */
abstract class Page extends Activity {
    private static int step;

    @Override
    protected void onCreate(Bundle state) {
        super.onCreate(state);
        log(state == null ? "onCreate" : "onCreate again");
    }

    @Override
    protected void onNewIntent(Intent intent) {
        super.onNewIntent(intent);
        log("onNewIntent " + intent.getIntExtra("step", -1));
    }

    @Override
    protected void onActivityResult(int request, int code, Intent data) {
        log("onActivityResult " + request + " " + code + " " + (data == null ? null : data.getIntExtra("answer", -1)));
    }

    @Override
    protected void onResume() {
        super.onResume();
        log("onResume in task " + (getTaskId() == -1 ? "none" : isTaskRoot() ? "as root" : "above it"));
        new Handler(Looper.getMainLooper()).post(this::next);
    }

    @Override
    protected void onDestroy() {
        super.onDestroy();
        log("onDestroy");
    }

    private void next() {
        switch (++step) {
            case 1, 2 -> go(Top.class, 0);
            case 3 -> startActivityForResult(intent(Middle.class, 0), 5);
            case 4 -> {
                go(Last.class, Intent.FLAG_ACTIVITY_FORWARD_RESULT);
                setResult(13);
                finish();
            }
            case 5 -> {
                setResult(42, new Intent().putExtra("answer", 6));
                finish();
            }
            case 6 -> recreate();
            case 7 -> go(Middle.class, 0);
            case 8 -> go(Root.class, Intent.FLAG_ACTIVITY_CLEAR_TOP | Intent.FLAG_ACTIVITY_SINGLE_TOP);
            case 9 -> go(Last.class, Intent.FLAG_ACTIVITY_NO_HISTORY);
            case 10 -> go(Middle.class, 0);
            case 11 -> go(Root.class, Intent.FLAG_ACTIVITY_REORDER_TO_FRONT);
            case 12 -> go(Alone.class, 0);
            case 13 -> finishAndRemoveTask();
            case 14 -> finishAffinity();
            default -> log("is at no step");
        }
    }

    private void go(Class<?> page, int flags) {
        startActivity(intent(page, flags));
    }

    private Intent intent(Class<?> page, int flags) {
        return new Intent(this, page).addFlags(flags).putExtra("step", step);
    }

    private void log(String text) {
        Log.i("Stacks", getClass().getSimpleName() + "." + text);
    }
}
