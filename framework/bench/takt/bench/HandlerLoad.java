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
 * <p>Arguments: ordinary threads, seconds, period in microseconds, priority.
 */
public final class HandlerLoad {
    private static final int URGENT = 1;
    private static final int ORDINARY = 2;
    private static final long BURST_PERIOD_NANOS = TimeUnit.MILLISECONDS.toNanos(10);
    private static final int BURST = 10;
    /** Messages not handled yet at which ordinary senders wait: a queue without a bound would eat the heap. */
    private static final long PENDING_MAX = 100_000;

    private static final AtomicLong sent = new AtomicLong();
    private static volatile long handled;
    private static volatile boolean isOver;

    private static long[] latencies;
    private static volatile int latencyCount;

    private HandlerLoad() {}

    /** Runs once. */
    public static void main(String[] args) throws InterruptedException {
        int threads = Integer.parseInt(args[0]);
        long seconds = Long.parseLong(args[1]);
        long periodNanos = TimeUnit.MICROSECONDS.toNanos(Long.parseLong(args[2]));
        int priority = Integer.parseInt(args[3]);
        Natives.load();
        HandlerThread looper = new HandlerThread("handler-load");
        looper.start();
        Handler handler = new Handler(looper.getLooper(), HandlerLoad::handle);
        warmUp(handler);
        int samples = (int) (TimeUnit.SECONDS.toNanos(seconds) / periodNanos);
        latencies = new long[samples];
        Thread[] senders = new Thread[threads];
        for (int index = 0; index < threads; index++) {
            senders[index] = new Thread(() -> sendBursts(handler), "ordinary-" + index);
            senders[index].setDaemon(true);
            senders[index].start();
        }
        long before = handled;
        long start = System.nanoTime();
        boolean[] isRealtime = new boolean[1];
        Thread urgent = new Thread(() -> isRealtime[0] = sendPeriodically(handler, samples, periodNanos, priority));
        urgent.start();
        urgent.join();
        double elapsed = (System.nanoTime() - start) / 1e9;
        double throughput = (handled - before) / elapsed;
        long pending = sent.get() - handled;
        isOver = true;
        while (latencyCount < samples) {
            Thread.sleep(10); // those that still wait behind others
        }
        Arrays.sort(latencies);
        System.out.printf(
                "samples=%d p50_ns=%d p99_ns=%d p999_ns=%d max_ns=%d throughput=%.0f pending=%d realtime=%b%n",
                samples, at(0.5), at(0.99), at(0.999), latencies[samples - 1], throughput, pending, isRealtime[0]);
        System.exit(0);
    }

    private static boolean handle(Message message) {
        if (message.what == URGENT) {
            latencies[latencyCount] = System.nanoTime() - (((long) message.arg1 << 32) | (message.arg2 & 0xffff_ffffL));
            latencyCount++;
        }
        handled++;
        return true;
    }

    /** The compilers' work is not the queue's. */
    private static void warmUp(Handler handler) throws InterruptedException {
        for (int count = 0; count < 50_000; count++) {
            sent.incrementAndGet();
            handler.sendMessage(Message.obtain(handler, ORDINARY));
        }
        while (handled < 50_000) {
            Thread.sleep(1);
        }
    }

    private static void sendBursts(Handler handler) {
        long next = System.nanoTime();
        while (!isOver) {
            for (int count = 0; count < BURST && sent.get() - handled < PENDING_MAX; count++) {
                sent.incrementAndGet();
                handler.sendMessage(Message.obtain(handler, ORDINARY));
            }
            next += BURST_PERIOD_NANOS;
            LockSupport.parkNanos(next - System.nanoTime());
        }
    }

    private static boolean sendPeriodically(Handler handler, int samples, long periodNanos, int priority) {
        boolean isRealtime = RealtimeThread.setPriority(0, priority);
        long next = System.nanoTime();
        for (int count = 0; count < samples; count++) {
            next += periodNanos;
            while (System.nanoTime() < next) {
                LockSupport.parkNanos(next - System.nanoTime());
            }
            Message message = Message.obtain(handler, URGENT);
            sent.incrementAndGet();
            long now = System.nanoTime();
            message.arg1 = (int) (now >>> 32);
            message.arg2 = (int) now;
            handler.sendMessage(message);
        }
        return isRealtime;
    }

    private static long at(double quantile) {
        return latencies[(int) Math.min(latencies.length - 1, Math.ceil(quantile * latencies.length) - 1)];
    }
}
