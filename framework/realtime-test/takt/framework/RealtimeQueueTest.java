// SPDX-License-Identifier: Apache-2.0
package takt.framework;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import android.os.Handler;
import android.os.HandlerThread;
import android.os.Message;
import android.os.MessageQueue;
import android.os.SystemClock;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import takt.os.RealtimeHandler;
import takt.os.RealtimeHandlerThread;

/** What our queue has and AOSP's has not: priorities, nanoseconds, a bound. */
final class RealtimeQueueTest {
    private final List<Integer> seen = Collections.synchronizedList(new ArrayList<>());
    private final List<Integer> seenAt = Collections.synchronizedList(new ArrayList<>());
    private HandlerThread thread;
    private Handler handler;
    private MessageQueue queue;

    @BeforeEach
    void start() {
        assumeTrue(RealtimeThread.setPriority(0, 0), "threads can be scheduled");
        thread = new HandlerThread("realtime-queue-test");
        thread.start();
        handler = new Handler(thread.getLooper(), message -> {
            seenAt.add(RealtimeThread.priority());
            return seen.add(message.what);
        });
        queue = thread.getLooper().getQueue();
    }

    @AfterEach
    void end() throws InterruptedException {
        RealtimeThread.setPriority(0, 0);
        if (thread != null) {
            thread.quit();
            thread.join(10_000);
        }
    }

    @Test
    void theMostUrgentComesFirstAndEqualsInOrder() throws InterruptedException {
        becomeRealtime(30);
        CountDownLatch gate = block();
        int[] priorities = {5, 20, 20, 1, 30, 5};
        for (int what = 0; what < priorities.length; what++) {
            assertTrue(send(what, 0, priorities[what]));
        }
        gate.countDown();
        drain();
        assertEquals(List.of(4, 1, 2, 0, 5, 3), seen);
        assertEquals(List.of(30, 20, 20, 5, 5, 1), seenAt, "the looper runs at the priority of each message");
    }

    @Test
    void aMessageHasItsSendersPriorityAndNoMore() throws InterruptedException {
        becomeRealtime(10);
        CountDownLatch gate = block();
        send(1, 0, 99);
        handler.sendEmptyMessage(2);
        gate.countDown();
        drain();
        assertEquals(List.of(10, 10), seenAt);
    }

    @Test
    void anUrgentMessageRaisesALooperThatIsBusy() throws InterruptedException {
        CountDownLatch reached = new CountDownLatch(1);
        CountDownLatch sent = new CountDownLatch(1);
        int[] priority = {-1, -1};
        handler.post(() -> {
            priority[0] = RealtimeThread.priority();
            reached.countDown();
            await(sent);
            priority[1] = RealtimeThread.priority();
        });
        await(reached);
        becomeRealtime(15);
        send(1, 0, 15);
        sent.countDown();
        RealtimeThread.setPriority(0, 0);
        drain();
        assertEquals(0, priority[0]);
        assertEquals(15, priority[1], "it is raised in the midst of an ordinary message");
        assertEquals(List.of(15), seenAt);
        assertEquals(0, queue.notRaisedCount());
    }

    /**
     * A thread that found the looper asleep and was preempted before it woke it leaves the queue
     * so.
     */
    @Test
    void anUrgentMessageDoesNotRelyOnAnothersWaking() throws Exception {
        Field rest = MessageQueue.class.getDeclaredField("rest");
        rest.setAccessible(true);
        AtomicInteger state = (AtomicInteger) rest.get(queue);
        while (!state.compareAndSet(1, 2)) {
            Thread.sleep(1);
        }
        CountDownLatch handled = new CountDownLatch(1);
        Handler urgent = new Handler(thread.getLooper(), message -> {
            handled.countDown();
            return true;
        });
        assertTrue(urgent.sendEmptyMessage(1));
        assertEquals(2, state.get(), "an ordinary one leaves it to the other");
        becomeRealtime(15);
        assertTrue(urgent.sendEmptyMessage(2));
        RealtimeThread.setPriority(0, 0);
        await(handled);
    }

    @Test
    void timesAreKeptInNanoseconds() throws InterruptedException {
        becomeRealtime(10);
        CountDownLatch gate = block();
        long base = SystemClock.uptimeNanos();
        send(3, base + 300, 10);
        send(1, base + 100, 10);
        send(2, base + 200, 10);
        gate.countDown();
        drain();
        assertEquals(List.of(1, 2, 3), seen);
    }

    @Test
    void aFullQueueRefusesRealTimeMessagesAndTakesOrdinaryOnes() throws InterruptedException {
        becomeRealtime(10);
        CountDownLatch gate = block();
        int sent = 0;
        while (send(0, 0, 10)) {
            sent++;
            assertTrue(sent <= MessageQueue.REALTIME_PENDING_MAX);
        }
        assertEquals(1, queue.refusedCount());
        RealtimeThread.setPriority(0, 0);
        assertTrue(handler.sendEmptyMessage(1));
        gate.countDown();
        drain();
        assertEquals(sent + 1, seen.size());
        assertEquals(1, seen.get(sent), "the ordinary one comes last");
    }

    @Test
    void aStormOfOrdinaryMessagesRefusesNoUrgentOne() throws InterruptedException {
        CountDownLatch gate = block();
        int storm = 10 * MessageQueue.REALTIME_PENDING_MAX;
        for (int count = 0; count < storm; count++) {
            assertTrue(handler.sendEmptyMessage(1));
        }
        becomeRealtime(10);
        assertTrue(send(2, 0, 10));
        RealtimeThread.setPriority(0, 0);
        gate.countDown();
        drain();
        assertEquals(storm + 1, seen.size());
        assertEquals(2, seen.get(0));
    }

    @Test
    void removalFindsMessagesOfEveryPriority() throws InterruptedException {
        becomeRealtime(20);
        CountDownLatch gate = block();
        send(1, 0, 20);
        send(2, 0, 3);
        send(1, SystemClock.uptimeNanos() + TimeUnit.HOURS.toNanos(1), 7);
        handler.removeMessages(1);
        assertFalse(handler.hasMessages(1));
        gate.countDown();
        drain();
        assertEquals(List.of(2), seen);
    }

    @Test
    void aHandlersOwnMessagesComeBackAndAreNeverMore() throws InterruptedException {
        becomeRealtime(12);
        CountDownLatch gate = block();
        RealtimeHandler own = new RealtimeHandler(thread.getLooper(), message -> seen.add(message.what), 3);
        Set<Message> first = Collections.newSetFromMap(new IdentityHashMap<>());
        for (int what = 0; what < 3; what++) {
            Message message = own.obtainPrepared(what);
            first.add(message);
            assertTrue(own.send(message, 12));
        }
        assertNull(own.obtainPrepared(3));
        assertEquals(1, own.refusedCount());
        gate.countDown();
        drain();
        assertEquals(List.of(0, 1, 2), seen);
        for (int count = 0; count < 3; count++) {
            assertTrue(first.contains(own.obtainPrepared(0)), "it is one of the three");
        }
        assertNull(own.obtainPrepared(3));
    }

    @Test
    void aRealTimeLooperDoesNotFallBelowItsOwnPriority() throws InterruptedException {
        becomeRealtime(20);
        RealtimeThread.setPriority(0, 0);
        RealtimeHandlerThread looper = new RealtimeHandlerThread("realtime-looper", 7);
        looper.start();
        Handler ordinary = new Handler(looper.getLooper(), message -> seenAt.add(RealtimeThread.priority()));
        assertTrue(looper.isGranted());
        ordinary.sendEmptyMessage(0);
        awaitSeen(1);
        becomeRealtime(9);
        ordinary.sendEmptyMessage(0);
        RealtimeThread.setPriority(0, 0);
        awaitSeen(2);
        ordinary.sendEmptyMessage(0);
        looper.quitSafely();
        looper.join(10_000);
        assertEquals(List.of(7, 9, 7), seenAt);
    }

    /** One at a time: a looper is raised also in the midst of what it handles. */
    private void awaitSeen(int count) throws InterruptedException {
        for (int millis = 0; seenAt.size() < count && millis < 20_000; millis++) {
            Thread.sleep(1);
        }
        assertEquals(count, seenAt.size());
    }

    @Test
    void sendersOfManyThreadsKeepTheirOrderAndLoseNothing() throws InterruptedException {
        int threads = 8;
        int each = 5_000;
        Thread[] senders = new Thread[threads];
        for (int index = 0; index < threads; index++) {
            int first = index * each;
            senders[index] = new Thread(() -> {
                for (int count = 0; count < each; count++) {
                    assertTrue(handler.sendEmptyMessage(first + count));
                }
            });
            senders[index].start();
        }
        for (Thread sender : senders) {
            sender.join(60_000);
        }
        drain();
        int[] next = new int[threads];
        for (int what : seen) {
            assertEquals(next[what / each]++, what % each);
        }
        assertEquals(threads * each, seen.size());
    }

    @Test
    void aMessageThatWasSentIsNotSentAgain() {
        CountDownLatch gate = block();
        Message message = Message.obtain(handler, 1);
        assertTrue(handler.sendMessage(message));
        assertThrows(IllegalStateException.class, () -> handler.sendMessage(message));
        assertThrows(IllegalStateException.class, message::recycle);
        gate.countDown();
    }

    @Test
    void aDeadLooperIsNotRaised() throws InterruptedException {
        thread.quit();
        thread.join(10_000);
        becomeRealtime(10);
        assertFalse(handler.sendEmptyMessage(1));
        RealtimeThread.setPriority(0, 0);
        assertEquals(0, queue.notRaisedCount());
    }

    private boolean send(int what, long whenNanos, int priority) {
        long when = whenNanos == 0 ? SystemClock.uptimeNanos() : whenNanos;
        return queue.enqueueRealtime(Message.obtain(handler, what), when, priority);
    }

    private static void becomeRealtime(int priority) {
        assumeTrue(RealtimeThread.setPriority(0, priority), "real-time priorities need CAP_SYS_NICE; not tested without");
    }

    private CountDownLatch block() {
        CountDownLatch gate = new CountDownLatch(1);
        CountDownLatch reached = new CountDownLatch(1);
        handler.post(() -> {
            reached.countDown();
            await(gate);
        });
        await(reached);
        return gate;
    }

    private void drain() {
        RealtimeThread.setPriority(0, 0);
        CountDownLatch done = new CountDownLatch(1);
        handler.post(done::countDown);
        await(done);
    }

    private static void await(CountDownLatch latch) {
        try {
            assertTrue(latch.await(20, TimeUnit.SECONDS));
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }
}
