// SPDX-License-Identifier: Apache-2.0
package takt.bench;

import android.content.BroadcastReceiver;
import android.content.ContentResolver;
import android.content.Context;
import android.content.ContextWrapper;
import android.content.Intent;
import android.content.IntentFilter;
import android.os.HandlerThread;
import android.os.Looper;
import android.support.v4.content.LocalBroadcastManager;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import takt.framework.Natives;
import takt.framework.RealtimeThread;

/**
 * The RTAndroid thesis's last experiment on intents (7.3.5): one real-time thread and k ordinary
 * ones send local broadcasts to one receiver, by the manager that the class path has first. Prints
 * how long the real-time ones took, from before the call to the receiver's code.
 *
 * <p>Arguments: {@code async} or {@code sync}; real-time broadcasts; their period in microseconds;
 * the sender's priority; and numbers of ordinary threads, a window for each.
 */
public final class LocalIntentsLoad {
    private static final String URGENT = "takt.bench.URGENT";
    private static final String ORDINARY = "takt.bench.ORDINARY";
    private static final String INDEX = "index";
    /** The thesis's: of each ordinary thread, and all at once. */
    private static final long ORDINARY_PERIOD_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
    /** Broadcasts of each kind before anything is counted. */
    private static final int WARM_UP = 200;
    /** For what is on its way when the last one was sent. */
    private static final long SETTLE_MILLIS = 200;

    private final LocalBroadcastManager manager;
    private final boolean isSync;
    private final long periodNanos;
    private final AtomicLong ordinary = new AtomicLong();
    private long[] sentNanos = new long[0];
    /** -1: not received. */
    private long[] tookNanos = new long[0];
    /** Of the threads that send now; a later window's goes on without them. */
    private volatile int window;

    private LocalIntentsLoad(Context context, boolean isSync, long periodNanos) {
        manager = LocalBroadcastManager.getInstance(context);
        this.isSync = isSync;
        this.periodNanos = periodNanos;
        IntentFilter filter = new IntentFilter(URGENT);
        filter.addAction(ORDINARY);
        manager.registerReceiver(new Receiver(), filter);
    }

    /** Both kinds come here. */
    private final class Receiver extends BroadcastReceiver {
        @Override
        public void onReceive(Context context, Intent intent) {
            if (intent.getAction().equals(URGENT)) {
                int index = intent.getIntExtra(INDEX, 0);
                tookNanos[index] = System.nanoTime() - sentNanos[index];
            } else {
                ordinary.incrementAndGet();
            }
        }
    }

    /** What a manager wants of an application. */
    private static final class Application extends ContextWrapper {
        private final Looper looper;

        Application(Looper looper) {
            super(null);
            this.looper = looper;
        }

        @Override
        public Context getApplicationContext() {
            return this;
        }

        @Override
        public Looper getMainLooper() {
            return looper;
        }

        @Override
        public ContentResolver getContentResolver() {
            return null;
        }
    }

    /** See the class. */
    public static void main(String[] args) throws InterruptedException {
        boolean isSync = args[0].equals("sync");
        int count = Integer.parseInt(args[1]);
        long periodNanos = TimeUnit.MICROSECONDS.toNanos(Long.parseLong(args[2]));
        int priority = Integer.parseInt(args[3]);
        int[] threads = Arrays.stream(args, 4, args.length).mapToInt(Integer::parseInt).toArray();
        Natives.load();
        HandlerThread looper = new HandlerThread("main-looper");
        looper.setDaemon(true);
        looper.start();
        LocalIntentsLoad load = new LocalIntentsLoad(new Application(looper.getLooper()), isSync, periodNanos);
        Thread urgent = new Thread(() -> load.run(count, priority, threads), "urgent");
        urgent.start();
        urgent.join();
        System.exit(0);
    }

    /** In the thread that sends the urgent ones. */
    private void run(int count, int priority, int[] threads) {
        for (int index = 0; index < WARM_UP; index++) {
            send(new Intent(ORDINARY));
        }
        boolean isRealtime = RealtimeThread.setPriority(0, priority);
        sendPeriodically(WARM_UP);
        for (int number : threads) {
            begin(number);
            long before = ordinary.get();
            sendPeriodically(count);
            long beside = ordinary.get() - before;
            window++;
            sleepUntil(System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(SETTLE_MILLIS));
            long[] took = Arrays.stream(tookNanos).filter(it -> it >= 0).sorted().toArray();
            System.out.println(String.format(
                    "senders=%d samples=%d lost=%d p50_ns=%d p99_ns=%d max_ns=%d ordinary=%d realtime=%b",
                    number, count, count - took.length, at(took, 0.5), at(took, 0.99), at(took, 1), beside, isRealtime));
        }
    }

    private void begin(int threads) {
        int own = window;
        // A multiple of the period: all send at once.
        long first = System.nanoTime() / ORDINARY_PERIOD_NANOS * ORDINARY_PERIOD_NANOS + ORDINARY_PERIOD_NANOS;
        for (int index = 0; index < threads; index++) {
            Thread sender = new Thread(() -> sendOrdinary(own, first), "ordinary-" + index);
            sender.setDaemon(true);
            sender.start();
        }
        sleepUntil(first);
    }

    private void sendOrdinary(int own, long first) {
        RealtimeThread.setPriority(0, 0);
        for (long next = first; window == own; next += ORDINARY_PERIOD_NANOS) {
            sleepUntil(next);
            send(new Intent(ORDINARY));
        }
    }

    private void send(Intent intent) {
        if (isSync) {
            manager.sendBroadcastSync(intent);
        } else {
            manager.sendBroadcast(intent);
        }
    }

    private void sendPeriodically(int count) {
        sentNanos = new long[count];
        tookNanos = new long[count];
        Arrays.fill(tookNanos, -1);
        long next = System.nanoTime();
        for (int index = 0; index < count; index++) {
            next += periodNanos;
            sleepUntil(next);
            Intent intent = new Intent(URGENT).putExtra(INDEX, index);
            sentNanos[index] = System.nanoTime();
            send(intent);
        }
        sleepUntil(next + periodNanos);
    }

    private static void sleepUntil(long nanos) {
        for (long left = nanos - System.nanoTime(); left > 0; left = nanos - System.nanoTime()) {
            LockSupport.parkNanos(left);
        }
    }

    private static long at(long[] sorted, double quantile) {
        if (sorted.length == 0) {
            return 0;
        }
        return sorted[(int) Math.min(sorted.length - 1, Math.ceil(quantile * sorted.length) - 1)];
    }
}
