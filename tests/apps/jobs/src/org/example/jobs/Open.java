// SPDX-License-Identifier: Apache-2.0
package org.example.jobs;

import android.app.Service;
import android.content.Intent;
import android.os.IBinder;

/** A service that anybody in the package may bind: no jobs for it. */
public final class Open extends Service {
    @Override
    public IBinder onBind(Intent intent) {
        return null;
    }
}
