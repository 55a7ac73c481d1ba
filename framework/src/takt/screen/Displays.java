// SPDX-License-Identifier: Apache-2.0
package takt.screen;

import android.graphics.ColorSpace;
import android.graphics.Point;
import android.hardware.OverlayProperties;
import android.hardware.display.DisplayManagerGlobal;
import android.hardware.display.IDisplayManagerCallback;
import android.os.RemoteException;
import android.view.Display;
import android.view.DisplayInfo;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** IDisplayManager of a machine with one display. */
final class Displays {
    private static final List<IDisplayManagerCallback> CALLBACKS = new CopyOnWriteArrayList<>();

    /** The display has another size. */
    static void changed() throws RemoteException {
        DisplayManagerGlobal.invalidateLocalDisplayInfoCaches();
        for (IDisplayManagerCallback callback : CALLBACKS) {
            callback.onDisplayEvent(Display.DEFAULT_DISPLAY, DisplayManagerGlobal.EVENT_DISPLAY_CHANGED);
        }
    }

    /** The one. */
    public int[] getDisplayIds(boolean includesDisabled) {
        return new int[] {Display.DEFAULT_DISPLAY};
    }

    /** Null for every other. */
    public DisplayInfo getDisplayInfo(int display) {
        return display == Display.DEFAULT_DISPLAY ? Screen.info() : null;
    }

    /** It hears of another size. */
    public void registerCallback(IDisplayManagerCallback callback) {
        CALLBACKS.add(callback);
    }

    /** There is one kind of event; a process registers once, and again for other kinds. */
    public void registerCallbackWithEventMask(IDisplayManagerCallback callback, long events) {
        if (!CALLBACKS.contains(callback)) {
            CALLBACKS.add(callback);
        }
    }

    /** As the display's mode. */
    public Point getStableDisplaySize() {
        return new Point(Screen.bounds().width(), Screen.bounds().height());
    }

    /** What is drawn is for sRGB. */
    public int getPreferredWideGamutColorSpaceId() {
        return ColorSpace.Named.SRGB.ordinal();
    }

    /** No hardware lays surfaces over each other. */
    public OverlayProperties getOverlaySupport() {
        return OverlayProperties.getDefault();
    }

    public boolean isMinimalPostProcessingRequested(int display) {
        return false;
    }
}
