// SPDX-License-Identifier: Apache-2.0
package takt.screen;

import android.app.WindowConfiguration;
import android.content.Context;
import android.content.res.Configuration;
import android.graphics.Rect;
import android.hardware.display.IDisplayManager;
import android.hardware.input.IInputManager;
import android.os.IBinder;
import android.os.RemoteException;
import android.view.Display;
import android.view.DisplayInfo;
import android.view.ISensitiveContentProtectionManager;
import android.view.IWindowManager;
import android.view.Surface;
import android.view.textservice.SpellCheckerInfo;
import android.view.textservice.SpellCheckerSubtype;
import com.android.internal.textservice.ITextServicesManager;
import com.android.internal.view.IInputMethodManager;
import java.util.function.Consumer;
import org.json.JSONObject;
import takt.server.LocalInterface;
import takt.server.ServiceRegistry;

/**
 * The display of this process, if `takt run` was told of one: its services for applications, and
 * what they are told of it. Its state is in Rust.
 */
public final class Screen {
    /** Which back end shows it: the property that the launcher sets. */
    public static final String PROPERTY = "takt.screen";

    private static final boolean IS_ON = System.getProperty(PROPERTY) != null;
    private static final long NANOS_PER_SECOND = 1_000_000_000;
    private static final int DP = 160;

    /** Changed by {@link #resize} alone. */
    private static volatile int width;
    private static volatile int height;
    private static volatile int rotation = Surface.ROTATION_0;
    private static int density;
    private static int refresh;
    private static Changed changed;
    private static Runnable closing;
    private static boolean isClosed;

    private Screen() {}

    /** Who tells the application that its display is another one. */
    public interface Changed {
        void changed() throws RemoteException;
    }

    /** Are there windows? Otherwise activities live without them. */
    public static boolean isOn() {
        return IS_ON;
    }

    /**
     * Makes the display, before an application asks. Does nothing if there is none. {@code stuck}
     * hears of a window that does not finish its input in time, {@code changed} of another size.
     * Null, or why the display cannot be shown where it should be.
     */
    public static String open(JSONObject run, Consumer<String> stuck, Changed changed) {
        JSONObject display = run.optJSONObject("display");
        if (display == null || !IS_ON) {
            return null;
        }
        Screen.changed = changed;
        Native.open(display.optInt("width"), display.optInt("height"), display.optInt("density"),
                display.optBoolean("input_by_socket"));
        String fault = Remote.open(run);
        if (fault != null) {
            return fault;
        }
        int[] numbers = new int[4];
        Native.display(numbers);
        width = numbers[0];
        height = numbers[1];
        density = numbers[2];
        refresh = numbers[3];
        register();
        Events.start(run.optLong("answer_millis"), stuck);
        Remote.listen(run);
        return null;
    }

    /** What happens when who shows the display has closed it. */
    public static synchronized void onClose(Runnable task) {
        closing = task;
        if (isClosed) {
            task.run();
        }
    }

    static synchronized void close() {
        boolean isFirst = !isClosed;
        isClosed = true;
        if (isFirst && closing != null) {
            closing.run();
        }
    }

    /** A quarter turn to the left, as a device's. */
    static void rotate() throws RemoteException {
        change(height, width, (rotation + 1) % 4);
    }

    /** The display as large as this; what is shown already is told. */
    static void resize(int newWidth, int newHeight) throws RemoteException {
        change(newWidth, newHeight, rotation);
    }

    private static synchronized void change(int newWidth, int newHeight, int newRotation) throws RemoteException {
        if (newWidth == width && newHeight == height && newRotation == rotation) {
            return;
        }
        Native.resize(newWidth, newHeight);
        width = newWidth;
        height = newHeight;
        rotation = newRotation;
        Displays.changed();
        changed.changed();
        Session.INSTANCE.changed();
    }

    /** The application has copied a text. */
    public static void copied(String text) {
        if (IS_ON) {
            Native.copied(text);
        }
    }

    /** Takes the place of the services that answer where there is no display. */
    public static void register() {
        ServiceRegistry.add(Context.DISPLAY_SERVICE, LocalInterface.binder(IDisplayManager.class, new Displays()));
        ServiceRegistry.add(Context.WINDOW_SERVICE, LocalInterface.binder(IWindowManager.class, new Windows()));
        ServiceRegistry.add(Context.INPUT_METHOD_SERVICE,
                LocalInterface.binder(IInputMethodManager.class, TextInput.INSTANCE));
        ServiceRegistry.add(Context.TEXT_SERVICES_MANAGER_SERVICE,
                LocalInterface.binder(ITextServicesManager.class, new Spelling()));
        ServiceRegistry.add(Context.SENSITIVE_CONTENT_PROTECTION_SERVICE,
                LocalInterface.binder(ISensitiveContentProtectionManager.class, new Secrets()));
        ServiceRegistry.add(Context.NOTIFICATION_SERVICE, Toasts.binder());
        ServiceRegistry.add(Context.INPUT_SERVICE, LocalInterface.binder(IInputManager.class, new InputDevices()));
    }

    /** The caller has begun AOSP's renderer, and AOSP asks for its thread to be kept apart. */
    public static void beginRendering() {
        Native.findRenderThreads();
    }

    static int rotation() {
        return rotation;
    }

    static Rect bounds() {
        return new Rect(0, 0, width, height);
    }

    static long periodNanos() {
        return NANOS_PER_SECOND / refresh;
    }

    /** ITextServicesManager: nobody looks for misspelt words. */
    private static final class Spelling {
        public SpellCheckerInfo getCurrentSpellChecker(int user, String locale) {
            return null;
        }

        public SpellCheckerSubtype getCurrentSpellCheckerSubtype(int user, boolean allowsImplicit) {
            return null;
        }

        public boolean isSpellCheckerEnabled(int user) {
            return false;
        }

        public SpellCheckerInfo[] getEnabledSpellCheckers(int user) {
            return new SpellCheckerInfo[0];
        }
    }

    /** ISensitiveContentProtectionManager: nobody but who runs the application sees the display. */
    private static final class Secrets {
        public void setSensitiveContentProtection(IBinder window, String name, boolean isSecret) {}
    }

    /** What depends on the display. */
    public static void configure(Configuration configuration) {
        if (!IS_ON) {
            return;
        }
        configuration.densityDpi = density;
        configuration.screenWidthDp = width * DP / density;
        configuration.screenHeightDp = height * DP / density;
        configuration.smallestScreenWidthDp = Math.min(configuration.screenWidthDp, configuration.screenHeightDp);
        configuration.compatScreenWidthDp = configuration.screenWidthDp;
        configuration.compatScreenHeightDp = configuration.screenHeightDp;
        configuration.compatSmallestScreenWidthDp = configuration.smallestScreenWidthDp;
        configuration.orientation = width > height ? Configuration.ORIENTATION_LANDSCAPE
                : Configuration.ORIENTATION_PORTRAIT;
        configuration.screenLayout = Configuration.reduceScreenLayout(
                Configuration.resetScreenLayout(Configuration.SCREENLAYOUT_LAYOUTDIR_LTR),
                Math.max(configuration.screenWidthDp, configuration.screenHeightDp),
                configuration.smallestScreenWidthDp);
        configuration.touchscreen = Configuration.TOUCHSCREEN_FINGER;
        configuration.keyboard = Configuration.KEYBOARD_NOKEYS;
        configuration.keyboardHidden = Configuration.KEYBOARDHIDDEN_NO;
        configuration.hardKeyboardHidden = Configuration.HARDKEYBOARDHIDDEN_YES;
        configuration.navigation = Configuration.NAVIGATION_NONAV;
        configuration.uiMode = Configuration.UI_MODE_TYPE_NORMAL | Configuration.UI_MODE_NIGHT_NO;
        configuration.windowConfiguration.setBounds(bounds());
        configuration.windowConfiguration.setAppBounds(bounds());
        configuration.windowConfiguration.setMaxBounds(bounds());
        configuration.windowConfiguration.setDisplayRotation(rotation);
        configuration.windowConfiguration.setRotation(rotation);
        configuration.windowConfiguration.setWindowingMode(WindowConfiguration.WINDOWING_MODE_FULLSCREEN);
        configuration.windowConfiguration.setActivityType(WindowConfiguration.ACTIVITY_TYPE_STANDARD);
    }

    static DisplayInfo info() {
        DisplayInfo info = new DisplayInfo();
        info.displayId = Display.DEFAULT_DISPLAY;
        info.name = "Takt";
        info.uniqueId = "takt:0";
        info.type = Display.TYPE_INTERNAL;
        // Nothing clicks and nothing vibrates.
        info.flags = Display.FLAG_TOUCH_FEEDBACK_DISABLED;
        info.state = Display.STATE_ON;
        info.committedState = Display.STATE_ON;
        info.logicalWidth = width;
        info.logicalHeight = height;
        info.appWidth = width;
        info.appHeight = height;
        info.smallestNominalAppWidth = Math.min(width, height);
        info.smallestNominalAppHeight = Math.min(width, height);
        info.largestNominalAppWidth = Math.max(width, height);
        info.largestNominalAppHeight = Math.max(width, height);
        info.rotation = rotation;
        info.logicalDensityDpi = density;
        info.physicalXDpi = density;
        info.physicalYDpi = density;
        info.modeId = 1;
        info.defaultModeId = 1;
        info.renderFrameRate = refresh;
        info.supportedModes = new Display.Mode[] {new Display.Mode(1, width, height, refresh)};
        info.appsSupportedModes = info.supportedModes;
        return info;
    }
}
