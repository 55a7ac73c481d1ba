// SPDX-License-Identifier: Apache-2.0
package android.os;

import android.content.Context;

/**
 * The choice of graphics drivers, in front of AOSP's on the class path: there are none to choose
 * from.
 */
public class GraphicsEnvironment {
    private static final GraphicsEnvironment INSTANCE = new GraphicsEnvironment();

    /** The one of this process. */
    public static GraphicsEnvironment getInstance() {
        return INSTANCE;
    }

    /** Called when an application is bound. */
    public void setup(Context context, Bundle settings) {}

    /**
     * Called with each class loader of an application: where drivers' layers would be looked for.
     */
    public void setLayerPaths(ClassLoader loader, String layers, String debugLayers) {}

    /** Called for a first activity. */
    public void showAngleInUseDialogBox(Context context) {}

    /** Called before an activity starts. */
    public static void hintActivityLaunch() {}
}
