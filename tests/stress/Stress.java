// SPDX-License-Identifier: Apache-2.0

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Everything at once, for as long as asked: {@code Stress SECONDS [SEED]}, {@code -Dparts=REGEX}
 * for some parts only.
 *
 * <p>Each part runs in a thread of its own and repeats rounds. A round knows what must come out and
 * throws if it does not. What a round does is made of the seed, the part and the round's number
 * alone; how rounds meet is up to the machine. Memory must not grow once all parts have warmed up,
 * apart from the classes that are made on the way.
 */
public final class Stress {
    /** A part's one round: gives how many things it checked. */
    interface Part {
        long round(Random64 random) throws Exception;
    }

    /** Splitmix64: a seed, a number, the same sequence on every machine. */
    static final class Random64 {
        private long state;

        Random64(long seed, int part, long round) {
            state = seed * 0x9e3779b97f4a7c15L + part * 0xbf58476d1ce4e5b9L + round * 0x94d049bb133111ebL;
        }

        long next() {
            long z = state += 0x9e3779b97f4a7c15L;
            z = (z ^ (z >>> 30)) * 0xbf58476d1ce4e5b9L;
            z = (z ^ (z >>> 27)) * 0x94d049bb133111ebL;
            return z ^ (z >>> 31);
        }

        int below(int bound) {
            return (int) Math.floorMod(next(), (long) bound);
        }
    }

    /** A part with what it has done. */
    private static final class Worker extends Thread {
        final Part part;
        final int number;
        final long seed;
        final AtomicLong rounds = new AtomicLong();
        final AtomicLong checks = new AtomicLong();

        Worker(String name, Part part, int number, long seed) {
            super(name);
            this.part = part;
            this.number = number;
            this.seed = seed;
        }

        @Override
        public void run() {
            try {
                while (!isOver) {
                    long round = rounds.get();
                    checks.addAndGet(part.round(new Random64(seed, number, round)));
                    rounds.incrementAndGet();
                }
            } catch (Throwable failure) {
                failed(this, failure);
            }
        }
    }

    static volatile boolean isOver;
    /** Times that there was no room for an array of a whole deep stack. */
    static final AtomicLong exhausted = new AtomicLong();
    private static volatile boolean hasFailed;

    static void check(boolean isTrue, String what) {
        if (!isTrue) {
            throw new AssertionError(what);
        }
    }

    private static void failed(Worker worker, Throwable failure) {
        hasFailed = true;
        isOver = true;
        synchronized (System.err) {
            System.err.println("FAILED: " + worker.getName() + " in round " + worker.rounds);
            for (Throwable it = failure; it != null; it = it.getCause()) {
                System.err.println(it);
                Arrays.stream(it.getStackTrace()).limit(20).forEach(at -> System.err.println("\tat " + at));
            }
        }
    }

    /** Resident memory in KiB. */
    private static long residentKib() throws IOException {
        String pages = Files.readString(Path.of("/proc/self/statm")).split(" ")[1];
        return Long.parseLong(pages) * 4;
    }

    private static long classCount() {
        return ManagementFactory.getClassLoadingMXBean().getTotalLoadedClassCount();
    }

    /** One line of what there is now. */
    private static long[] report(long elapsedS, List<Worker> workers) throws IOException {
        long checks = workers.stream().mapToLong(it -> it.checks.get()).sum();
        long resident = residentKib();
        long classes = classCount();
        System.out.printf("%5d s  %,12d checks  %,9d KiB resident  %6d classes  %3d threads%n", elapsedS, checks,
            resident, classes, Thread.activeCount());
        return new long[] {resident, classes};
    }

    private static List<Worker> workers(long seed) {
        Object[][] parts = {
            {"monitors", (Part) Locking::monitors}, {"interrupts", (Part) Locking::interrupts},
            {"threads", (Part) Locking::threads}, {"concurrent", (Part) Locking::concurrent},
            {"exceptions", (Part) Throwing::round}, {"classes", (Part) Loading::round},
            {"graph", (Part) Allocating::graph}, {"arrays", (Part) Allocating::arrays},
            {"references", (Part) Allocating::references}, {"strings", (Part) Allocating::strings},
            {"stacks", (Part) Watching::stacks}, {"collections", (Part) Watching::collections},
        };
        List<Worker> workers = new ArrayList<>();
        String only = System.getProperty("parts", ".*");
        for (Object[] part : parts) {
            if (!((String) part[0]).matches(only)) {
                continue;
            }
            workers.add(new Worker((String) part[0], (Part) part[1], workers.size(), seed));
        }
        return workers;
    }

    public static void main(String[] args) throws Exception {
        int seconds = Integer.parseInt(args[0]);
        long seed = args.length > 1 ? Long.parseLong(args[1]) : 1;
        Loading.startedNs = System.nanoTime();
        Loading.spanNs = seconds * 1_000_000_000L;
        List<Worker> workers = workers(seed);
        workers.forEach(Thread::start);
        int step = Math.max(1, seconds / 60);
        long[] warm = null;
        long[] last = null;
        long start = System.nanoTime();
        for (int elapsed = 0; elapsed < seconds && !isOver; elapsed = (int) ((System.nanoTime() - start) / 1_000_000_000L)) {
            Thread.sleep(Math.min(step, seconds) * 1000L);
            last = report((System.nanoTime() - start) / 1_000_000_000L, workers);
            if (warm == null && elapsed >= seconds / 4) {
                warm = last;
            }
        }
        isOver = true;
        for (Worker worker : workers) {
            worker.join(120_000);
            if (worker.isAlive()) {
                System.err.println("FAILED: " + worker.getName() + " hangs in round " + worker.rounds);
                for (StackTraceElement element : worker.getStackTrace()) {
                    System.err.println("\tat " + element);
                }
                hasFailed = true;
            } else {
                System.out.printf("%-12s %,10d rounds  %,12d checks%n", worker.getName(), worker.rounds.get(),
                    worker.checks.get());
                hasFailed |= worker.rounds.get() == 0 && seconds >= 20;
            }
        }
        System.out.println("no room for a deep stack: " + exhausted + " times");
        hasFailed |= !isFlat(seconds, warm, last);
        System.out.println(hasFailed ? "FAILED" : "passed");
        System.exit(hasFailed ? 1 : 0);
    }

    /** Classes and their code stay for ever; all else must come back. */
    private static boolean isFlat(int seconds, long[] warm, long[] last) {
        if (warm == null || last == null || seconds < 120) {
            return true;
        }
        long growth = last[0] - warm[0];
        long allowed = warm[0] / 10 + (last[1] - warm[1]) * Loading.CLASS_KIB_MAX;
        System.out.printf("grew by %,d KiB since a quarter of the time; %,d allowed%n", growth, allowed);
        return growth <= allowed;
    }

    private Stress() {}
}
