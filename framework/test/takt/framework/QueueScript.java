// SPDX-License-Identifier: Apache-2.0
package takt.framework;

import android.os.Handler;
import android.os.Looper;
import android.os.Message;
import android.os.MessageQueue;
import android.os.SystemClock;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/**
 * Random operations on a queue, printed as what is dispatched: run once over AOSP's queue and once
 * over ours, the outputs must be equal. Everything happens on the looper's own thread and all times
 * are past, so the output depends on the seed alone.
 */
public final class QueueScript {
    private static final int OPERATIONS = 400;
    private static final int NESTED_MAX = 3_000;
    private static final int BURST = 150;
    /** Nested operations from one burst to the next. */
    private static final int BURST_EVERY = 60;

    private final Random random;
    private final long start = SystemClock.uptimeMillis();
    private final List<Integer> barriers = new ArrayList<>();
    private final StringBuilder out = new StringBuilder();
    private final Object[] tokens = {new String("a"), new String("b"), new String("a")};
    private final Runnable[] callbacks = new Runnable[3];
    private final Handler[] handlers = new Handler[3];
    private long earliest = start;
    private int nested;

    private QueueScript(long seed) {
        random = new Random(seed);
        for (int index = 0; index < handlers.length; index++) {
            int id = index;
            handlers[index] = new Handler(Looper.myLooper(), message -> dispatch(id, message));
            callbacks[index] = () -> out.append(" r").append(id);
        }
    }

    /** Prints a line for each seed. */
    public static void main(String[] args) {
        Natives.load();
        Looper.prepare();
        int seeds = Integer.parseInt(args[0]);
        for (int seed = 0; seed < seeds; seed++) {
            System.out.println(seed + ":" + new QueueScript(seed).run());
        }
    }

    private String run() {
        for (int count = 0; count < OPERATIONS; count++) {
            operation();
        }
        burst();
        // Idle means that all that can be dispatched was; barriers go first, else it would never be
        // idle.
        MessageQueue queue = Looper.myQueue();
        Handler last = new Handler(Looper.myLooper());
        for (int token : barriers) {
            queue.removeSyncBarrier(token);
        }
        barriers.clear();
        last.postDelayed(() -> {
            throw new Done();
        }, 5);
        try {
            Looper.loop();
        } catch (Done done) {
            return out.toString();
        }
        throw new AssertionError("the looper ended");
    }

    private boolean dispatch(int handler, Message message) {
        out.append(' ').append(handler).append('.').append(message.what);
        if (nested < NESTED_MAX && random.nextInt(3) == 0) {
            nested++;
            operation();
        }
        if (nested > 0 && nested % BURST_EVERY == 0) {
            nested++;
            burst();
        }
        if (!barriers.isEmpty() && random.nextInt(4) == 0) {
            Looper.myQueue().removeSyncBarrier(barriers.remove(random.nextInt(barriers.size())));
        }
        return true;
    }

    private void operation() {
        Handler handler = handlers[random.nextInt(handlers.length)];
        int what = random.nextInt(6);
        Object token = random.nextBoolean() ? null : tokens[random.nextInt(tokens.length)];
        Runnable callback = callbacks[random.nextInt(callbacks.length)];
        long when = start - random.nextInt(50);
        switch (random.nextInt(14)) {
            case 0 -> handler.removeMessages(what, token);
            case 1 -> handler.removeEqualMessages(what, token);
            case 2 -> handler.removeCallbacks(callback, token);
            case 3 -> handler.removeCallbacksAndMessages(token == null ? tokens[0] : token);
            case 4 -> out.append(" h").append(handler.hasMessages(what, token)).append(handler.hasCallbacks(callback));
            case 5 -> handler.sendMessageAtFrontOfQueue(Message.obtain(handler, what, token));
            case 6 -> handler.postAtTime(callback, token, when);
            case 7 -> handler.postAtFrontOfQueue(callback);
            case 8 -> {
                // Only from the script itself: a barrier without anything behind it that runs would
                // end nothing.
                if (nested == 0 && barriers.size() < 2) {
                    barriers.add(Looper.myQueue().postSyncBarrier());
                }
            }
            default -> send(handler, what, token, when);
        }
    }

    /** More than a queue sorts in at a time, for times before all others, and no search between. */
    private void burst() {
        earliest -= 50;
        for (int count = 0; count < BURST; count++) {
            Handler handler = handlers[random.nextInt(handlers.length)];
            int what = random.nextInt(6);
            if (random.nextInt(100) == 0) {
                handler.sendMessageAtFrontOfQueue(Message.obtain(handler, what));
            } else {
                send(handler, what, null, earliest - random.nextInt(50));
            }
        }
    }

    private void send(Handler handler, int what, Object token, long when) {
        Message message = Message.obtain(handler, what, token);
        message.setAsynchronous(random.nextInt(4) == 0);
        handler.sendMessageAtTime(message, when);
    }

    /** Leaves the loop without ending the looper. */
    private static final class Done extends RuntimeException {
        private static final long serialVersionUID = 1;
    }
}
