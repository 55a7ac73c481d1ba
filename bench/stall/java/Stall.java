// SPDX-License-Identifier: Apache-2.0

import android.util.Log;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicLong;
import javax.realtime.AbsoluteTime;
import javax.realtime.PeriodicParameters;
import javax.realtime.PriorityParameters;
import javax.realtime.RealtimeThread;
import javax.realtime.RelativeTime;

/**
 * A real-time thread beside one load. Arguments: the load's letter or {@code none}; releases of the
 * window, and before it; the period in microseconds; the priority; libnatives.so; the file for the
 * window's releases, a line each: due time, lateness, work.
 */
public final class Stall {
    /** What the thread reaches is looked through meanwhile. */
    private static final long PERIODS_BEFORE_START = 500;
    private static final int REHEARSED = 50;
    /** Releases that passed all the same. */
    private static final int MADE_UP_FOR_MAX = 10_000;
    /**
     * Windows last until their load has done its least, and no longer than so many times the
     * releases asked for.
     */
    private static final int WINDOWS_MAX = 4;
    private static final long LOOK_MILLIS = 5;

    private static final AtomicLong STEPS = new AtomicLong();
    private static volatile boolean isOver;

    private Stall() {}

    /** See the class. */
    public static void main(String[] args) throws InterruptedException, IOException {
        Load load = Load.valueOf(args[0]);
        int releases = Integer.parseInt(args[1]);
        int warmUp = Integer.parseInt(args[2]);
        long periodNanos = Long.parseLong(args[3]) * 1000;
        int priority = Integer.parseInt(args[4]);
        Log.load(args[5]);
        // Compiles what the thread reaches, once without anything to measure.
        start(new Measured(soon(periodNanos), periodNanos, REHEARSED), periodNanos, priority).join();
        Measured measured = new Measured(soon(periodNanos), periodNanos, MADE_UP_FOR_MAX + warmUp + WINDOWS_MAX * releases);
        RealtimeThread thread = start(measured, periodNanos, priority);
        await(thread, measured, warmUp);
        while (measured.late[measured.done - 1] > periodNanos) {
            await(thread, measured, measured.done + 1);
        }
        begin(load);
        int from = measured.done + 1;
        await(thread, measured, from + releases);
        while (STEPS.get() < load.stepsMin && measured.done < from + (WINDOWS_MAX - 1) * releases) {
            Thread.sleep(LOOK_MILLIS);
        }
        int to = measured.done;
        measured.isOver = true;
        isOver = true;
        Hoard.empty();
        thread.join();
        boolean isReported = false;
        while (!isReported) {
            isReported = isReported(measured, from, to, args[6], thread.grantedPriority());
            Hoard.empty();
        }
        Runtime.getRuntime().exit(0);
    }

    /** A quarter of a period beside the clock's own beat. */
    private static long soon(long periodNanos) {
        return (System.nanoTime() / periodNanos + PERIODS_BEFORE_START) * periodNanos + periodNanos / 4;
    }

    private static RealtimeThread start(Measured measured, long periodNanos, int priority) {
        long start = measured.due(0);
        PeriodicParameters release =
                new PeriodicParameters(new AbsoluteTime(start / 1_000_000, (int) (start % 1_000_000)),
                        new RelativeTime(periodNanos / 1_000_000, (int) (periodNanos % 1_000_000)));
        RealtimeThread thread = new RealtimeThread(new PriorityParameters(priority), release, measured);
        thread.start();
        return thread;
    }

    private static void await(Thread thread, Measured measured, int release) throws InterruptedException {
        while (measured.done < release) {
            if (!thread.isAlive()) {
                throw new IllegalStateException("no release is left: the thread came too late at first");
            }
            Thread.sleep(LOOK_MILLIS);
        }
    }

    private static void begin(Load load) {
        for (int number = 0; number < load.threads; number++) {
            Thread thread = new Thread(() -> steps(load), "load-" + number);
            thread.setDaemon(true);
            thread.start();
        }
    }

    private static void steps(Load load) {
        try {
            while (!isOver) {
                load.step();
                STEPS.incrementAndGet();
            }
        } catch (Exception e) {
            System.out.println("load: " + e);
            e.printStackTrace(System.out);
        }
    }

    static boolean isOver() {
        return isOver;
    }

    /** Threads of a load may hold memory for a while. */
    private static boolean isReported(Measured measured, int from, int to, String file, int priority)
            throws IOException {
        try {
            report(measured, from, to, file);
            System.out.println("window releases=" + (to - from) + " steps=" + STEPS.get() + " missed=" + measured.missed
                    + " memory_errors=" + measured.memoryErrors + " exhausted=" + Hoard.EXHAUSTED.get() + " allocated="
                    + (to - from) * Measured.bytesPerRelease() + " priority=" + priority);
            return true;
        } catch (OutOfMemoryError e) {
            return false;
        }
    }

    private static void report(Measured measured, int from, int to, String file) throws IOException {
        StringBuilder lines = new StringBuilder();
        for (int release = from; release < to; release++) {
            lines.append(measured.due(release)).append(',').append(measured.late[release]).append(',');
            lines.append(measured.work[release]).append('\n');
        }
        Files.writeString(Path.of(file), lines);
    }
}
