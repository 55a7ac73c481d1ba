// SPDX-License-Identifier: Apache-2.0
package takt.framework;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import android.os.Handler;
import android.os.HandlerThread;
import android.os.Looper;
import android.os.Message;
import android.os.SystemClock;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * AOSP's own Looper, Handler and MessageQueue over our native methods: order, times, barriers,
 * removal, end.
 */
final class LooperTest {
    private final List<Integer> seen = Collections.synchronizedList(new ArrayList<>());
    private HandlerThread thread;
    private Handler handler;

    @BeforeAll
    static void load() {
        Natives.load();
    }

    @BeforeEach
    void start() {
        thread = new HandlerThread("looper-test");
        thread.start();
        handler = new Handler(thread.getLooper(), message -> seen.add(message.what));
    }

    @AfterEach
    void end() throws InterruptedException {
        thread.quit();
        thread.join(10_000);
        assertFalse(thread.isAlive());
    }

    @Test
    void messagesComeInOrderOnTheThreadOfTheLooper() throws InterruptedException {
        Thread[] ran = new Thread[1];
        for (int what = 0; what < 1000; what++) {
            handler.sendEmptyMessage(what);
        }
        handler.post(() -> ran[0] = Thread.currentThread());
        drain();
        assertSame(thread, ran[0]);
        assertEquals(1000, seen.size());
        for (int what = 0; what < 1000; what++) {
            assertEquals(what, seen.get(what));
        }
    }

    @Test
    void delayedMessagesComeByTimeAndNeverEarly() throws InterruptedException {
        long start = SystemClock.uptimeMillis();
        long[] at = new long[1];
        handler.sendEmptyMessageDelayed(3, 60);
        handler.sendEmptyMessageDelayed(2, 30);
        handler.sendEmptyMessage(1);
        handler.postDelayed(() -> at[0] = SystemClock.uptimeMillis(), 90);
        drainDelayed(100);
        assertEquals(List.of(1, 2, 3), seen);
        assertTrue(at[0] >= start + 90);
    }

    @Test
    void theFrontOfTheQueueOvertakes() throws InterruptedException {
        CountDownLatch gate = block();
        handler.sendEmptyMessage(2);
        handler.sendMessageAtFrontOfQueue(Message.obtain(handler, 1));
        gate.countDown();
        drain();
        assertEquals(List.of(1, 2), seen);
    }

    @Test
    void removedMessagesDoNotCome() throws InterruptedException {
        CountDownLatch gate = block();
        Object token = new Object();
        handler.sendEmptyMessage(1);
        handler.sendMessage(Message.obtain(handler, 2, token));
        handler.sendEmptyMessage(3);
        handler.removeMessages(1);
        handler.removeCallbacksAndMessages(token);
        assertTrue(handler.hasMessages(3));
        assertFalse(handler.hasMessages(1));
        gate.countDown();
        drain();
        assertEquals(List.of(3), seen);
    }

    @Test
    void aSyncBarrierHoldsBackAllButAsynchronousMessages() throws InterruptedException {
        int barrier = thread.getLooper().getQueue().postSyncBarrier();
        handler.sendEmptyMessage(1);
        Message message = Message.obtain(handler, 2);
        message.setAsynchronous(true);
        handler.sendMessage(message);
        for (int tries = 0; tries < 1000 && seen.isEmpty(); tries++) {
            Thread.sleep(5);
        }
        assertEquals(List.of(2), seen);
        thread.getLooper().getQueue().removeSyncBarrier(barrier);
        drain();
        assertEquals(List.of(2, 1), seen);
    }

    @Test
    void anIdleHandlerRunsWhenNothingIsDue() throws InterruptedException {
        CountDownLatch idle = new CountDownLatch(1);
        thread.getLooper().getQueue().addIdleHandler(() -> {
            idle.countDown();
            return false;
        });
        handler.sendEmptyMessage(1);
        assertTrue(idle.await(10, TimeUnit.SECONDS));
    }

    @Test
    void quitSafelyRunsWhatIsDueAndDropsTheRest() throws InterruptedException {
        CountDownLatch gate = block();
        handler.sendEmptyMessage(1);
        handler.sendEmptyMessageDelayed(2, 60_000);
        thread.quitSafely();
        assertFalse(handler.sendEmptyMessage(3), "a looper that quits takes no messages");
        gate.countDown();
        thread.join(10_000);
        assertEquals(List.of(1), seen);
    }

    @Test
    void aLooperKnowsItsThread() throws InterruptedException {
        Looper[] found = new Looper[1];
        handler.post(() -> found[0] = Looper.myLooper());
        drain();
        assertSame(thread.getLooper(), found[0]);
        assertTrue(thread.getThreadId() > 0);
    }

    /** Holds the looper until the gate is opened. */
    private CountDownLatch block() throws InterruptedException {
        CountDownLatch gate = new CountDownLatch(1);
        CountDownLatch reached = new CountDownLatch(1);
        handler.post(() -> {
            reached.countDown();
            try {
                gate.await();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        });
        assertTrue(reached.await(10, TimeUnit.SECONDS));
        return gate;
    }

    private void drain() throws InterruptedException {
        drainDelayed(0);
    }

    private void drainDelayed(long millis) throws InterruptedException {
        CountDownLatch done = new CountDownLatch(1);
        handler.postDelayed(done::countDown, millis);
        assertTrue(done.await(20, TimeUnit.SECONDS));
    }
}
