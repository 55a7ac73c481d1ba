// SPDX-License-Identifier: Apache-2.0
package takt.framework;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import android.os.Handler;
import android.os.HandlerThread;
import android.os.Message;
import android.os.MessageQueue;
import android.os.SystemClock;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.function.Consumer;
import java.util.function.IntConsumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * Senders that never pause, so that they sort in themselves: nothing is lost, starved or out of
 * order.
 */
final class QueueStormTest {
    private static final int SENDERS = 4;
    private static final int EACH = 100_000;
    /**
     * A fair share on one processor were a fifth of the time; a starved looper handles some ten.
     */
    private static final int SHARE = 200;
    /** Ends of storms: the last who sorts in wakes a looper that waits for it. */
    private static final int ENDS = 60;
    /** Behind so many a sender sorts in. */
    private static final int BURST = 6_000;
    private static final int PAIRS = 300;
    /** Values of {@code what} that no sender of a storm uses. */
    private static final int FRONT = -1;
    private static final int REMOVED = -2;
    private static final int URGENT = -3;
    private static final int BEHIND_URGENT = -4;

    private final List<Integer> seen = new ArrayList<>();
    private HandlerThread thread;
    private MessageQueue queue;
    private Handler handler;
    /** What the looper does with each message of a storm. */
    private Consumer<Message> work = message -> {};
    /** The looper's first complaint. */
    private volatile String complaint;
    private volatile int handled;
    // The looper's own.
    private boolean isFrontNext;
    private int urgentSeen;

    @BeforeEach
    void start() {
        Natives.load();
        thread = new HandlerThread("queue-storm-test");
        thread.start();
        queue = thread.getLooper().getQueue();
        handler = new Handler(thread.getLooper(), message -> {
            seen.add(message.what);
            work.accept(message);
            handled = seen.size();
            return true;
        });
    }

    @AfterEach
    void end() throws InterruptedException {
        thread.quit();
        thread.join(10_000);
    }

    @Test
    void sendersThatNeverPauseStarveNoLooper() throws InterruptedException {
        storm(handler::sendEmptyMessage);
        int[] next = new int[SENDERS];
        for (int what : seen) {
            assertEquals(next[what / EACH]++, what % EACH);
        }
    }

    @Test
    void norDoSearchesAmongWhatTheySend() throws InterruptedException {
        work = message -> handler.removeMessages(2);
        // Another than 1, so that the chain that is searched is short.
        storm(what -> handler.sendEmptyMessage(1));
    }

    @Test
    void norDoSendersForTheFrontOfTheQueue() throws InterruptedException {
        storm(what -> handler.sendMessageAtFrontOfQueue(Message.obtain(handler, what)));
    }

    /**
     * What the looper sends itself in a storm has come before its next look: it is not handed what
     * was next until then.
     */
    @Test
    void whatIsSentToTheFrontIsNextAndWhatIsRemovedIsGone() throws InterruptedException {
        work = message -> {
            if (message.what == REMOVED) {
                complain("a message came that had been removed");
            }
            if (isFrontNext && message.what != FRONT) {
                complain(message.what + " came before what was sent to the front");
            }
            isFrontNext = message.what % 3 == 1;
            if (isFrontNext) {
                handler.sendEmptyMessage(REMOVED);
                handler.removeMessages(REMOVED);
                handler.sendMessageAtFrontOfQueue(Message.obtain(handler, FRONT));
            }
        };
        runStorm(handler::sendEmptyMessage);
        assertNull(complaint);
        assertTrue(seen.contains(FRONT));
    }

    /** What had been sent when the looper removed everything does not come. */
    @Test
    void whatWasSentBeforeARemovalIsRemoved() throws InterruptedException {
        AtomicIntegerArray sent = new AtomicIntegerArray(SENDERS);
        int[] removed = new int[SENDERS];
        int[] seenThen = {0};
        work = message -> {
            if (message.what % EACH < removed[message.what / EACH]) {
                complain(message.what + " came and had been removed");
            }
            int left = seenThen[0] - seen.size();
            for (int sender = 0; sender < SENDERS; sender++) {
                left += sent.get(sender) - removed[sender];
            }
            if (left > BURST) {
                seenThen[0] = seen.size();
                for (int sender = 0; sender < SENDERS; sender++) {
                    removed[sender] = sent.get(sender);
                }
                handler.removeCallbacksAndMessages(null);
            }
        };
        for (Thread sender : start(SENDERS, what -> {
            handler.sendEmptyMessage(what);
            sent.set(what / EACH, what % EACH + 1);
        }, EACH)) {
            sender.join(60_000);
        }
        drain();
        assertNull(complaint);
    }

    /**
     * One thread sends something urgent, then something ordinary to the front: they come in that
     * order.
     */
    @Test
    void nothingOvertakesWhatIsUrgent() throws InterruptedException {
        work = message -> {
            if (message.what == URGENT) {
                urgentSeen++;
            } else if (message.what == BEHIND_URGENT && urgentSeen <= message.arg1) {
                complain("the ordinary one of pair " + message.arg1 + " came first");
            }
        };
        Thread urgent = new Thread(() -> {
            boolean isRealtime = RealtimeThread.setPriority(0, 10);
            for (int pair = 0; isRealtime && pair < PAIRS; pair++) {
                queue.enqueueRealtime(Message.obtain(handler, URGENT), SystemClock.uptimeNanos(), 10);
                queue.enqueueRealtime(Message.obtain(handler, BEHIND_URGENT, pair, 0), 0, 0);
                sleep(1);
            }
        });
        urgent.start();
        runStorm(handler::sendEmptyMessage);
        urgent.join(60_000);
        drain();
        assertNull(complaint);
        assumeTrue(urgentSeen > 0, "real-time priorities need CAP_SYS_NICE; not tested without");
        assertEquals(PAIRS, urgentSeen);
    }

    @Test
    void aLooperThatWaitsForWhoSortsInIsWoken() throws InterruptedException {
        for (int end = 0; end < ENDS; end++) {
            Thread[] senders = start(SENDERS, handler::sendEmptyMessage, BURST);
            for (Thread sender : senders) {
                sender.join(60_000);
            }
            int sent = (end + 1) * SENDERS * BURST;
            long untilNanos = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
            // Nothing is sent that would wake it.
            while (handled < sent && System.nanoTime() < untilNanos) {
                sleep(1);
            }
            assertEquals(sent, handled, "after storm " + end);
        }
    }

    /**
     * As many messages as senders can send without a pause; while they do, the looper handles its
     * share.
     */
    private void storm(IntConsumer send) throws InterruptedException {
        int handledMeanwhile = runStorm(send);
        int sent = SENDERS * EACH;
        assertEquals(sent, seen.size());
        assertTrue(handledMeanwhile >= sent / SHARE, handledMeanwhile + " of " + sent + " handled meanwhile");
    }

    private int runStorm(IntConsumer send) throws InterruptedException {
        for (Thread sender : start(SENDERS, send, EACH)) {
            sender.join(60_000);
        }
        int handledMeanwhile = handled;
        drain();
        return handledMeanwhile;
    }

    private static Thread[] start(int count, IntConsumer send, int each) {
        Thread[] senders = new Thread[count];
        for (int index = 0; index < count; index++) {
            int first = index * each;
            senders[index] = new Thread(() -> {
                for (int sent = 0; sent < each; sent++) {
                    send.accept(first + sent);
                }
            });
            senders[index].start();
        }
        return senders;
    }

    private void complain(String what) {
        if (complaint == null) {
            complaint = what;
        }
    }

    private void drain() throws InterruptedException {
        CountDownLatch done = new CountDownLatch(1);
        // Of a handler of its own: what another is sent may be removed.
        new Handler(thread.getLooper()).post(done::countDown);
        assertTrue(done.await(20, TimeUnit.SECONDS));
    }

    private static void sleep(long millis) {
        try {
            Thread.sleep(millis);
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }
}
