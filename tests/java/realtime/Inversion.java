// SPDX-License-Identifier: Apache-2.0
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.ReentrantLock;
import javax.realtime.AbsoluteTime;
import javax.realtime.Clock;
import javax.realtime.PeriodicParameters;
import javax.realtime.PriorityParameters;
import javax.realtime.RealtimeThread;
import javax.realtime.RelativeTime;

/**
 * An ordinary thread holds a lock, a hog at FIFO 50 keeps its processor, a thread at FIFO 80 wants
 * the lock: it must have it while the hog still runs. For a monitor, for a ReentrantLock, for one
 * that an ordinary thread waits for before, and through an owner that waits for another lock. For
 * one processor: start it with {@code taskset}.
 */
public final class Inversion {
    /**
     * What the holder does with the lock once somebody waits for it, in steps of about a
     * nanosecond.
     */
    private static long steps = 100_000_000;
    /** Until hog and urgent thread are released: by then both must have been started. */
    private static int startMillis = 500;
    private static final long HOG_NANOS_MAX = 1_500_000_000L;

    private static volatile boolean isHogging;
    private static volatile boolean mayEnd;
    private static volatile boolean isWanted;
    private static volatile boolean wasHogged;
    private static volatile int holderPriority;
    private static volatile long waitedNanos;
    private static volatile long sectionNanos;
    private static volatile long sink;

    private interface Section {
        void run(Runnable body);
    }

    /** Arguments: steps, milliseconds until the release. */
    public static void main(String[] args) throws Exception {
        if (args.length > 0) {
            steps = Long.parseLong(args[0]);
            startMillis = Integer.parseInt(args[1]);
        }
        Object monitor = new Object();
        Section synchronizedSection = body -> {
            synchronized (monitor) {
                body.run();
            }
        };
        ReentrantLock lock = new ReentrantLock();
        Section locked = locked(lock);
        ReentrantLock inner = new ReentrantLock();
        Section both = body -> locked.run(() -> locked(inner).run(body));
        for (int round = 0; round < 2; round++) {
            // The first round compiles what all need.
            boolean isTold = round > 0;
            check(isTold, "monitor", synchronizedSection, null, synchronizedSection);
            check(isTold, "lock", locked, null, locked);
            check(isTold, "queue", locked, locked, locked);
            check(isTold, "chain", locked(inner), both, locked);
        }
    }

    private static Section locked(ReentrantLock lock) {
        return body -> {
            lock.lock();
            try {
                body.run();
            } finally {
                lock.unlock();
            }
        };
    }

    /**
     * What an ordinary thread holds, what another one waits for before the urgent one comes, and
     * what that wants.
     */
    private static void check(boolean isTold, String what, Section held, Section before, Section wanted)
            throws InterruptedException {
        mayEnd = false;
        isWanted = false;
        CountDownLatch isHeld = new CountDownLatch(1);
        AbsoluteTime start = Clock.getRealtimeClock().getTime().add(startMillis, 0);
        Thread holder = new Thread(() -> held.run(() -> work(isHeld, start)), "holder");
        holder.start();
        isHeld.await();
        Thread between = new Thread(() -> before.run(() -> sink++), "between");
        if (before != null) {
            between.start();
            while (between.getState() != Thread.State.WAITING) {
                Thread.sleep(1);
            }
        }
        RealtimeThread urgent = real(80, start.add(20, 0), () -> want(wanted));
        RealtimeThread hog = real(50, start, Inversion::hog);
        urgent.start();
        hog.start();
        for (Thread thread : new Thread[] {urgent, hog, holder, between}) {
            thread.join();
        }
        if (isTold) {
            System.out.println(what + (wasHogged ? " first" : " WRONG: behind the hog") + " lent " + holderPriority
                    + " waited_ns " + waitedNanos + " section_ns " + sectionNanos);
        }
    }

    private static RealtimeThread real(int priority, AbsoluteTime start, Runnable logic) {
        PeriodicParameters release = new PeriodicParameters(start, new RelativeTime(1000, 0));
        return new RealtimeThread(new PriorityParameters(priority), release, logic);
    }

    private static void hog() {
        long end = System.nanoTime() + HOG_NANOS_MAX;
        isHogging = true;
        while (!mayEnd && System.nanoTime() < end) {
            Thread.onSpinWait();
        }
        isHogging = false;
    }

    private static void want(Section wanted) {
        long started = System.nanoTime();
        isWanted = true;
        wanted.run(() -> {
            waitedNanos = System.nanoTime() - started;
            wasHogged = isHogging;
            mayEnd = true;
        });
    }

    /** With the lock: waits until somebody wants it, works, and looks at what priority it does. */
    private static void work(CountDownLatch isHeld, AbsoluteTime start) {
        String own = threadName();
        isHeld.countDown();
        // Awake from before the release on: a busy processor does not wake who sleeps.
        while (Clock.getRealtimeClock().getTime().add(20, 0).compareTo(start) < 0) {
            pause();
        }
        while (!isWanted) {
            Thread.onSpinWait();
        }
        long began = System.nanoTime();
        long sum = 0;
        for (long step = 0; step < steps; step++) {
            sum += step ^ sum;
        }
        sink = sum;
        holderPriority = priorityOf(own);
        sectionNanos = System.nanoTime() - began;
    }

    private static void pause() {
        try {
            Thread.sleep(5);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private static String threadName() {
        try {
            return Path.of("/proc/thread-self").toRealPath().toString();
        } catch (java.io.IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }

    /** As the kernel has it now, with what is lent: −81 is FIFO 80, 20 an ordinary thread's. */
    private static int priorityOf(String thread) {
        try {
            String text = Files.readString(Path.of(thread, "stat"));
            String[] fields = text.substring(text.lastIndexOf(')') + 2).split(" ");
            return Integer.parseInt(fields[15]);
        } catch (java.io.IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }
}
