// SPDX-License-Identifier: Apache-2.0
package takt.screen;

import android.content.res.Resources;
import android.graphics.Rect;
import android.os.Handler;
import android.os.Looper;
import android.util.Xml;
import android.view.View;
import android.view.ViewGroup;
import android.view.WindowManagerGlobal;
import android.widget.Checkable;
import android.widget.TextView;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.FutureTask;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.xmlpull.v1.XmlSerializer;

/** The views that are shown, as XML in the form of Android's `uiautomator dump`. */
final class Views {
    /** The main looper may be busy; it is not waited for without end. */
    private static final long LONGEST_SECONDS = 10;
    private static final String ENCODING = StandardCharsets.UTF_8.name();

    private final XmlSerializer xml = Xml.newSerializer();

    private Views() {}

    /** Asks the main thread, whose views they are. */
    static void write(String path) throws IOException, InterruptedException {
        FutureTask<Void> task = new FutureTask<>(() -> {
            try (OutputStream out = new FileOutputStream(path)) {
                new Views().write(out);
            }
            return null;
        });
        new Handler(Looper.getMainLooper()).post(task);
        try {
            task.get(LONGEST_SECONDS, TimeUnit.SECONDS);
        } catch (ExecutionException e) {
            throw new IOException(e.getCause().getMessage(), e);
        } catch (TimeoutException e) {
            throw new IOException("the main thread is busy for " + LONGEST_SECONDS + " s", e);
        }
    }

    private void write(OutputStream out) throws IOException {
        xml.setOutput(out, ENCODING);
        xml.startDocument(ENCODING, true);
        xml.setFeature("http://xmlpull.org/v1/doc/features.html#indent-output", true);
        xml.startTag(null, "hierarchy");
        int index = 0;
        for (View root : WindowManagerGlobal.getInstance().getWindowViews()) {
            node(root, index++);
        }
        xml.endTag(null, "hierarchy");
        xml.endDocument();
        xml.flush();
    }

    /** A view that is seen, and those in it. Its depth is bounded as drawing's is: by the stack. */
    private void node(View view, int index) throws IOException {
        Rect bounds = new Rect();
        if (!view.isShown() || !view.getGlobalVisibleRect(bounds)) {
            return;
        }
        int[] place = new int[2];
        view.getRootView().getLocationOnScreen(place);
        bounds.offset(place[0], place[1]);
        xml.startTag(null, "node");
        set("index", index);
        set("text", view instanceof TextView text ? text.getText() : "");
        set("resource-id", name(view));
        set("class", view.getClass().getName());
        set("package", view.getContext().getPackageName());
        set("content-desc", view.getContentDescription());
        set("checkable", view instanceof Checkable);
        set("checked", view instanceof Checkable it && it.isChecked());
        set("clickable", view.isClickable());
        set("enabled", view.isEnabled());
        set("focusable", view.isFocusable());
        set("focused", view.isFocused());
        set("long-clickable", view.isLongClickable());
        set("selected", view.isSelected());
        set("bounds", "[" + bounds.left + "," + bounds.top + "][" + bounds.right + "," + bounds.bottom + "]");
        if (view instanceof ViewGroup group) {
            for (int child = 0; child < group.getChildCount(); child++) {
                node(group.getChildAt(child), child);
            }
        }
        xml.endTag(null, "node");
    }

    private void set(String name, Object value) throws IOException {
        String text = value == null ? "" : value.toString();
        // What XML cannot hold: uiautomator writes a point in its place as well.
        xml.attribute(null, name, text.replaceAll("[^\\t\\n\\r\\x20-\\uD7FF\\uE000-\\uFFFD]", "."));
    }

    private static String name(View view) {
        if (view.getId() == View.NO_ID) {
            return "";
        }
        try {
            return view.getResources().getResourceName(view.getId());
        } catch (Resources.NotFoundException e) {
            return "";
        }
    }
}
