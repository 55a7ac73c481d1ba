// SPDX-License-Identifier: Apache-2.0
package takt.screen;

import android.app.IApplicationThread;
import android.graphics.Point;
import android.os.Bundle;
import android.os.IBinder;
import android.view.Display;
import android.view.ICrossWindowBlurEnabledListener;
import android.view.IRotationWatcher;
import android.view.IWindowSession;
import android.view.IWindowSessionCallback;
import android.view.InsetsState;
import android.window.WindowContextInfo;
import takt.server.AppProcess;
import takt.server.LocalInterface;

/** IWindowManager of one display without bars. */
final class Windows {
    private final IWindowSession session = LocalInterface.of(IWindowSession.class, Session.INSTANCE);
    private boolean isInTouchMode = true;

    /** There is one process, and one session. */
    public IWindowSession openSession(IWindowSessionCallback callback) {
        return session;
    }

    /** Animations are over at once: a picture must not depend on when it was taken. */
    public float getCurrentAnimatorScale() {
        return 0;
    }

    /** As the animators' own. */
    public float getAnimationScale(int which) {
        return 0;
    }

    public float[] getAnimationScales() {
        return new float[3];
    }

    public boolean hasNavigationBar(int display) {
        return false;
    }

    public boolean isKeyguardLocked() {
        return false;
    }

    public boolean isKeyguardSecure(int user) {
        return false;
    }

    public boolean isSafeModeEnabled() {
        return false;
    }

    public int getDefaultDisplayRotation() {
        return Screen.rotation();
    }

    /** Its rotation now; another one comes as a new configuration, and nobody is called back. */
    public int watchRotation(IRotationWatcher watcher, int display) {
        return Screen.rotation();
    }

    public void removeRotationWatcher(IRotationWatcher watcher) {}

    public void getInitialDisplaySize(int display, Point out) {
        out.set(Screen.bounds().width(), Screen.bounds().height());
    }

    public void getBaseDisplaySize(int display, Point out) {
        getInitialDisplaySize(display, out);
    }

    public int getInitialDisplayDensity(int display) {
        return Screen.info().logicalDensityDpi;
    }

    public int getBaseDisplayDensity(int display) {
        return getInitialDisplayDensity(display);
    }

    /** A key that walks from view to view ends it, a touch begins it. */
    public void setInTouchMode(boolean isIn, int display) {
        isInTouchMode = isIn;
    }

    public boolean isInTouchMode(int display) {
        return isInTouchMode;
    }

    /** No bars, no cut-outs, no keyboard. */
    public boolean getWindowInsets(int display, IBinder token, InsetsState out) {
        out.setDisplayFrame(Screen.bounds());
        return false;
    }

    /** A context for windows of its own lies on the one display. */
    public WindowContextInfo attachWindowContextToDisplayArea(IApplicationThread thread, IBinder token, int type,
            int display, Bundle options) {
        return new WindowContextInfo(AppProcess.configuration(), Display.DEFAULT_DISPLAY);
    }

    /** As above. */
    public WindowContextInfo attachWindowContextToDisplayContent(IApplicationThread thread, IBinder token,
            int display) {
        return new WindowContextInfo(AppProcess.configuration(), Display.DEFAULT_DISPLAY);
    }

    public void detachWindowContext(IBinder token) {}

    /** Nothing shines through blurred. */
    public boolean registerCrossWindowBlurEnabledListener(ICrossWindowBlurEnabledListener listener) {
        return false;
    }

    public void unregisterCrossWindowBlurEnabledListener(ICrossWindowBlurEnabledListener listener) {}
}
