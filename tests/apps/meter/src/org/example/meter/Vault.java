// SPDX-License-Identifier: Apache-2.0
package org.example.meter;

import android.app.Activity;
import android.os.Bundle;
import android.util.Log;

/** For its own package alone. */
public final class Vault extends Activity {
    @Override
    protected void onCreate(Bundle state) {
        super.onCreate(state);
        Log.e("Vault", "somebody else's");
    }
}
