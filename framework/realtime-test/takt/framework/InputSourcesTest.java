// SPDX-License-Identifier: Apache-2.0
package takt.framework;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import android.os.Handler;
import android.os.HandlerThread;
import android.os.MessageQueue;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A looper that takes input beside its messages. */
final class InputSourcesTest {
    private static final long BOUND_SECONDS = 20;
    private static final int LOOKS = 5;

    private HandlerThread thread;
    private MessageQueue queue;
    private Handler handler;

    @BeforeEach
    void start() {
        Natives.load();
        thread = new HandlerThread("input-sources-test");
        thread.start();
        queue = thread.getLooper().getQueue();
        handler = new Handler(thread.getLooper());
    }

    @AfterEach
    void end() throws InterruptedException {
        thread.quit();
        thread.join(10_000);
    }

    @Test
    void aSourceIsAskedUntilItHasNothingAndNoMessageStarves() throws InterruptedException {
        List<String> seen = new ArrayList<>();
        CountDownLatch done = new CountDownLatch(1);
        InputSource source = new InputSource() {
            private int left = LOOKS;

            @Override
            public int take() {
                if (left == 0) {
                    return NOTHING;
                }
                if (left == LOOKS) {
                    handler.post(() -> seen.add("message"));
                }
                seen.add("input");
                left--;
                if (left == 0) {
                    done.countDown();
                }
                return left == 0 ? SOME : MORE;
            }
        };
        queue.addInputSource(source);
        assertTrue(done.await(BOUND_SECONDS, TimeUnit.SECONDS), "no look but the first");
        CountDownLatch after = new CountDownLatch(1);
        handler.post(after::countDown);
        assertTrue(after.await(BOUND_SECONDS, TimeUnit.SECONDS));
        assertEquals(List.of("input", "message", "input", "input", "input", "input"), seen);
    }

    @Test
    void aSourceThatIsRemovedIsAskedNoLonger() throws InterruptedException {
        List<Integer> asked = new ArrayList<>();
        InputSource source = () -> {
            asked.add(asked.size());
            return InputSource.NOTHING;
        };
        queue.addInputSource(source);
        CountDownLatch removed = new CountDownLatch(1);
        handler.post(() -> {
            queue.removeInputSource(source);
            asked.clear();
            removed.countDown();
        });
        assertTrue(removed.await(BOUND_SECONDS, TimeUnit.SECONDS));
        CountDownLatch after = new CountDownLatch(1);
        handler.post(after::countDown);
        assertTrue(after.await(BOUND_SECONDS, TimeUnit.SECONDS));
        assertEquals(List.of(), asked);
    }
}
