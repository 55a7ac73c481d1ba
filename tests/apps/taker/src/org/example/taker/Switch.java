// SPDX-License-Identifier: Apache-2.0
package org.example.taker;

import android.app.Activity;
import android.content.ComponentName;
import android.content.pm.PackageManager;
import android.os.Bundle;
import android.util.Log;

/** Switches another activity on, or off with the end of the process. */
public final class Switch extends Activity {
    private static final String TAG = "Switch";

    @Override
    protected void onCreate(Bundle state) {
        super.onCreate(state);
        PackageManager packages = getPackageManager();
        ComponentName dark = new ComponentName(this, Dark.class);
        Log.i(TAG, "is " + packages.getComponentEnabledSetting(dark) + ", seen " + isSeen(dark));
        if (getIntent().getAction() != null) {
            packages.setComponentEnabledSetting(dark, PackageManager.COMPONENT_ENABLED_STATE_DISABLED, 0);
            return;
        }
        packages.setComponentEnabledSetting(dark, PackageManager.COMPONENT_ENABLED_STATE_ENABLED,
                PackageManager.DONT_KILL_APP);
        Log.i(TAG, "is " + packages.getComponentEnabledSetting(dark) + ", seen " + isSeen(dark));
        try {
            ComponentName foreign = new ComponentName("org.example.giver", "org.example.giver.Give");
            packages.setComponentEnabledSetting(foreign, PackageManager.COMPONENT_ENABLED_STATE_DISABLED, 0);
            Log.e(TAG, "another package's is switched");
        } catch (SecurityException e) {
            Log.i(TAG, "another package's is refused");
        }
        finish();
    }

    private boolean isSeen(ComponentName name) {
        try {
            return getPackageManager().getActivityInfo(name, 0) != null;
        } catch (PackageManager.NameNotFoundException e) {
            return false;
        }
    }
}
