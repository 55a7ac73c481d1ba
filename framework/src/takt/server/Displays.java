// SPDX-License-Identifier: Apache-2.0
package takt.server;

import android.graphics.ColorSpace;
import android.hardware.OverlayProperties;
import android.hardware.display.IDisplayManagerCallback;
import android.view.DisplayInfo;

/** IDisplayManager of a machine without a display. */
final class Displays {
    private static final int[] NONE = {};

    /** None. */
    public int[] getDisplayIds(boolean includesDisabled) {
        return NONE;
    }

    /** There is no display of any number. */
    public DisplayInfo getDisplayInfo(int display) {
        return null;
    }

    /** No display comes or goes, so nobody is called back. */
    public void registerCallback(IDisplayManagerCallback callback) {}

    /** As above. */
    public void registerCallbackWithEventMask(IDisplayManagerCallback callback, long events) {}

    /** What is drawn is for sRGB. */
    public int getPreferredWideGamutColorSpaceId() {
        return ColorSpace.Named.SRGB.ordinal();
    }

    /** No hardware lays surfaces over each other. */
    public OverlayProperties getOverlaySupport() {
        return null;
    }
}
