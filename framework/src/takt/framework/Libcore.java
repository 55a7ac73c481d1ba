// SPDX-License-Identifier: Apache-2.0
package takt.framework;

import android.app.ActivityThread;
import android.app.ListActivity;
import android.content.res.ApkAssets;
import android.content.res.AssetManager;
import android.content.res.Resources;
import android.graphics.FontListParser;
import android.graphics.RecordingCanvas;
import android.graphics.Typeface;
import android.graphics.drawable.AnimatedImageDrawable;
import android.os.Handler;
import android.os.ParcelFileDescriptor;
import android.os.SharedMemory;
import android.telephony.TelephonyManager;
import android.text.FontConfig;
import android.util.Log;
import android.view.IWindowManager;
import android.view.SurfaceView;
import android.view.ThreadedRenderer;
import android.view.View;
import android.view.Window;
import android.view.WindowManagerGlobal;
import android.webkit.WebViewFactoryProvider;
import com.android.internal.R;
import java.io.File;
import java.io.FileDescriptor;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.net.DatagramSocket;
import java.net.Socket;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.WeakHashMap;
import libcore.util.NativeAllocationRegistry;
import org.xmlpull.v1.XmlPullParserException;
import takt.screen.Screen;

/**
 * What Android's java.* has and the JDK's has not: takt.tools.Redirect turns AOSP's calls to it
 * here.
 */
public final class Libcore {
    private static final String TAG = "System";
    /** Descriptors are objects by themselves: the JDK's class has no equality of its own. */
    private static final Map<FileDescriptor, Long> OWNERS = Collections.synchronizedMap(new WeakHashMap<>());

    /** ActivityThread.H.RELAUNCH_ACTIVITY. */
    private static final int RELAUNCH_ACTIVITY = 160;

    /** LEAST_NS of the server's jobs. */
    private static final long JOB_LEAST_MILLIS = 100;

    private Libcore() {}

    /** The shortest period of a job, as the server has it. */
    public static long getMinPeriodMillis() {
        return JOB_LEAST_MILLIS;
    }

    /** The shortest last part of a period. */
    public static long getMinFlexMillis() {
        return 1;
    }

    /** The shortest first wait after a failure. */
    public static long getMinBackoffMillis() {
        return JOB_LEAST_MILLIS;
    }

    /** A preference of the screen's clock: the JDK's DateFormat goes by the locale. */
    public static void set24HourTimePref(Boolean is24Hour) {}

    /** The entry that was used or added first; null if there is none. */
    public static <K, V> Map.Entry<K, V> eldest(LinkedHashMap<K, V> map) {
        return map.isEmpty() ? null : map.entrySet().iterator().next();
    }

    /** For StrictMode, which is off: might a close wait for a socket's last bytes? */
    public static boolean isSocket$(FileDescriptor descriptor) {
        return false;
    }

    /** The descriptor's number; -1 if it is closed. */
    public static native int getInt$(FileDescriptor descriptor);

    /** Gives it a number, or takes it away by -1. */
    public static native void setInt$(FileDescriptor descriptor, int number);

    /** What closes the file for it; 0 if nobody has said so. */
    public static long getOwnerId$(FileDescriptor descriptor) {
        return OWNERS.getOrDefault(descriptor, 0L);
    }

    /** See {@link #getOwnerId$}. */
    public static void setOwnerId$(FileDescriptor descriptor, long owner) {
        OWNERS.put(descriptor, owner);
    }

    /** The number and its owner move into a new object. */
    public static FileDescriptor release$(FileDescriptor descriptor) {
        FileDescriptor released = new FileDescriptor();
        setInt$(released, getInt$(descriptor));
        setOwnerId$(released, getOwnerId$(descriptor));
        setInt$(descriptor, -1);
        setOwnerId$(descriptor, 0);
        return released;
    }

    /** A file that has its number inside the JDK. */
    public static FileDescriptor getFileDescriptor$(Socket socket) {
        throw new UnsupportedOperationException("ParcelFileDescriptor.fromSocket is not supported by Takt yet");
    }

    /** As above. */
    public static FileDescriptor getFileDescriptor$(DatagramSocket socket) {
        throw new UnsupportedOperationException("ParcelFileDescriptor.fromDatagramSocket is not supported by Takt yet");
    }

    /** The part of a package that an asset is; the native part of AOSP's for hosts has it not. */
    public static ParcelFileDescriptor nativeOpenAssetFd(long assets, String name, long[] place, AssetManager manager)
            throws IOException {
        ApkAssets[] packages = manager.getApkAssets();
        for (int index = packages.length - 1; index >= 0; index--) {
            ParcelFileDescriptor found = StoredEntry.open(packages[index], "assets/" + name, place);
            if (found != null) {
                return found;
            }
        }
        throw new FileNotFoundException(name);
    }

    /** The same for any file of a package; cookies count packages from 1, and 0 is all. */
    public static ParcelFileDescriptor nativeOpenNonAssetFd(long assets, int cookie, String name, long[] place,
            AssetManager manager) throws IOException {
        ApkAssets[] packages = manager.getApkAssets();
        for (int index = packages.length - 1; index >= 0; index--) {
            boolean isMeant = cookie == 0 || cookie == index + 1;
            ParcelFileDescriptor found = isMeant ? StoredEntry.open(packages[index], name, place) : null;
            if (found != null) {
                return found;
            }
        }
        throw new FileNotFoundException(name);
    }

    /** A warning of libcore. */
    public static void logW(String text) {
        Log.w(TAG, text);
    }

    /** An error of libcore. */
    public static void logE(String text, Throwable cause) {
        Log.e(TAG, text, cause);
    }

    /** The fonts that are there, by a list of our own. */
    public static FontConfig getSystemPreinstalledFontConfig() {
        File fonts = HostLibrary.fonts();
        try {
            return FontListParser.parse(new File(fonts, "fonts.xml").getPath(), fonts.getPath() + "/", null, null,
                    Map.of(), 0, 0);
        } catch (IOException | XmlPullParserException e) {
            throw new IllegalStateException("no fonts in " + fonts, e);
        }
    }

    /**
     * Typeface asks at the end of its own initialisation. This is when fonts are loaded here: who
     * draws no text pays nothing for them.
     */
    public static FontConfig getSystemPreinstalledFontConfigFromLegacyXml() {
        Typeface.loadPreinstalledSystemFontMap();
        return getSystemPreinstalledFontConfig();
    }

    /**
     * The first Paint asks. Its native part draws with the default typeface, and knows none until
     * Typeface is initialised.
     */
    public static NativeAllocationRegistry createMalloced(ClassLoader loader, long freeFunction) {
        Objects.requireNonNull(Typeface.DEFAULT, "no default typeface");
        return NativeAllocationRegistry.createMalloced(loader, freeFunction);
    }

    /** No font server shares its fonts: see above. */
    public static void setSystemFontMap(SharedMemory fonts) {}

    /** Android's own table says that it can call and send; devices that cannot say so in theirs. */
    public static boolean getBoolean(Resources resources, int id) {
        boolean isOfTelephone = id == R.bool.config_voice_capable || id == R.bool.config_sms_capable
                || id == R.bool.config_mobile_data_capable;
        return !isOfTelephone && resources.getBoolean(id);
    }

    /** Without a telephone AOSP's own answer is that it does not know. */
    public static int getSimStateForSlotIndex(int slot) {
        return TelephonyManager.SIM_STATE_ABSENT;
    }

    /** Of its own layout, from which the list would come. */
    @SuppressWarnings("deprecation") // Applications still extend it.
    public static void setContentView(ListActivity activity, int layout) {
        if (Screen.isOn()) {
            activity.setContentView(layout);
            return;
        }
        throw new UnsupportedOperationException(
                "android.app.ListActivity is not supported by Takt yet: there are no windows and no views");
    }

    /** AOSP's activity asks so that the view is there from then on, and goes without it. */
    public static View getDecorView(Window window) {
        return Screen.isOn() ? window.getDecorView() : null;
    }

    /** What every view and every input method asks for when it is made. */
    public static IWindowManager getWindowManagerService() {
        if (Screen.isOn()) {
            return WindowManagerGlobal.getWindowManagerService();
        }
        throw new UnsupportedOperationException("android.view.View is not supported by Takt yet: there are no windows");
    }

    /** The view places its surface itself, before each frame: see redirects.txt. */
    public static boolean isHardwareAccelerated(SurfaceView view) {
        return false;
    }

    /** AOSP's own passes over an activity whose token is of this process: here each one's is. */
    public static void scheduleRelaunchActivityIfPossible(ActivityThread thread,
            ActivityThread.ActivityClientRecord record, boolean keepsWindow) {
        Handler handler = mainHandler(thread);
        handler.removeMessages(RELAUNCH_ACTIVITY, record.token);
        handler.obtainMessage(RELAUNCH_ACTIVITY, record.token).sendToTarget();
    }

    /** Its field is not for us. */
    private static Handler mainHandler(ActivityThread thread) {
        try {
            Field field = ActivityThread.class.getDeclaredField("mH");
            field.setAccessible(true);
            return (Handler) field.get(thread);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException("AOSP's ActivityThread has changed", e);
        }
    }

    /** What all of android.webkit asks for first. */
    public static WebViewFactoryProvider getProvider() {
        throw new UnsupportedOperationException("android.webkit.WebView is not supported by Takt yet");
    }

    /** A view's own: the renderer has none. */
    public static TextureLayer createTextureLayer(ThreadedRenderer renderer) {
        return new TextureLayer();
    }

    public static void drawTextureLayer(RecordingCanvas canvas, TextureLayer layer) {
        layer.draw(canvas);
    }

    /** The library says it on a thread of its own: who listens hears of it on the main one. */
    public static void onAnimationEnd(AnimatedImageDrawable drawable) {
        try {
            Method post = AnimatedImageDrawable.class.getDeclaredMethod("postOnAnimationEnd");
            post.setAccessible(true);
            post.invoke(drawable);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException("AOSP's AnimatedImageDrawable has changed", e);
        }
    }
}
