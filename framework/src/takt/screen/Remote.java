// SPDX-License-Identifier: Apache-2.0
package takt.screen;

import android.content.ClipData;
import android.content.Context;
import android.content.IClipboard;
import android.os.Handler;
import android.os.Looper;
import android.os.RemoteException;
import android.os.ServiceManager;
import android.os.SystemClock;
import android.util.Log;
import android.view.KeyEvent;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.json.JSONObject;

/**
 * Who shows the display, and what is done there, but for fingers, which go to their windows in
 * Rust: keys, text, the clipboard, another size.
 *
 * <p>Keys go by a window's channel, text by a view's own connection. So each waits until the other
 * is done: what is typed keeps its order.
 */
final class Remote {
    private static final String TAG = "Takt";
    /** An application that is busy for longer gets things in another order. */
    private static final long ORDER_MILLIS = 1000;
    private static final long LOOK_MILLIS = 2;
    private static final int KINDS = 4;

    private boolean wasText;

    private Remote() {}

    /** Shows the display where `takt run` was told to. Null, or why it cannot. */
    static String open(JSONObject run) {
        JSONObject shown = run.optJSONObject("shown");
        if (shown == null) {
            return null;
        }
        String back = shown.optString("by");
        String name = run.optJSONObject("manifest").optString("package");
        String fault = switch (back) {
            case "web" -> serve(shown, name);
            case "wayland" -> Native.openWindow(name);
            case "drm" -> Native.openConsole();
            default -> "not supported by Takt yet";
        };
        return fault == null ? null : "--screen " + back + ": " + fault;
    }

    private static String serve(JSONObject web, String name) {
        String file = web.optString("file");
        String fault = Native.serve(web.optString("address"), file, name);
        if (fault == null) {
            Log.i(TAG, "the display's address is in " + file);
        }
        return fault;
    }

    /** Hears what is done there, from now on. */
    static void listen(JSONObject run) {
        if (run.optJSONObject("shown") == null) {
            return;
        }
        Remote remote = new Remote();
        Thread thread = new Thread(remote::run, "screen-input");
        thread.setDaemon(true);
        thread.start();
    }

    private void run() {
        long[] numbers = new long[KINDS];
        while (true) {
            String text = Native.deed(numbers);
            try {
                take((int) numbers[0], numbers, text);
            } catch (IllegalStateException e) {
                // No window has the focus, or it does not read: what was typed is lost.
                Log.w(TAG, "input at the display: " + e.getMessage());
            } catch (RemoteException e) {
                throw e.rethrowFromSystemServer();
            } catch (InterruptedException e) {
                return;
            }
        }
    }

    private void take(int kind, long[] numbers, String text) throws RemoteException, InterruptedException {
        switch (kind) {
            case Native.CODE -> {
                if (!erase((int) numbers[1], (int) numbers[2], numbers[3] != 0)) {
                    awaitText();
                    Native.key((int) numbers[1], (int) numbers[2], numbers[3] != 0);
                }
            }
            case Native.TEXT -> type(text, (int) numbers[1]);
            case Native.CLIP -> {
                IClipboard clipboard = IClipboard.Stub.asInterface(
                        ServiceManager.getService(Context.CLIPBOARD_SERVICE));
                clipboard.setPrimaryClip(ClipData.newPlainText(null, text), "android", null, 0, 0);
            }
            case Native.RESIZE -> Screen.resize((int) numbers[1], (int) numbers[2]);
            case Native.ROTATE -> Screen.rotate();
            case Native.CLOSE -> Screen.close();
            default -> { }
        }
    }

    /** Keys have no characters here, so a view's own listener does not know these two. */
    private boolean erase(int code, int meta, boolean isDown) throws RemoteException, InterruptedException {
        boolean isBefore = code == KeyEvent.KEYCODE_DEL;
        if (meta != 0 || !isBefore && code != KeyEvent.KEYCODE_FORWARD_DEL) {
            return false;
        }
        if (!isDown) {
            return wasText;
        }
        awaitKeys();
        wasText = TextInput.INSTANCE.delete(isBefore ? 1 : 0, isBefore ? 0 : 1);
        return wasText;
    }

    /** A character, or its key if no view takes text. */
    private void type(String text, int code) throws RemoteException, InterruptedException {
        awaitKeys();
        if (TextInput.INSTANCE.commit(text)) {
            wasText = true;
        } else if (code != 0) {
            awaitText();
            Native.key(code, 0, true);
            Native.key(code, 0, false);
        }
    }

    private static void awaitKeys() throws InterruptedException {
        long until = SystemClock.uptimeMillis() + ORDER_MILLIS;
        while (Native.overdue(0) != 0 && SystemClock.uptimeMillis() < until) {
            Thread.sleep(LOOK_MILLIS);
        }
    }

    private void awaitText() throws InterruptedException {
        if (wasText) {
            wasText = false;
            CountDownLatch done = new CountDownLatch(1);
            new Handler(Looper.getMainLooper()).post(done::countDown);
            done.await(ORDER_MILLIS, TimeUnit.MILLISECONDS);
        }
    }
}
