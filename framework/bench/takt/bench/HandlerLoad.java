// SPDX-License-Identifier: Apache-2.0
package takt.bench;

import android.os.Handler;
import android.os.HandlerThread;
import android.os.Message;
import java.io.IOException;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import takt.framework.Natives;
import takt.framework.RealtimeThread;

/**
 * RTDroid's experiment: one real-time thread sends a message each period, many ordinary threads
 * send ten messages each ten milliseconds to the same handler. Prints how late the real-time
 * messages were handled, and how many messages were.
 *
 * <p>Arguments: number of ordinary threads; milliseconds of a window, period in microseconds,
 * priority; and, if there are to be more windows than one, {@code on-command}: it then says
 * "ready", and each line of its standard input is a window, after which it says when that was.
 * Nothing is sent between windows, so that several of these can take turns.
 */
public final class HandlerLoad {
    private static final int URGENT = 1;
    private static final int ORDINARY = 2;
    private static final long BURST_PERIOD_NANOS = TimeUnit.MILLISECONDS.toNanos(10);
    private static final int BURST = 10;
    /**
     * Messages not handled yet at which ordinary senders wait: a queue without a bound would eat
     * the heap.
     */
    private static final long PENDING_MAX = 100_000;
    /** Messages of each kind before anything is counted: the compilers' work is not the queue's. */
    private static final int WARM_UP = 20_000;
    private static final int WARM_UP_URGENT = 50;
    /**
     * What the ordinary threads send for before a window begins: that they wake all at once is not
     * the load that is meant.
     */
    private static final long SETTLING_MILLIS = 10 * TimeUnit.NANOSECONDS.toMillis(BURST_PERIOD_NANOS);

    private final Handler handler;
    private final int threads;
    private final int samples;
    private final long periodNanos;
    private final AtomicLong sent = new AtomicLong();
    private long[] latencies = new long[0];
    private volatile long handled;
    private volatile int latencyCount;
    /** Written under this object's lock. */
    private volatile boolean isSending;

    // What all windows have together.
    private double seconds;
    private long handledInside;
    private long sentInside;
    private long pendingMost;

    private HandlerLoad(HandlerThread looper, int threads, int samples, long periodNanos) {
        this.threads = threads;
        this.samples = samples;
        this.periodNanos = periodNanos;
        handler = new Handler(looper.getLooper(), this::handle);
    }

    /** See the class. */
    public static void main(String[] args) throws InterruptedException {
        int threads = Integer.parseInt(args[0]);
        long nanos = TimeUnit.MILLISECONDS.toNanos(Long.parseLong(args[1]));
        long periodNanos = TimeUnit.MICROSECONDS.toNanos(Long.parseLong(args[2]));
        int priority = Integer.parseInt(args[3]);
        boolean isOnCommand = args.length > 4 && args[4].equals("on-command");
        Natives.load();
        HandlerThread looper = new HandlerThread("handler-load");
        looper.start();
        HandlerLoad load = new HandlerLoad(looper, threads, (int) (nanos / periodNanos), periodNanos);
        Thread urgent = new Thread(() -> load.run(priority, isOnCommand), "urgent");
        urgent.start();
        urgent.join();
        System.exit(0);
    }

    /** In the thread that sends the urgent messages. */
    private void run(int priority, boolean isOnCommand) {
        // As an ordinary thread: real-time messages have a bound.
        for (int count = 0; count < WARM_UP; count++) {
            send();
        }
        boolean isRealtime = RealtimeThread.setPriority(0, priority);
        latencies = new long[WARM_UP_URGENT];
        sendPeriodically(WARM_UP_URGENT);
        awaitAll();
        latencies = new long[0];
        latencyCount = 0;
        for (int index = 0; index < threads; index++) {
            Thread sender = new Thread(this::sendBursts, "ordinary-" + index);
            sender.setDaemon(true);
            sender.start();
        }
        if (isOnCommand) {
            System.out.println("ready");
            while (isCommanded()) {
                System.out.println(window());
            }
        } else {
            window();
        }
        Arrays.sort(latencies);
        System.out.println(String.format(
                "threads=%d samples=%d p50_ns=%d p99_ns=%d p999_ns=%d max_ns=%d throughput=%.0f offered=%.0f pending=%d realtime=%b",
                threads, latencies.length, at(0.5), at(0.99), at(0.999), at(1), handledInside / seconds, sentInside / seconds,
                pendingMost, isRealtime));
    }

    /** One line of standard input, or its end. */
    private static boolean isCommanded() {
        try {
            for (int read = System.in.read(); read >= 0; read = System.in.read()) {
                if (read == '\n') {
                    return true;
                }
            }
            return false;
        } catch (IOException e) {
            return false;
        }
    }

    /**
     * Sends as many urgent messages as a window has beside what the ordinary threads send; says
     * when.
     */
    private String window() {
        latencies = Arrays.copyOf(latencies, latencies.length + samples);
        sendOrdinary(true);
        sleep(SETTLING_MILLIS);
        long handledBefore = handled;
        long sentBefore = sent.get();
        long start = System.nanoTime();
        sendPeriodically(samples);
        long end = System.nanoTime();
        long handledThen = handled;
        long sentThen = sent.get();
        sendOrdinary(false);
        awaitAll();
        seconds += (end - start) / 1e9;
        handledInside += handledThen - handledBefore;
        sentInside += sentThen - sentBefore;
        pendingMost = Math.max(pendingMost, sentThen - handledThen);
        return "start_ns=" + start + " end_ns=" + end;
    }

    private boolean handle(Message message) {
        if (message.what == URGENT) {
            latencies[latencyCount] = System.nanoTime() - (((long) message.arg1 << 32) | (message.arg2 & 0xffff_ffffL));
            latencyCount++;
        }
        handled++;
        return true;
    }

    /** Waits for those that still wait behind others. */
    private void awaitAll() {
        while (handled < sent.get()) {
            sleep(1);
        }
    }

    private void send() {
        sent.incrementAndGet();
        handler.sendMessage(Message.obtain(handler, ORDINARY));
    }

    private synchronized void sendOrdinary(boolean isSending) {
        this.isSending = isSending;
        notifyAll();
    }

    private synchronized void awaitSending() {
        while (!isSending) {
            try {
                wait();
            } catch (InterruptedException e) {
                throw new AssertionError("nobody interrupts these", e);
            }
        }
    }

    private void sendBursts() {
        while (true) {
            awaitSending();
            long next = System.nanoTime();
            while (isSending) {
                for (int count = 0; count < BURST && sent.get() - handled < PENDING_MAX; count++) {
                    send();
                }
                // Who is late begins anew: made up for, bursts would leave out every pause, and the
                // threads would only compete.
                next = Math.max(next, System.nanoTime() - BURST_PERIOD_NANOS / 2) + BURST_PERIOD_NANOS;
                LockSupport.parkNanos(next - System.nanoTime());
            }
        }
    }

    private void sendPeriodically(int count) {
        // On the beat of the clock: what is measured beside it can keep out of the way.
        long next = System.nanoTime() / periodNanos * periodNanos;
        for (int index = 0; index < count; index++) {
            next += periodNanos;
            sleepUntil(next);
            Message message = Message.obtain(handler, URGENT);
            sent.incrementAndGet();
            long now = System.nanoTime();
            message.arg1 = (int) (now >>> 32);
            message.arg2 = (int) now;
            handler.sendMessage(message);
        }
        // The last message as well finds a sender that sleeps, not one that goes on at the priority
        // of the looper.
        sleepUntil(next + periodNanos);
    }

    private static void sleep(long millis) {
        sleepUntil(System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis));
    }

    private static void sleepUntil(long nanos) {
        for (long left = nanos - System.nanoTime(); left > 0; left = nanos - System.nanoTime()) {
            LockSupport.parkNanos(left);
        }
    }

    private long at(double quantile) {
        if (latencies.length == 0) {
            return 0;
        }
        return latencies[(int) Math.min(latencies.length - 1, Math.ceil(quantile * latencies.length) - 1)];
    }
}
