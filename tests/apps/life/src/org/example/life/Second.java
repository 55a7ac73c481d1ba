// SPDX-License-Identifier: Apache-2.0
package org.example.life;

import android.content.Intent;
import android.os.Bundle;

/** Answers and ends. */
public final class Second extends LoggingActivity {
    @Override
    protected void onCreate(Bundle state) {
        super.onCreate(state);
        int question = getIntent().getIntExtra("question", -1);
        setResult(RESULT_OK, new Intent().putExtra("answer", question * 7));
    }

    @Override
    protected void onResume() {
        super.onResume();
        finish();
    }
}
