// SPDX-License-Identifier: Apache-2.0
package takt.screen;

import android.os.MessageQueue;
import android.view.InputChannel;
import android.view.SurfaceControl;
import takt.framework.InputSource;
import takt.framework.Natives;

/** The display, whose state is in Rust: crates/screen behind crates/natives/src/screen. */
final class Native {
    /** Kinds of windows: {@link #addWindow}. */
    static final int APPLICATION = 0;
    static final int PANEL = 1;
    static final int MEDIA = 2;
    static final int SYSTEM = 3;
    /** Kinds of events: {@link #await}. */
    static final int VSYNC = 1;
    /** Kinds of input: {@link #take}. */
    static final int FOCUS = 0;
    static final int TOUCH = 1;
    static final int KEY = 2;
    static final int SCROLL = 3;
    /** How many numbers an event or an input has at most: ten fingers have three each. */
    static final int NUMBERS = 38;
    /** Kinds of deeds: {@link #deed}. */
    static final int CODE = 1;
    static final int TEXT = 2;
    static final int CLIP = 3;
    static final int RESIZE = 4;
    static final int ROTATE = 5;
    static final int CLOSE = 6;

    static {
        Natives.load();
    }

    private Native() {}

    /**
     * Once, before everything else. Input goes by a socket pair, as stock Android has it, or by a
     * ring in shared memory.
     */
    static native void open(int width, int height, int density, boolean isSocketPair);

    /** Width, height, density, frames a second. */
    static native void display(int[] out);

    /** A new window's number, from one. */
    static native int addWindow(int kind, int parent, boolean hasInput);

    /** The wish's numbers and what comes of them are in the order that the native part says. */
    static native void place(int window, int[] wish, float[] shade, int[] frames);

    static native void show(int window, boolean isVisible);

    static native void remove(int window);

    /** The number of a Surface that nobody but a view shows. */
    static native long openTexture();

    static native void resizeTexture(long number, int width, int height);

    static native void closeTexture(long number);

    static native void giveSurface(int window, SurfaceControl control);

    static native void giveChannel(int window, InputChannel channel);

    /** The kind of the next event, or zero after a second without one. */
    static native int await(long[] out);

    /** The looper asks the source from now on; our MessageQueue does, which AOSP's does not. */
    static native void listen(MessageQueue queue, InputSource source);

    static native void unlisten(MessageQueue queue, InputSource source);

    /** What the looper that reads a channel listens to, for the caller; -1: it is woken. */
    static native int inputFile(long channel);

    /** False if a channel has no message. */
    static native boolean take(long channel, long[] out);

    static native void touch(int action, float x, float y);

    static native void key(int code, int meta, boolean isDown);

    /** The display has another size; windows are placed anew when they ask. */
    static native void resize(int width, int height);

    /** Shows the display in browsers; null, or why not. A file gets the address and its token. */
    static native String serve(String address, String file, String name);

    /** Shows the display in a window, and gives it that one's size; null, or why not. */
    static native String openWindow(String title);

    /** Shows the display on the machine's screen, and gives it its size; null, or why not. */
    static native String openConsole();

    /** What was done at the display: kind, three numbers, text; zero after a second without. */
    static native String deed(long[] out);

    /** A text for the browsers' clipboards. */
    static native void copied(String text);

    /** Nobody waits for a beat, all input is finished, all that is visible is drawn. */
    static native boolean isQuiet();

    /** Is something drawn? */
    static native boolean hasPicture();

    /** The window with the focus, or zero. */
    static native int focus();

    /** A window that has not finished an input for so long, or zero. */
    static native int overdue(long millis);

    /** The caller has begun AOSP's renderer: its threads are named, and are ordinary. */
    static native void findRenderThreads();

    /** Measures what comes of touches, from now on. */
    static native void measure();

    /** Of how many touches a frame came. */
    static native int measuredCount();

    /** Ends that: null, or why the lines are not in the file. */
    static native String measured(String path);

    /** Null, or why there is no picture. */
    static native String picture(String path);
}
