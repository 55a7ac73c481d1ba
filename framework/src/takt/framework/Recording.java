// SPDX-License-Identifier: Apache-2.0
package takt.framework;

import android.Manifest;
import android.app.ActivityThread;
import android.app.Application;
import android.content.pm.PackageManager;

/** Whether this process may record: crates/natives asks before it opens an input. */
public final class Recording {
    private Recording() {}

    /** 1 if it may. Programs that are no applications may as far as their user may. */
    public static long isAllowed() {
        Application application = ActivityThread.currentApplication();
        boolean isAllowed = application == null
                || application.checkSelfPermission(Manifest.permission.RECORD_AUDIO)
                        == PackageManager.PERMISSION_GRANTED;
        return isAllowed ? 1 : 0;
    }
}
