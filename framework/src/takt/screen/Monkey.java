// SPDX-License-Identifier: Apache-2.0
package takt.screen;

import android.os.Handler;
import android.os.Looper;
import android.os.RemoteException;
import android.os.SystemClock;
import android.util.Log;
import android.view.KeyEvent;
import android.view.MotionEvent;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * Random input in the manner of Android's monkey. What is done depends on the seed and the
 * display's size alone: what an event meets changes none of the next ones.
 */
final class Monkey {
    private static final String TAG = "Takt";
    /** An application without a window for so long has ended for who sits before it. */
    private static final long WINDOW_MILLIS = 5000;
    private static final long LOOK_MILLIS = 2;
    /** Out of a hundred; the rest are texts. */
    private static final int TAPS = 40;
    private static final int DRAGS = 25;
    private static final int KEYS = 20;
    private static final int MOVES_MAX = 10;
    private static final long MOVE_MILLIS = 4;
    private static final int CHARACTERS_MAX = 8;
    private static final String CHARACTERS = "abcxyzABCXYZ0123456789 .,-_@#'\"<&\u00e4\u00df\u20ac\u6f22\u05d0";
    /** Not BACK and HOME: they leave the activity, and nothing starts it again. */
    private static final int[] CODES = {
        KeyEvent.KEYCODE_DPAD_UP, KeyEvent.KEYCODE_DPAD_DOWN, KeyEvent.KEYCODE_DPAD_LEFT,
        KeyEvent.KEYCODE_DPAD_RIGHT, KeyEvent.KEYCODE_DPAD_CENTER, KeyEvent.KEYCODE_ENTER, KeyEvent.KEYCODE_TAB,
        KeyEvent.KEYCODE_SPACE, KeyEvent.KEYCODE_DEL, KeyEvent.KEYCODE_FORWARD_DEL, KeyEvent.KEYCODE_MOVE_HOME,
        KeyEvent.KEYCODE_MOVE_END, KeyEvent.KEYCODE_PAGE_UP, KeyEvent.KEYCODE_PAGE_DOWN, KeyEvent.KEYCODE_MENU,
        KeyEvent.KEYCODE_A, KeyEvent.KEYCODE_5,
    };

    private final int count;
    private final long seed;
    private final Random random;
    private final int width;
    private final int height;
    private int taps;
    private int drags;
    private int keys;
    private int texts;
    /** Events that no window or view took. */
    private int missed;

    Monkey(int count, long seed) {
        this.count = count;
        this.seed = seed;
        random = new Random(seed);
        width = Screen.bounds().width();
        height = Screen.bounds().height();
    }

    /** Null, or why it ended before its last event. */
    String run() throws InterruptedException, RemoteException {
        Log.i(TAG, "monkey: " + count + " events, --seed " + seed);
        for (int done = 0; done < count; done++) {
            if (!awaitWindow()) {
                return "no window after " + done + " events with --seed " + seed;
            }
            event();
            settle();
        }
        Log.i(TAG, "monkey: done " + taps + " taps, " + drags + " drags, " + keys + " keys, " + texts + " texts");
        Log.i(TAG, "monkey: nothing took " + missed + " of them");
        return null;
    }

    private void event() throws InterruptedException, RemoteException {
        int kind = random.nextInt(100);
        if (kind < TAPS) {
            taps++;
            gesture(0);
        } else if (kind < TAPS + DRAGS) {
            drags++;
            gesture(1 + random.nextInt(MOVES_MAX));
        } else if (kind < TAPS + DRAGS + KEYS) {
            keys++;
            key(CODES[random.nextInt(CODES.length)]);
        } else {
            texts++;
            text();
        }
    }

    /** From one place to another one, or a tap. */
    private void gesture(int moves) throws InterruptedException {
        float fromX = random.nextInt(width);
        float fromY = random.nextInt(height);
        float toX = moves == 0 ? fromX : random.nextInt(width);
        float toY = moves == 0 ? fromY : random.nextInt(height);
        try {
            Native.touch(MotionEvent.ACTION_DOWN, fromX, fromY);
        } catch (IllegalStateException e) {
            missed++;
            return;
        }
        try {
            for (int move = 1; move <= moves; move++) {
                Thread.sleep(MOVE_MILLIS);
                float part = (float) move / moves;
                Native.touch(MotionEvent.ACTION_MOVE, fromX + (toX - fromX) * part, fromY + (toY - fromY) * part);
            }
            Native.touch(MotionEvent.ACTION_UP, toX, toY);
        } catch (IllegalStateException e) {
            // Its window has gone meanwhile, and the gesture with it.
            missed++;
        }
    }

    private void key(int code) {
        try {
            Native.key(code, 0, true);
            Native.key(code, 0, false);
        } catch (IllegalStateException e) {
            missed++;
        }
    }

    private void text() throws RemoteException {
        StringBuilder text = new StringBuilder();
        for (int left = 1 + random.nextInt(CHARACTERS_MAX); left > 0; left--) {
            text.append(CHARACTERS.charAt(random.nextInt(CHARACTERS.length())));
        }
        if (!TextInput.INSTANCE.commit(text.toString())) {
            missed++;
        }
    }

    private static boolean awaitWindow() throws InterruptedException {
        long until = SystemClock.uptimeMillis() + WINDOW_MILLIS;
        while (Native.focus() == 0) {
            if (SystemClock.uptimeMillis() >= until) {
                return false;
            }
            Thread.sleep(LOOK_MILLIS);
        }
        return true;
    }

    /** Until what was done is finished; an application that never does is caught by `--anr`. */
    private static void settle() throws InterruptedException {
        CountDownLatch done = new CountDownLatch(1);
        new Handler(Looper.getMainLooper()).post(done::countDown);
        done.await(WINDOW_MILLIS, TimeUnit.MILLISECONDS);
        long until = SystemClock.uptimeMillis() + WINDOW_MILLIS;
        while (Native.overdue(0) != 0 && SystemClock.uptimeMillis() < until) {
            Thread.sleep(LOOK_MILLIS);
        }
    }
}
