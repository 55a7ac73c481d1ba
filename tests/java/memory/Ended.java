// SPDX-License-Identifier: Apache-2.0

import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

/**
 * Threads end by the thousand while others look at them, wake them and interrupt them, before and
 * after their end.
 */
public final class Ended {
    private static final int STARTERS = 4;
    private static final int THREADS_EACH = 5000;
    private static final Thread[] SEEN = new Thread[64];
    private static final AtomicInteger ran = new AtomicInteger();
    private static final AtomicInteger strange = new AtomicInteger();
    private static volatile boolean isOver;

    private static void startAndJoin() {
        ThreadLocalRandom random = ThreadLocalRandom.current();
        for (int i = 0; i < THREADS_EACH; i++) {
            boolean isParking = i % 8 == 0;
            Thread thread = new Thread(() -> {
                if (isParking) {
                    LockSupport.parkNanos(100_000);
                }
                ran.incrementAndGet();
            });
            synchronized (SEEN) {
                SEEN[random.nextInt(SEEN.length)] = thread;
            }
            thread.start();
            try {
                thread.join();
            } catch (InterruptedException e) {
                // Starters are nobody's to interrupt: their entries are not those of ended threads.
                strange.incrementAndGet();
            }
        }
    }

    private static void disturb() {
        ThreadLocalRandom random = ThreadLocalRandom.current();
        for (int i = 0; !isOver; i++) {
            Thread thread;
            synchronized (SEEN) {
                thread = SEEN[random.nextInt(SEEN.length)];
            }
            if (thread == null) {
                continue;
            }
            LockSupport.unpark(thread);
            if (i % 16 == 0) {
                thread.interrupt();
            }
            if (i % 64 == 0) {
                // If it is over before, there is nothing to see.
                boolean hasEnded = thread.getState() == Thread.State.TERMINATED;
                strange.addAndGet(hasEnded && thread.getStackTrace().length > 0 ? 1 : 0);
            }
        }
    }

    public static void main(String[] args) throws InterruptedException {
        Thread disturber = new Thread(Ended::disturb);
        disturber.start();
        Thread[] starters = new Thread[STARTERS];
        for (int i = 0; i < STARTERS; i++) {
            starters[i] = new Thread(Ended::startAndJoin);
            starters[i].start();
        }
        for (Thread starter : starters) {
            starter.join();
        }
        isOver = true;
        disturber.join();
        System.out.println(ran + " ran, " + strange + " strange");
    }
}
