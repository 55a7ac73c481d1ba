// SPDX-License-Identifier: Apache-2.0
package takt.screen;

import android.os.Handler;
import android.os.Looper;
import android.os.MessageQueue;
import android.os.RemoteException;
import android.os.SystemClock;
import android.util.Log;
import android.view.KeyEvent;
import android.view.MotionEvent;
import java.io.IOException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.json.JSONArray;
import org.json.JSONObject;

/**
 * What `takt run` was told to do at the display, step by step. Each step waits until the
 * application has drawn and has nothing to do at once.
 */
public final class Script {
    private static final String TAG = "Takt";
    /** Longer than a pressed button stays so, and than a touch that may become a scroll waits. */
    private static final long PRESSED_MILLIS = 250;
    /** For a first window: the application starts, and may be compiled on its way. */
    private static final long FIRST_MILLIS = 60_000;
    /** For what moves for ever: a step is taken all the same. */
    private static final long QUIET_MILLIS = 5000;
    private static final long LOOK_MILLIS = 20;
    /** As a touch screen says where a finger is: the thesis's phone did so often. */
    private static final long TOUCHES_PER_SECOND = 80;
    private static final long NANOS_PER_SECOND = 1_000_000_000;
    /** Where the finger moves while that is measured, to and fro. */
    private static final float FIRST_PLACE = 200;
    private static final int PLACES = 100;

    private final JSONArray steps;

    private Script(JSONArray steps) {
        this.steps = steps;
    }

    /** A step that cannot be done. */
    private static final class Failure extends Exception {
        private static final long serialVersionUID = 1;

        Failure(String text) {
            super(text);
        }
    }

    /**
     * Runs the steps on a thread of its own, once the application is bound. Then {@code done} runs,
     * or {@code failed} after the log says why. Without steps nothing runs.
     */
    public static void start(JSONObject run, Runnable done, Runnable failed) {
        JSONArray steps = run.optJSONArray("script");
        if (steps == null || steps.length() == 0) {
            return;
        }
        Script script = new Script(steps);
        Thread thread = new Thread(() -> {
            try {
                script.run();
                done.run();
            } catch (Failure e) {
                Log.e(TAG, e.getMessage());
                failed.run();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }, "script");
        thread.setDaemon(true);
        thread.start();
    }

    private void run() throws Failure, InterruptedException {
        awaitPicture();
        for (int index = 0; index < steps.length(); index++) {
            awaitQuiet();
            JSONObject step = steps.optJSONObject(index);
            String what = step.keys().next();
            try {
                take(what, step);
            } catch (Failure | IllegalStateException | IOException | RemoteException e) {
                throw new Failure("--" + what + " " + step.opt(what) + ": " + e.getMessage());
            }
        }
    }

    private void take(String what, JSONObject step)
            throws Failure, InterruptedException, IOException, RemoteException {
        switch (what) {
            case "tap" -> {
                JSONArray place = step.optJSONArray(what);
                float x = (float) place.optDouble(0);
                float y = (float) place.optDouble(1);
                Native.touch(MotionEvent.ACTION_DOWN, x, y);
                Native.touch(MotionEvent.ACTION_UP, x, y);
                pressed();
            }
            case "text" -> {
                if (!TextInput.INSTANCE.commit(step.optString(what))) {
                    throw new Failure("no view that takes text has the focus");
                }
            }
            case "key" -> {
                int code = KeyEvent.keyCodeFromString(step.optString(what));
                if (code == KeyEvent.KEYCODE_UNKNOWN) {
                    throw new Failure("no key of Android's has this name");
                }
                Native.key(code, 0, true);
                Native.key(code, 0, false);
                pressed();
            }
            case "rotate" -> Screen.rotate();
            case "wait" -> SystemClock.sleep(step.optLong(what));
            case "screenshot" -> {
                String fault = Native.picture(step.optString(what));
                if (fault != null) {
                    throw new Failure(fault);
                }
            }
            case "views" -> Views.write(step.optString(what));
            case "measure" -> measure(step.optJSONArray(what));
            case "monkey" -> {
                JSONArray wanted = step.optJSONArray(what);
                String fault = new Monkey(wanted.optInt(0), wanted.optLong(1)).run();
                if (fault != null) {
                    throw new Failure(fault);
                }
            }
            default -> throw new Failure("not supported by Takt yet");
        }
    }

    /** So many touches, {@link #TOUCHES_PER_SECOND}; what came of them is in the file. */
    private static void measure(JSONArray wanted) throws Failure, InterruptedException {
        int count = wanted.optInt(0);
        Native.measure();
        long begun = System.nanoTime();
        for (int index = 0; index < count; index++) {
            int action = index == 0 ? MotionEvent.ACTION_DOWN
                    : index == count - 1 ? MotionEvent.ACTION_UP : MotionEvent.ACTION_MOVE;
            Native.touch(action, FIRST_PLACE + index % PLACES, FIRST_PLACE);
            long due = begun + (index + 1) * NANOS_PER_SECOND / TOUCHES_PER_SECOND;
            TimeUnit.NANOSECONDS.sleep(due - System.nanoTime());
        }
        long until = SystemClock.uptimeMillis() + QUIET_MILLIS;
        while (Native.measuredCount() < count && SystemClock.uptimeMillis() < until) {
            Thread.sleep(LOOK_MILLIS);
        }
        int measured = Native.measuredCount();
        String fault = Native.measured(wanted.optString(1));
        if (measured < count || fault != null) {
            throw new Failure(fault != null ? fault : measured + " of " + count + " touches came to a frame");
        }
    }

    /** What is pressed is drawn as pressed, and then no longer. */
    private static void pressed() throws InterruptedException {
        awaitQuiet();
        Thread.sleep(PRESSED_MILLIS);
    }

    private void awaitPicture() throws Failure, InterruptedException {
        long until = SystemClock.uptimeMillis() + FIRST_MILLIS;
        while (!Native.hasPicture() || Native.focus() == 0) {
            if (SystemClock.uptimeMillis() >= until) {
                throw new Failure("no window was shown within " + FIRST_MILLIS + " ms");
            }
            Thread.sleep(LOOK_MILLIS);
        }
    }

    /** Twice in a row, since what was done last may have asked for a frame. */
    private static void awaitQuiet() throws InterruptedException {
        long until = SystemClock.uptimeMillis() + QUIET_MILLIS;
        int inARow = 0;
        while (inARow < 2) {
            if (SystemClock.uptimeMillis() >= until) {
                Log.w(TAG, "the application draws on and on: the next step does not wait for it");
                return;
            }
            inARow = isIdle(until) && Native.isQuiet() ? inARow + 1 : 0;
            Thread.sleep(LOOK_MILLIS);
        }
    }

    /** Does the main looper come to have nothing to do? */
    private static boolean isIdle(long until) throws InterruptedException {
        CountDownLatch idle = new CountDownLatch(1);
        Handler main = new Handler(Looper.getMainLooper());
        MessageQueue queue = Looper.getMainLooper().getQueue();
        MessageQueue.IdleHandler handler = () -> {
            idle.countDown();
            return false;
        };
        queue.addIdleHandler(handler);
        // A looper that sleeps looks for what to do when it is idle only before it sleeps.
        main.post(() -> { });
        boolean came = idle.await(until - SystemClock.uptimeMillis(), TimeUnit.MILLISECONDS);
        queue.removeIdleHandler(handler);
        return came;
    }
}
