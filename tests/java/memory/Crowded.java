// SPDX-License-Identifier: Apache-2.0

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;

/** As many threads as there may be, all of which write; then there is room again. */
public class Crowded {
    private static final int NODES = 100;

    /** Old objects whose references are overwritten again and again. */
    private static void write(Object[][] nodes, int rounds) {
        for (int round = 0; round < rounds; round++) {
            for (int i = 0; i < nodes.length; i++) {
                nodes[i][round % 2] = nodes[(i + round) % nodes.length];
            }
        }
    }

    private static int crowd() throws InterruptedException {
        CountDownLatch end = new CountDownLatch(1);
        AtomicInteger wrote = new AtomicInteger();
        List<Thread> threads = new ArrayList<>();
        try {
            for (int i = 0; i < 10_000; i++) {
                Thread thread = new Thread(() -> {
                    Object[][] nodes = new Object[NODES][2];
                    write(nodes, 20);
                    try {
                        end.await();
                    } catch (InterruptedException e) {
                        throw new AssertionError(e);
                    }
                    write(nodes, 20);
                    wrote.incrementAndGet();
                });
                thread.start();
                threads.add(thread);
            }
        } catch (OutOfMemoryError e) {
            System.out.println(e.getMessage());
        }
        end.countDown();
        for (Thread thread : threads) {
            thread.join();
        }
        if (wrote.get() != threads.size()) {
            System.out.println(wrote + " of " + threads.size() + " wrote");
        }
        return threads.size();
    }

    public static void main(String[] args) throws InterruptedException {
        int first = crowd();
        int second = crowd();
        System.out.println(first > 2000 && second > 2000 ? "thousands of threads, twice" : first + " and " + second);
    }
}
