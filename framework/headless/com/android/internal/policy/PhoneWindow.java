// SPDX-License-Identifier: Apache-2.0
package com.android.internal.policy;

import android.app.Activity;
import android.app.InvisibleActivity;
import android.content.Context;
import android.content.res.Configuration;
import android.graphics.drawable.Drawable;
import android.media.AudioManager;
import android.net.Uri;
import android.os.Bundle;
import android.util.Log;
import android.view.InputQueue;
import android.view.KeyEvent;
import android.view.LayoutInflater;
import android.view.MotionEvent;
import android.view.SurfaceHolder;
import android.view.View;
import android.view.ViewGroup;
import android.view.ViewRootImpl;
import android.view.Window;
import java.util.HashSet;
import java.util.Set;

/**
 * A window that is nowhere, in front of AOSP's on the class path: AOSP's own activities and dialogs
 * are made with it and live their whole life. It keeps what it is told of itself; what would be
 * shown says by name that it is not supported, once in the log, and looking for a view throws,
 * since there is none.
 */
public class PhoneWindow extends Window {
    private static final String TAG = "Takt";
    private static final Set<String> LOGGED = new HashSet<>();

    private final LayoutInflater inflater;
    private int volumeStream = AudioManager.USE_DEFAULT_STREAM_TYPE;

    /** A dialog's. */
    public PhoneWindow(Context context) {
        super(context);
        inflater = LayoutInflater.from(context);
    }

    /** An activity's. */
    public PhoneWindow(Context context, Window preserved, ViewRootImpl.ActivityConfigCallback callback) {
        this(context);
    }

    @Override
    public void setContentView(int layout) {
        unsupported("setContentView");
    }

    @Override
    public void setContentView(View view) {
        unsupported("setContentView");
    }

    @Override
    public void setContentView(View view, ViewGroup.LayoutParams layout) {
        unsupported("setContentView");
    }

    @Override
    public void addContentView(View view, ViewGroup.LayoutParams layout) {
        unsupported("addContentView");
    }

    @Override
    public <T extends View> T findViewById(int id) {
        throw new UnsupportedOperationException(text("findViewById"));
    }

    /**
     * AOSP's activity, which asks for it without using it, asks {@code Libcore}: see
     * framework/jdk/redirects.txt.
     */
    @Override
    public View getDecorView() {
        throw new UnsupportedOperationException(text("getDecorView"));
    }

    @Override
    public View peekDecorView() {
        return null;
    }

    @Override
    public View getCurrentFocus() {
        return null;
    }

    @Override
    public LayoutInflater getLayoutInflater() {
        return inflater;
    }

    /** A title is an attribute like the others. */
    @Override
    public void setTitle(CharSequence title) {
        getAttributes().setTitle(title);
    }

    @Override
    public Bundle saveHierarchyState() {
        return new Bundle();
    }

    @Override
    public void restoreHierarchyState(Bundle state) {}

    /** Called when the activity has been resumed, before its views would be made. */
    @Override
    protected void onActive() {
        if (getCallback() instanceof Activity activity) {
            InvisibleActivity.mark(activity);
        }
    }

    @Override
    public void setVolumeControlStream(int stream) {
        volumeStream = stream;
    }

    @Override
    public int getVolumeControlStream() {
        return volumeStream;
    }

    @Override
    @Deprecated
    public int getStatusBarColor() {
        return 0;
    }

    @Override
    @Deprecated
    public int getNavigationBarColor() {
        return 0;
    }

    private static String text(String what) {
        return "Window." + what + " is not supported by Takt yet: there are no windows and no views";
    }

    private static void unsupported(String what) {
        synchronized (LOGGED) {
            if (LOGGED.add(what)) {
                Log.w(TAG, text(what));
            }
        }
    }

    // What is left has nothing to act on.

    @Override
    public void takeSurface(SurfaceHolder.Callback2 callback) {}

    @Override
    public void takeInputQueue(InputQueue.Callback callback) {}

    @Override
    public void alwaysReadCloseOnTouchAttr() {}

    @Override
    public void clearContentView() {}

    @Override
    @Deprecated
    public void setTitleColor(int color) {}

    @Override
    public void openPanel(int feature, KeyEvent event) {}

    @Override
    public void closePanel(int feature) {}

    @Override
    public void togglePanel(int feature, KeyEvent event) {}

    @Override
    public void invalidatePanelMenu(int feature) {}

    @Override
    public void closeAllPanels() {}

    @Override
    public void onConfigurationChanged(Configuration configuration) {}

    @Override
    public void setBackgroundDrawable(Drawable drawable) {}

    @Override
    public void setFeatureDrawableResource(int feature, int resource) {}

    @Override
    public void setFeatureDrawableUri(int feature, Uri uri) {}

    @Override
    public void setFeatureDrawable(int feature, Drawable drawable) {}

    @Override
    public void setFeatureDrawableAlpha(int feature, int alpha) {}

    @Override
    public void setFeatureInt(int feature, int value) {}

    @Override
    public void takeKeyEvents(boolean takes) {}

    @Override
    public void setChildDrawable(int feature, Drawable drawable) {}

    @Override
    public void setChildInt(int feature, int value) {}

    @Override
    @Deprecated
    public void setStatusBarColor(int color) {}

    @Override
    @Deprecated
    public void setNavigationBarColor(int color) {}

    @Override
    public void setDecorCaptionShade(int shade) {}

    @Override
    public void setResizingCaptionDrawable(Drawable drawable) {}

    @Override
    public void onMultiWindowModeChanged() {}

    @Override
    public void onPictureInPictureModeChanged(boolean is) {}

    @Override
    public boolean isFloating() {
        return false;
    }

    @Override
    public boolean performPanelShortcut(int feature, int key, KeyEvent event, int flags) {
        return false;
    }

    @Override
    public boolean performPanelIdentifierAction(int feature, int id, int flags) {
        return false;
    }

    @Override
    public boolean performContextMenuIdentifierAction(int id, int flags) {
        return false;
    }

    @Override
    public boolean superDispatchKeyEvent(KeyEvent event) {
        return false;
    }

    @Override
    public boolean superDispatchKeyShortcutEvent(KeyEvent event) {
        return false;
    }

    @Override
    public boolean superDispatchTouchEvent(MotionEvent event) {
        return false;
    }

    @Override
    public boolean superDispatchTrackballEvent(MotionEvent event) {
        return false;
    }

    @Override
    public boolean superDispatchGenericMotionEvent(MotionEvent event) {
        return false;
    }

    @Override
    public boolean isShortcutKey(int key, KeyEvent event) {
        return false;
    }
}
