// SPDX-License-Identifier: Apache-2.0
package org.example.meter;

import android.app.Service;
import android.content.Intent;
import android.os.IBinder;

/** For its own package alone. */
public final class Hidden extends Service {
    @Override
    public IBinder onBind(Intent intent) {
        return null;
    }
}
