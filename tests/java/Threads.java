// SPDX-License-Identifier: Apache-2.0
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.*;
import java.util.concurrent.atomic.*;
import java.util.concurrent.locks.*;

/** Threads, monitors, wait and notify, interruption, java.util.concurrent. */
public class Threads {
    static int shared;
    static final Object LOCK = new Object();

    static synchronized void increment() {
        shared++;
    }

    static void counters() throws Exception {
        AtomicLong atomic = new AtomicLong();
        LongAdder adder = new LongAdder();
        ReentrantLock lock = new ReentrantLock();
        int[] locked = new int[1];
        List<Thread> threads = new ArrayList<>();
        for (int t = 0; t < 4; t++) {
            Thread thread = new Thread(() -> {
                for (int i = 0; i < 5000; i++) {
                    increment();
                    atomic.incrementAndGet();
                    adder.increment();
                    lock.lock();
                    try {
                        locked[0]++;
                    } finally {
                        lock.unlock();
                    }
                }
            }, "worker-" + t);
            threads.add(thread);
            thread.start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.println(shared + " " + atomic + " " + adder + " " + locked[0] + " " + threads.get(0).getState());
    }

    static void handOver() throws Exception {
        StringBuilder log = new StringBuilder();
        boolean[] isPing = {true};
        Runnable player = () -> {
            boolean mine = Thread.currentThread().getName().equals("ping");
            for (int i = 0; i < 5; i++) {
                synchronized (LOCK) {
                    while (isPing[0] != mine) {
                        try {
                            LOCK.wait();
                        } catch (InterruptedException e) {
                            return;
                        }
                    }
                    log.append(mine ? "ping " : "pong ");
                    isPing[0] = !mine;
                    LOCK.notifyAll();
                }
            }
        };
        Thread ping = new Thread(player, "ping");
        Thread pong = new Thread(player, "pong");
        pong.start();
        ping.start();
        ping.join();
        pong.join();
        System.out.println(log);
    }

    static void interruption() throws Exception {
        Thread sleeper = new Thread(() -> {
            try {
                Thread.sleep(60_000);
                System.out.println("slept");
            } catch (InterruptedException e) {
                System.out.println("interrupted " + Thread.currentThread().isInterrupted());
            }
        });
        sleeper.start();
        sleeper.interrupt();
        sleeper.join();
        Thread waiter = new Thread(() -> {
            synchronized (LOCK) {
                try {
                    LOCK.wait();
                } catch (InterruptedException e) {
                    System.out.println("wait interrupted");
                }
            }
        });
        waiter.start();
        waiter.interrupt();
        waiter.join();
        Thread parked = new Thread(() -> {
            LockSupport.park();
            System.out.println("unparked " + Thread.interrupted());
        });
        parked.start();
        parked.interrupt();
        parked.join();
        synchronized (LOCK) {
            LOCK.wait(5);
        }
        try {
            LOCK.notify();
        } catch (IllegalMonitorStateException e) {
            System.out.println(e.getMessage());
        }
    }

    static void executors() throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(3);
        List<Future<Integer>> futures = new ArrayList<>();
        for (int i = 0; i < 6; i++) {
            int n = i;
            futures.add(pool.submit(() -> n * n));
        }
        int total = 0;
        for (Future<Integer> future : futures) {
            total += future.get();
        }
        Future<Object> failing = pool.submit(() -> {
            throw new IllegalStateException("in pool");
        });
        try {
            failing.get();
        } catch (ExecutionException e) {
            System.out.println(e.getCause());
        }
        pool.shutdown();
        System.out.println(total + " " + pool.awaitTermination(10, TimeUnit.SECONDS));
        System.out.println(CompletableFuture.supplyAsync(() -> 6).thenCombine(CompletableFuture.supplyAsync(() -> 7), (a, b) -> a * b).get());
        CountDownLatch latch = new CountDownLatch(2);
        CyclicBarrier barrier = new CyclicBarrier(2, latch::countDown);
        new Thread(() -> {
            try {
                barrier.await();
                latch.countDown();
            } catch (Exception e) {
                System.out.println(e);
            }
        }).start();
        barrier.await();
        System.out.println(latch.await(10, TimeUnit.SECONDS));
        BlockingQueue<Integer> queue = new ArrayBlockingQueue<>(2);
        Thread producer = new Thread(() -> {
            for (int i = 0; i < 10; i++) {
                try {
                    queue.put(i);
                } catch (InterruptedException e) {
                    return;
                }
            }
        });
        producer.start();
        int sum = 0;
        for (int i = 0; i < 10; i++) {
            sum += queue.take();
        }
        System.out.println(sum);
        ConcurrentHashMap<String, Integer> map = new ConcurrentHashMap<>();
        for (int i = 0; i < 100; i++) {
            map.merge("k" + i % 7, 1, Integer::sum);
        }
        System.out.println(map.get("k0") + " " + map.size());
    }

    public static void main(String[] args) throws Exception {
        counters();
        handOver();
        interruption();
        executors();
        Thread odd = new Thread(() -> System.out.println(Thread.currentThread().getName().length()), "a\0b");
        odd.start();
        odd.join();
        ThreadLocal<Integer> local = ThreadLocal.withInitial(() -> 5);
        Thread daemon = new Thread(() -> {
            local.set(9);
            LockSupport.park();
        });
        daemon.setDaemon(true);
        daemon.start();
        System.out.println(local.get() + " " + daemon.isDaemon() + " " + Thread.currentThread().getName() + " " + Thread.currentThread().getThreadGroup().getName());
        Thread failing = new Thread(() -> {
            throw new IllegalArgumentException("uncaught in thread");
        }, "failing");
        failing.setUncaughtExceptionHandler((t, e) -> System.out.println(t.getName() + " " + e));
        failing.start();
        failing.join();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> System.out.println("hook")));
        System.exit(3);
    }
}
