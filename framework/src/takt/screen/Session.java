// SPDX-License-Identifier: Apache-2.0
package takt.screen;

import android.content.res.Configuration;
import android.graphics.Rect;
import android.graphics.Region;
import android.os.Bundle;
import android.os.IBinder;
import android.os.RemoteException;
import android.util.MergedConfiguration;
import android.view.Display;
import android.view.Gravity;
import android.view.IWindow;
import android.view.IWindowId;
import android.view.InputChannel;
import android.view.InsetsSourceControl;
import android.view.InsetsState;
import android.view.SurfaceControl;
import android.view.View;
import android.view.WindowManager.LayoutParams;
import android.view.WindowManagerGlobal;
import android.view.WindowRelayoutResult;
import android.window.ActivityWindowInfo;
import android.window.ClientWindowFrames;
import android.window.OnBackInvokedCallbackInfo;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import takt.server.AppProcess;
import takt.server.LocalInterface;

/** IWindowSession: each window of this process has a number, and all else is in Rust. */
final class Session {
    private static final int RECT_NUMBERS = 4;

    static final Session INSTANCE = new Session();

    private final Map<IBinder, Record> windows = new ConcurrentHashMap<>();

    private Session() {}

    /** The display has another size: each window that is seen is told where it lies now. */
    void changed() throws RemoteException {
        Configuration now = AppProcess.configuration();
        MergedConfiguration both = new MergedConfiguration(now, now);
        InsetsState insets = new InsetsState();
        insets.setDisplayFrame(Screen.bounds());
        for (Record record : windows.values()) {
            if (record.isVisible) {
                record.window.resized(place(record), false, both, insets, true, false, Display.DEFAULT_DISPLAY, -1,
                        false, new ActivityWindowInfo());
            }
        }
    }

    private static final class Record {
        final IWindow window;
        final int number;
        final LayoutParams attributes = new LayoutParams();
        int measuredWidth = View.MEASURED_SIZE_MASK;
        int measuredHeight;
        boolean isVisible;

        Record(IWindow window, int number) {
            this.window = window;
            this.number = number;
        }
    }

    public int addToDisplayAsUser(IWindow window, LayoutParams attributes, int visibility, int display, int user,
            int insetsTypes, InputChannel channel, InsetsState insets, InsetsSourceControl.Array controls,
            Rect attached, float[] scale) {
        IBinder token = window.asBinder();
        if (windows.containsKey(token)) {
            return WindowManagerGlobal.ADD_DUPLICATE_ADD;
        }
        Record parent = attributes.token == null ? null : windows.get(attributes.token);
        boolean isPart = LayoutParams.FIRST_SUB_WINDOW <= attributes.type
                && attributes.type <= LayoutParams.LAST_SUB_WINDOW;
        if (isPart && parent == null) {
            return WindowManagerGlobal.ADD_BAD_SUBWINDOW_TOKEN;
        }
        boolean hasInput = channel != null;
        Record record = new Record(window,
                Native.addWindow(kind(attributes.type), isPart ? parent.number : 0, hasInput));
        record.attributes.copyFrom(attributes);
        if (hasInput) {
            Native.giveChannel(record.number, channel);
        }
        windows.put(token, record);
        insets.setDisplayFrame(Screen.bounds());
        if (isPart) {
            attached.set(place(parent).frame);
        } else {
            // As AOSP's server says that there is none.
            attached.set(0, 0, -1, -1);
        }
        scale[0] = 1;
        return WindowManagerGlobal.ADD_FLAG_IN_TOUCH_MODE | WindowManagerGlobal.ADD_FLAG_APP_VISIBLE;
    }

    public int addToDisplay(IWindow window, LayoutParams attributes, int visibility, int display, int insetsTypes,
            InputChannel channel, InsetsState insets, InsetsSourceControl.Array controls, Rect attached,
            float[] scale) {
        return addToDisplayAsUser(window, attributes, visibility, display, 0, insetsTypes, channel, insets, controls,
                attached, scale);
    }

    public int addToDisplayWithoutInputChannel(IWindow window, LayoutParams attributes, int visibility, int display,
            InsetsState insets, Rect attached, float[] scale) {
        return addToDisplayAsUser(window, attributes, visibility, display, 0, 0, null, insets, null, attached, scale);
    }

    private static int kind(int type) {
        if (type == LayoutParams.TYPE_APPLICATION_MEDIA || type == LayoutParams.TYPE_APPLICATION_MEDIA_OVERLAY) {
            return Native.MEDIA;
        }
        if (type < LayoutParams.FIRST_SUB_WINDOW) {
            return Native.APPLICATION;
        }
        return type <= LayoutParams.LAST_SUB_WINDOW ? Native.PANEL : Native.SYSTEM;
    }

    public int relayout(IWindow window, LayoutParams attributes, int width, int height, int visibility, int flags,
            int sequence, int syncSequence, WindowRelayoutResult out) {
        return relayout(window, attributes, width, height, visibility, out.frames, out.mergedConfiguration,
                out.surfaceControl, out.insetsState);
    }

    public int relayoutLegacy(IWindow window, LayoutParams attributes, int width, int height, int visibility,
            int flags, int sequence, int syncSequence, ClientWindowFrames frames, MergedConfiguration configuration,
            SurfaceControl surface, InsetsState insets, InsetsSourceControl.Array controls, Bundle bundle) {
        return relayout(window, attributes, width, height, visibility, frames, configuration, surface, insets);
    }

    /** The window knows where it lies, and does not wait for the answer. */
    public void relayoutAsync(IWindow window, LayoutParams attributes, int width, int height, int visibility,
            int flags, int sequence, int syncSequence) {
        Record record = changed(window, attributes, width, height);
        place(record);
        show(record, visibility);
    }

    private int relayout(IWindow window, LayoutParams attributes, int width, int height, int visibility,
            ClientWindowFrames frames, MergedConfiguration configuration, SurfaceControl surface,
            InsetsState insets) {
        Record record = changed(window, attributes, width, height);
        frames.setTo(place(record));
        configuration.setConfiguration(AppProcess.configuration(), AppProcess.configuration());
        insets.setDisplayFrame(Screen.bounds());
        show(record, visibility);
        if (!record.isVisible) {
            surface.release();
            return 0;
        }
        Native.giveSurface(record.number, surface);
        // Not RELAYOUT_RES_FIRST_TIME: nobody waits to be told of the first frame.
        return 0;
    }

    private Record changed(IWindow window, LayoutParams attributes, int width, int height) {
        Record record = windows.get(window.asBinder());
        if (record == null) {
            throw new IllegalArgumentException("a window that was not added");
        }
        if (attributes != null) {
            record.attributes.copyFrom(attributes);
        }
        record.measuredWidth = width;
        record.measuredHeight = height;
        return record;
    }

    private static void show(Record record, int visibility) {
        record.isVisible = visibility == View.VISIBLE;
        Native.show(record.number, record.isVisible);
    }

    private static ClientWindowFrames place(Record record) {
        LayoutParams it = record.attributes;
        int gravity = Gravity.getAbsoluteGravity(it.gravity, View.LAYOUT_DIRECTION_LTR);
        Rect insets = it.surfaceInsets;
        int[] wish = {it.width, it.height, record.measuredWidth, record.measuredHeight, it.x, it.y, gravity,
            it.flags, insets.left, insets.top, insets.right, insets.bottom};
        float[] shade = {it.horizontalMargin, it.verticalMargin, it.alpha, it.dimAmount};
        int[] numbers = new int[3 * RECT_NUMBERS];
        Native.place(record.number, wish, shade, numbers);
        ClientWindowFrames frames = new ClientWindowFrames();
        frames.compatScale = 1;
        set(frames.frame, numbers, 0);
        set(frames.parentFrame, numbers, RECT_NUMBERS);
        set(frames.displayFrame, numbers, 2 * RECT_NUMBERS);
        return frames;
    }

    private static void set(Rect rect, int[] numbers, int first) {
        rect.set(numbers[first], numbers[first + 1], numbers[first + 2], numbers[first + 3]);
    }

    public void remove(IBinder window) {
        Record record = windows.remove(window);
        if (record != null) {
            Native.remove(record.number);
        }
    }

    /** Null for a window that is gone. */
    public IWindowId getWindowId(IBinder window) {
        Record record = windows.get(window);
        return record == null ? null : LocalInterface.of(IWindowId.class, new Identity(record.number));
    }

    /** IWindowId: one that asks about the focus from outside of it. */
    private static final class Identity {
        private final int number;

        Identity(int number) {
            this.number = number;
        }

        public boolean isFocused() {
            return Native.focus() == number;
        }
    }

    /** The machine has memory, or says so itself. */
    public boolean outOfMemory(IWindow window) {
        return false;
    }

    /** What is drawn is shown when it is drawn. */
    public void finishDrawing(IWindow window, SurfaceControl.Transaction transaction, int sequence) {}

    public boolean cancelDraw(IWindow window) {
        return false;
    }

    /** Nothing vibrates. */
    public boolean performHapticFeedback(int effect, boolean always, boolean fromIme) {
        return false;
    }

    public void performHapticFeedbackAsync(int effect, boolean always, boolean fromIme) {}

    /** There are no bars that would come or go. */
    public void updateRequestedVisibleTypes(IWindow window, int types) {}

    /** No gesture is the system's. */
    public void reportSystemGestureExclusionChanged(IWindow window, List<Rect> areas) {}

    public void reportDecorViewGestureInterceptionChanged(IWindow window, boolean intercepts) {}

    /** Nothing floats above. */
    public void reportKeepClearAreasChanged(IWindow window, List<Rect> restricted, List<Rect> unrestricted) {}

    /** Nobody goes back with a gesture: the key for it is an input like the others. */
    public void setOnBackInvokedCallbackInfo(IWindow window, OnBackInvokedCallbackInfo info) {}

    /** The window is as large as the display, and nothing lies over it. */
    public void onRectangleOnScreenRequested(IBinder window, Rect area) {}

    public void pokeDrawLock(IBinder window) {}

    public void clearTouchableRegion(IWindow window) {}

    /** Of a window that wants touches in a part of it: only its frame counts. */
    public void setInsets(IWindow window, int touchable, Rect content, Rect visible, Region region) {}
}
