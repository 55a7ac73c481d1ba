// SPDX-License-Identifier: Apache-2.0
package takt.screen;

import android.graphics.ColorSpace;
import android.graphics.Point;
import android.hardware.OverlayProperties;
import android.hardware.display.IDisplayManagerCallback;
import android.view.Display;
import android.view.DisplayInfo;

/** IDisplayManager of a machine with one display, which does not change. */
final class Displays {
    /** The one. */
    public int[] getDisplayIds(boolean includesDisabled) {
        return new int[] {Display.DEFAULT_DISPLAY};
    }

    /** Null for every other. */
    public DisplayInfo getDisplayInfo(int display) {
        return display == Display.DEFAULT_DISPLAY ? Screen.info() : null;
    }

    /** No display comes or goes, so nobody is called back. */
    public void registerCallback(IDisplayManagerCallback callback) {}

    /** As above. */
    public void registerCallbackWithEventMask(IDisplayManagerCallback callback, long events) {}

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
