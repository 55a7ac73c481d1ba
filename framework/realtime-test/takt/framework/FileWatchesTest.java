// SPDX-License-Identifier: Apache-2.0
package takt.framework;

import static android.os.MessageQueue.OnFileDescriptorEventListener.EVENT_ERROR;
import static android.os.MessageQueue.OnFileDescriptorEventListener.EVENT_INPUT;
import static android.os.MessageQueue.OnFileDescriptorEventListener.EVENT_OUTPUT;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import android.os.Handler;
import android.os.HandlerThread;
import android.os.MessageQueue;
import android.system.ErrnoException;
import android.system.Os;
import java.io.FileDescriptor;
import java.io.InterruptedIOException;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A looper that listens to files beside its messages. */
final class FileWatchesTest {
    private static final long BOUND_SECONDS = 20;

    private final BlockingQueue<Integer> seen = new LinkedBlockingQueue<>();
    private HandlerThread thread;
    private MessageQueue queue;
    private FileDescriptor reader;
    private FileDescriptor writer;

    @BeforeEach
    void start() throws ErrnoException {
        Natives.load();
        thread = new HandlerThread("file-watches-test");
        thread.start();
        queue = thread.getLooper().getQueue();
        FileDescriptor[] pipe = Os.pipe2(0);
        reader = pipe[0];
        writer = pipe[1];
    }

    @AfterEach
    void end() throws InterruptedException {
        thread.quit();
        thread.join(10_000);
    }

    private void write() throws ErrnoException, InterruptedIOException {
        Os.write(writer, new byte[] {1}, 0, 1);
    }

    private int next() throws InterruptedException {
        Integer events = seen.poll(BOUND_SECONDS, TimeUnit.SECONDS);
        return events == null ? -1 : events;
    }

    /** Reads what there is, says what came, and wants {@code wanted} from then on. */
    private int take(FileDescriptor file, int events, int wanted) {
        assertTrue(thread.getLooper().isCurrentThread());
        try {
            if ((events & EVENT_INPUT) != 0) {
                Os.read(file, new byte[1], 0, 1);
            }
        } catch (ErrnoException | InterruptedIOException e) {
            throw new IllegalStateException(e);
        }
        seen.add(events);
        return wanted;
    }

    /** Whatever was under way on the looper is over. */
    private void settle() throws InterruptedException {
        CountDownLatch latch = new CountDownLatch(1);
        new Handler(thread.getLooper()).post(latch::countDown);
        assertTrue(latch.await(BOUND_SECONDS, TimeUnit.SECONDS));
    }

    @Test
    void aFileWakesTheLooperEachTime() throws Exception {
        queue.addOnFileDescriptorEventListener(reader, EVENT_INPUT, (file, events) -> take(file, events, EVENT_INPUT));
        for (int round = 0; round < 100; round++) {
            write();
            assertEquals(EVENT_INPUT, next());
        }
        settle();
        assertNull(seen.poll());
    }

    @Test
    void messagesAndTimesGoOnBesideIt() throws Exception {
        queue.addOnFileDescriptorEventListener(reader, EVENT_INPUT, (file, events) -> take(file, events, EVENT_INPUT));
        new Handler(thread.getLooper()).postDelayed(() -> seen.add(7), 20);
        assertEquals(7, next());
        write();
        assertEquals(EVENT_INPUT, next());
    }

    @Test
    void noEventsWantedEndsIt() throws Exception {
        queue.addOnFileDescriptorEventListener(reader, EVENT_INPUT, (file, events) -> take(file, events, 0));
        write();
        assertEquals(EVENT_INPUT, next());
        write();
        settle();
        settle();
        assertNull(seen.poll());
    }

    @Test
    void aRemovedOneIsNotCalled() throws Exception {
        queue.addOnFileDescriptorEventListener(reader, EVENT_INPUT, (file, events) -> take(file, events, EVENT_INPUT));
        queue.removeOnFileDescriptorEventListener(reader);
        write();
        settle();
        assertNull(seen.poll());
    }

    @Test
    void theOtherEndsCloseIsAnError() throws Exception {
        queue.addOnFileDescriptorEventListener(reader, EVENT_INPUT, (file, events) -> take(file, events & EVENT_ERROR, 0));
        Os.close(writer);
        assertEquals(EVENT_ERROR, next());
    }

    @Test
    void roomToWriteIsAnEvent() throws Exception {
        queue.addOnFileDescriptorEventListener(writer, EVENT_OUTPUT, (file, events) -> take(file, events, 0));
        assertEquals(EVENT_OUTPUT, next());
    }

    @Test
    void aClosedFileIsForgotten() throws Exception {
        queue.addOnFileDescriptorEventListener(reader, EVENT_INPUT, (file, events) -> take(file, events, EVENT_INPUT));
        Os.close(reader);
        settle();
        settle();
        assertNull(seen.poll());
    }

    @Test
    void nothingIsNoFile() {
        assertThrows(IllegalArgumentException.class, () -> queue.addOnFileDescriptorEventListener(null, EVENT_INPUT,
                (file, events) -> 0));
        assertThrows(IllegalArgumentException.class, () -> queue.addOnFileDescriptorEventListener(reader, EVENT_INPUT, null));
    }
}
