// SPDX-License-Identifier: Apache-2.0
package takt.bench;

import android.os.Handler;
import android.os.HandlerThread;
import android.os.Message;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import takt.framework.Natives;
import takt.framework.RealtimeThread;

/**
 * RTDroid's experiment: one real-time thread sends a message each period, many ordinary threads send ten messages each ten
 * milliseconds to the same handler. Prints how late the real-time messages were handled, and how many messages were.
 *
 * <p>Arguments: numbers of ordinary threads, as 30,300 (a line each); milliseconds, period in microseconds, priority.
 */
public final class HandlerLoad {
    private static final int URGENT = 1;
    private static final int ORDINARY = 2;
    private static final long BURST_PERIOD_NANOS = TimeUnit.MILLISECONDS.toNanos(10);
    private static final int BURST = 10;
    /** Messages not handled yet at which ordinary senders wait: a queue without a bound would eat the heap. */
    private static final long PENDING_MAX = 100_000;
    /** Messages of each kind before anything is counted: the compilers' work is not the queue's. */
    private static final int WARM_UP = 20_000;
    private static final int WARM_UP_URGENT = 50;

    private final Handler handler;
    private final long[] latencies;
    private final AtomicLong sent = new AtomicLong();
    private volatile long handled;
    private volatile int latencyCount;
    private volatile boolean isOver;

    private HandlerLoad(HandlerThread looper, int samples) {
        latencies = new long[samples];
        handler = new Handler(looper.getLooper(), this::handle);
    }

    /** Runs once for each number of threads. */
    public static void main(String[] args) throws InterruptedException {
        long nanos = TimeUnit.MILLISECONDS.toNanos(Long.parseLong(args[1]));
        long periodNanos = TimeUnit.MICROSECONDS.toNanos(Long.parseLong(args[2]));
        int priority = Integer.parseInt(args[3]);
        Natives.load();
        HandlerThread looper = new HandlerThread("handler-load");
        looper.start();
        new HandlerLoad(looper, WARM_UP_URGENT).warmUp(periodNanos, priority);
        for (String threads : args[0].split(",")) {
            HandlerLoad load = new HandlerLoad(looper, (int) (nanos / periodNanos));
            System.out.println(load.run(Integer.parseInt(threads), periodNanos, priority));
        }
        System.exit(0);
    }

    private String run(int threads, long periodNanos, int priority) throws InterruptedException {
        Thread[] senders = new Thread[threads];
        for (int index = 0; index < threads; index++) {
            senders[index] = new Thread(this::sendBursts, "ordinary-" + index);
            senders[index].setDaemon(true);
            senders[index].start();
        }
        long handledBefore = handled;
        long sentBefore = sent.get();
        long start = System.nanoTime();
        boolean isRealtime = sendUrgent(periodNanos, priority);
        long end = System.nanoTime();
        double elapsed = (end - start) / 1e9;
        long handledThen = handled;
        long sentThen = sent.get();
        isOver = true;
        for (Thread sender : senders) {
            sender.join();
        }
        awaitAll();
        Arrays.sort(latencies);
        return String.format(
                "threads=%d samples=%d p50_ns=%d p99_ns=%d p999_ns=%d max_ns=%d throughput=%.0f offered=%.0f pending=%d"
                        + " realtime=%b start_ns=%d end_ns=%d",
                threads, latencies.length, at(0.5), at(0.99), at(0.999), latencies[latencies.length - 1],
                (handledThen - handledBefore) / elapsed, (sentThen - sentBefore) / elapsed, sentThen - handledThen,
                isRealtime, start, end);
    }

    private boolean handle(Message message) {
        if (message.what == URGENT) {
            latencies[latencyCount] = System.nanoTime() - (((long) message.arg1 << 32) | (message.arg2 & 0xffff_ffffL));
            latencyCount++;
        }
        handled++;
        return true;
    }

    private void warmUp(long periodNanos, int priority) throws InterruptedException {
        for (int count = 0; count < WARM_UP; count++) {
            send();
        }
        sendUrgent(periodNanos, priority);
        awaitAll();
    }

    /** Those that still wait behind others. */
    private void awaitAll() throws InterruptedException {
        while (handled < sent.get()) {
            Thread.sleep(1);
        }
    }

    private void send() {
        sent.incrementAndGet();
        handler.sendMessage(Message.obtain(handler, ORDINARY));
    }

    private void sendBursts() {
        long next = System.nanoTime();
        while (!isOver) {
            for (int count = 0; count < BURST && sent.get() - handled < PENDING_MAX; count++) {
                send();
            }
            // Who is late begins anew: made up for, bursts would leave out every pause, and the threads would only compete.
            next = Math.max(next, System.nanoTime() - BURST_PERIOD_NANOS / 2) + BURST_PERIOD_NANOS;
            LockSupport.parkNanos(next - System.nanoTime());
        }
    }

    /** From a thread of its own; says whether that has the priority. */
    private boolean sendUrgent(long periodNanos, int priority) throws InterruptedException {
        boolean[] isRealtime = new boolean[1];
        Thread urgent = new Thread(() -> isRealtime[0] = sendPeriodically(periodNanos, priority), "urgent");
        urgent.start();
        urgent.join();
        return isRealtime[0];
    }

    private boolean sendPeriodically(long periodNanos, int priority) {
        boolean isRealtime = RealtimeThread.setPriority(0, priority);
        // On the beat of the clock: what is measured beside it can keep out of the way.
        long next = System.nanoTime() / periodNanos * periodNanos;
        for (int count = 0; count < latencies.length; count++) {
            next += periodNanos;
            sleepUntil(next);
            Message message = Message.obtain(handler, URGENT);
            sent.incrementAndGet();
            long now = System.nanoTime();
            message.arg1 = (int) (now >>> 32);
            message.arg2 = (int) now;
            handler.sendMessage(message);
        }
        // The last message as well finds a sender that sleeps, not one that ends (50 to 70 µs) at the priority of the looper.
        sleepUntil(next + periodNanos);
        return isRealtime;
    }

    private static void sleepUntil(long nanos) {
        for (long left = nanos - System.nanoTime(); left > 0; left = nanos - System.nanoTime()) {
            LockSupport.parkNanos(left);
        }
    }

    private long at(double quantile) {
        return latencies[(int) Math.min(latencies.length - 1, Math.ceil(quantile * latencies.length) - 1)];
    }
}
