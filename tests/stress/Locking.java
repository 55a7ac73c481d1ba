// SPDX-License-Identifier: Apache-2.0

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Exchanger;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedTransferQueue;
import java.util.concurrent.Phaser;
import java.util.concurrent.RecursiveTask;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.StampedLock;

/** Threads, monitors, interrupts and {@code java.util.concurrent}. */
final class Locking {
    private static final ExecutorService POOL = Executors.newFixedThreadPool(4, runnable -> {
        Thread thread = new Thread(runnable, "pool");
        thread.setDaemon(true);
        return thread;
    });

    /** An account whose monitor guards it. */
    private static final class Account {
        long balance = 1000;
        int withdrawals;
    }

    private static <T> List<T> all(List<Callable<T>> tasks) throws Exception {
        List<T> results = new ArrayList<>();
        for (Future<T> future : POOL.invokeAll(tasks)) {
            results.add(future.get());
        }
        return results;
    }

    /** Transfers under two monitors, hashes that meet locks, and a buffer with wait and notify. */
    static long monitors(Stress.Random64 random) throws Exception {
        Account[] accounts = new Account[8];
        for (int i = 0; i < accounts.length; i++) {
            accounts[i] = new Account();
        }
        ArrayDeque<Integer> buffer = new ArrayDeque<>();
        AtomicLong received = new AtomicLong();
        List<Callable<Void>> tasks = new ArrayList<>();
        for (int task = 0; task < 2; task++) {
            long seed = random.next();
            tasks.add(() -> transfer(accounts, new Stress.Random64(seed, 0, 0)));
        }
        tasks.add(() -> {
            for (int i = 1; i <= 200; i++) {
                synchronized (buffer) {
                    while (buffer.size() == 4) {
                        buffer.wait();
                    }
                    buffer.add(i);
                    buffer.notifyAll();
                }
            }
            return null;
        });
        tasks.add(() -> {
            for (int i = 1; i <= 200; i++) {
                synchronized (buffer) {
                    while (buffer.isEmpty()) {
                        buffer.wait(i % 3 == 0 ? 1000 : 0);
                    }
                    received.addAndGet(buffer.remove());
                    buffer.notifyAll();
                }
            }
            return null;
        });
        all(tasks);
        long sum = 0;
        int withdrawals = 0;
        for (Account account : accounts) {
            sum += account.balance;
            withdrawals += account.withdrawals;
        }
        Stress.check(sum == 8000, "money is lost: " + sum);
        Stress.check(withdrawals == 600, "withdrawals: " + withdrawals);
        Stress.check(received.get() == 200 * 201 / 2, "received " + received);
        return 802;
    }

    private static Void transfer(Account[] accounts, Stress.Random64 random) {
        for (int i = 0; i < 300; i++) {
            int from = random.below(8);
            int to = random.below(8);
            Account first = accounts[Math.min(from, to)];
            Account second = accounts[Math.max(from, to)];
            int hash = first.hashCode();
            synchronized (first) {
                synchronized (second) {
                    accounts[from].balance -= i;
                    accounts[to].balance += i;
                    accounts[from].withdrawals++;
                    Stress.check(Thread.holdsLock(first), "the monitor is held");
                }
            }
            Stress.check(hash == first.hashCode(), "an identity hash stays");
        }
        return null;
    }

    /** Threads that wait in every way are interrupted; each must notice, and once. */
    static long interrupts(Stress.Random64 random) throws Exception {
        AtomicInteger noticed = new AtomicInteger();
        Object lock = new Object();
        ReentrantLock owned = new ReentrantLock();
        Condition condition = owned.newCondition();
        CountDownLatch never = new CountDownLatch(1);
        List<Callable<Boolean>> ways = new ArrayList<>(List.of(() -> {
            Thread.sleep(100_000);
            return false;
        }, () -> {
            synchronized (lock) {
                lock.wait();
            }
            return false;
        }, () -> {
            LockSupport.park();
            return Thread.interrupted();
        }, () -> {
            owned.lockInterruptibly();
            try {
                condition.await();
            } finally {
                owned.unlock();
            }
            return false;
        }, () -> never.await(100, TimeUnit.SECONDS), () -> {
            while (!Thread.interrupted()) {
                Thread.onSpinWait();
            }
            return true;
        }));
        List<Thread> threads = new ArrayList<>();
        for (Callable<Boolean> way : ways) {
            threads.add(new Thread(() -> {
                try {
                    while (!way.call()) {
                        // A park may end for no reason.
                    }
                    noticed.incrementAndGet();
                } catch (InterruptedException e) {
                    noticed.incrementAndGet();
                    Stress.check(!Thread.currentThread().isInterrupted(), "the interrupt was taken");
                } catch (Exception e) {
                    throw new AssertionError(e);
                }
            }, "interrupted"));
        }
        threads.forEach(Thread::start);
        if (random.below(2) == 0) {
            Thread.sleep(random.below(3));
        }
        threads.forEach(Thread::interrupt);
        for (Thread thread : threads) {
            thread.join();
            Stress.check(thread.getState() == Thread.State.TERMINATED, "joined");
        }
        Stress.check(noticed.get() == ways.size(), "noticed by " + noticed);
        return noticed.get();
    }

    private static final ThreadLocal<int[]> LOCAL = ThreadLocal.withInitial(() -> new int[1]);

    /**
     * Many short threads, with locals of their own, handlers for what nobody catches, and inherited
     * values.
     */
    static long threads(Stress.Random64 random) throws Exception {
        AtomicInteger uncaught = new AtomicInteger();
        AtomicLong sum = new AtomicLong();
        InheritableThreadLocal<String> inherited = new InheritableThreadLocal<>();
        inherited.set("from " + Thread.currentThread().getName());
        ThreadGroup group = new ThreadGroup("short");
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 16; i++) {
            int own = i;
            Thread thread = new Thread(group, () -> {
                for (int n = 0; n < 100; n++) {
                    LOCAL.get()[0] += own;
                }
                sum.addAndGet(LOCAL.get()[0]);
                Stress.check(inherited.get().startsWith("from "), "inherited");
                if (own % 4 == 0) {
                    throw new IllegalStateException("thrown by " + own);
                }
            });
            thread.setUncaughtExceptionHandler((dead, failure) -> {
                if (failure.getMessage().startsWith("thrown by ") && dead.getThreadGroup() == group) {
                    uncaught.incrementAndGet();
                }
            });
            thread.start();
            threads.add(thread);
        }
        for (Thread thread : threads) {
            thread.join();
        }
        Stress.check(sum.get() == 100 * 120, "sum " + sum);
        Stress.check(uncaught.get() == 4, "uncaught " + uncaught);
        // Its parent keeps a group until then, in an array that would grow for ever.
        group.destroy();
        return 20;
    }

    private static final class Sum extends RecursiveTask<Long> {
        private final int[] numbers;
        private final int from;
        private final int to;

        Sum(int[] numbers, int from, int to) {
            this.numbers = numbers;
            this.from = from;
            this.to = to;
        }

        @Override
        protected Long compute() {
            if (to - from < 64) {
                long sum = 0;
                for (int i = from; i < to; i++) {
                    sum += numbers[i];
                }
                return sum;
            }
            int middle = (from + to) / 2;
            Sum left = new Sum(numbers, from, middle);
            left.fork();
            return new Sum(numbers, middle, to).compute() + left.join();
        }
    }

    /** Pools, futures, maps, queues, and every kind of synchroniser. */
    static long concurrent(Stress.Random64 random) throws Exception {
        int count = 2000 + random.below(1000);
        int[] numbers = new int[count];
        long expected = 0;
        for (int i = 0; i < count; i++) {
            numbers[i] = random.below(1000);
            expected += numbers[i];
        }
        Stress.check(ForkJoinPool.commonPool().invoke(new Sum(numbers, 0, count)) == expected, "fork and join");
        CompletableFuture<Integer> future = CompletableFuture.supplyAsync(() -> 20, POOL);
        for (int i = 0; i < 20; i++) {
            future = future.thenCombine(CompletableFuture.supplyAsync(() -> 1, POOL), Integer::sum);
        }
        Stress.check(future.get() == 40, "futures");
        ConcurrentHashMap<Integer, Integer> map = new ConcurrentHashMap<>();
        ConcurrentLinkedQueue<Integer> queue = new ConcurrentLinkedQueue<>();
        LinkedTransferQueue<Integer> transfer = new LinkedTransferQueue<>();
        Exchanger<Integer> exchanger = new Exchanger<>();
        Phaser phaser = new Phaser(3);
        Semaphore semaphore = new Semaphore(2);
        StampedLock stamped = new StampedLock();
        long[] pair = new long[2];
        List<Callable<Integer>> tasks = new ArrayList<>();
        for (int task = 0; task < 3; task++) {
            int own = task;
            tasks.add(() -> {
                int swapped = own < 2 ? exchanger.exchange(own) : 5;
                for (int i = 0; i < 300; i++) {
                    map.merge(i % 50, 1, Integer::sum);
                    queue.add(i);
                    if (own == 0) {
                        transfer.put(i);
                    } else if (own == 1) {
                        Stress.check(transfer.take() == i, "in order");
                    }
                    semaphore.acquire();
                    long stamp = stamped.writeLock();
                    pair[0]++;
                    pair[1]--;
                    stamped.unlockWrite(stamp);
                    semaphore.release();
                    long seen = stamped.tryOptimisticRead();
                    long sum = pair[0] + pair[1];
                    Stress.check(!stamped.validate(seen) || sum == 0, "a torn pair");
                }
                phaser.arriveAndAwaitAdvance();
                Stress.check(queue.size() == 900, "all have arrived");
                return swapped;
            });
        }
        List<Integer> swapped = all(tasks);
        Stress.check(swapped.equals(List.of(1, 0, 5)), "exchanged " + swapped);
        Stress.check(map.values().stream().mapToInt(it -> it).sum() == 900, "merged");
        Stress.check(pair[0] == 900, "written");
        return 5000;
    }

    private Locking() {}
}
