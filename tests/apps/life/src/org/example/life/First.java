// SPDX-License-Identifier: Apache-2.0
package org.example.life;

import android.content.Intent;
import android.os.Bundle;

/** Starts Second for a result, and ends itself when it has it. */
public final class First extends LoggingActivity {
    @Override
    protected void onCreate(Bundle state) {
        super.onCreate(state);
        startActivityForResult(new Intent(this, Second.class).putExtra("question", 6), 7);
    }

    @Override
    protected void onActivityResult(int request, int code, Intent data) {
        log("onActivityResult " + request + " " + code + " " + data.getIntExtra("answer", -1));
        finish();
    }
}
