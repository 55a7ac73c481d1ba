// SPDX-License-Identifier: Apache-2.0
package takt.framework;

import android.util.Log;
import android.view.IWindowManager;
import android.view.View;
import android.view.Window;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * What Android's java.* has and the JDK's has not: takt.tools.Redirect turns AOSP's calls to it
 * here.
 */
public final class Libcore {
    private static final String TAG = "System";

    private Libcore() {}

    /** A preference of the screen's clock: the JDK's DateFormat goes by the locale. */
    public static void set24HourTimePref(Boolean is24Hour) {}

    /** The entry that was used or added first; null if there is none. */
    public static <K, V> Map.Entry<K, V> eldest(LinkedHashMap<K, V> map) {
        return map.isEmpty() ? null : map.entrySet().iterator().next();
    }

    /** A warning of libcore. */
    public static void logW(String text) {
        Log.w(TAG, text);
    }

    /** An error of libcore. */
    public static void logE(String text, Throwable cause) {
        Log.e(TAG, text, cause);
    }

    /** AOSP's activity asks so that the view is there from then on, and goes without it. */
    public static View getDecorView(Window window) {
        return null;
    }

    /** What every view asks for when it is made. */
    public static IWindowManager getWindowManagerService() {
        throw new UnsupportedOperationException("android.view.View is not supported by Takt yet: there are no windows");
    }
}
