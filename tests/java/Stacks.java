// SPDX-License-Identifier: Apache-2.0

import java.lang.management.LockInfo;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadInfo;
import java.lang.management.ThreadMXBean;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/** What a thread sees of others' stacks, and of what they wait for. */
public class Stacks {
    private static final Object LOCK = new Object();
    private static final ReentrantLock OWNED = new ReentrantLock();
    private static volatile boolean isOver;

    interface Body {
        void run() throws InterruptedException;
    }

    static void waiting() throws InterruptedException {
        synchronized (LOCK) {
            LOCK.wait();
        }
    }

    static void blocked() {
        synchronized (LOCK) { Thread.yield(); }
    }

    static void parked() {
        LockSupport.park(LOCK);
    }

    static void owned() {
        OWNED.lock();
        OWNED.unlock();
    }

    static long running() {
        long sum = 0;
        while (!isOver) {
            sum++;
        }
        return sum;
    }

    static int deep(int depth) throws InterruptedException {
        if (depth == 0) {
            Thread.sleep(60_000);
        }
        return deep(depth - 1) + 1;
    }

    static Thread until(String name, Thread.State state, Body body) {
        Thread thread = new Thread(name) {
            @Override
            public void run() {
                try {
                    body.run();
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
            }
        };
        thread.start();
        while (thread.getState() != state) {
            Thread.onSpinWait();
        }
        return thread;
    }

    static void show(Thread thread) {
        StackTraceElement[] stack = thread.getStackTrace();
        System.out.println(thread.getName() + " " + thread.getState() + " " + stack.length);
        for (StackTraceElement element : Arrays.copyOf(stack, Math.min(stack.length, 12))) {
            System.out.println("  " + element + " " + element.getModuleName() + " " + element.getModuleVersion());
        }
    }

    /** Of a thread that runs, where it is in the loop differs. */
    static void showNames(Thread thread) {
        System.out.println(thread.getName() + " " + thread.getState());
        for (StackTraceElement element : thread.getStackTrace()) {
            System.out.println("  " + element.getClassName() + "." + element.getMethodName());
        }
    }

    static void show(ThreadInfo info) {
        LockInfo lock = info.getLockInfo();
        System.out.println(info.getThreadName() + " " + info.getThreadState() + " on "
            + (lock == null ? null : lock.getClassName()) + " of " + info.getLockOwnerName() + " "
            + info.getStackTrace().length + " " + info.getStackTrace()[0] + " " + info.isInNative());
    }

    static void ask(Thread[] threads) {
        ThreadMXBean bean = ManagementFactory.getThreadMXBean();
        for (Thread thread : threads) {
            show(bean.getThreadInfo(thread.getId(), Integer.MAX_VALUE));
        }
        System.out.println(bean.getThreadInfo(threads[0].getId()).getStackTrace().length);
        System.out.println(bean.getThreadInfo(threads[0].getId(), 2).getStackTrace().length);
        System.out.println(bean.getThreadInfo(987_654_321L));
        int found = 0;
        for (ThreadInfo info : bean.dumpAllThreads(false, false)) {
            found += Arrays.stream(threads).anyMatch(it -> it.getId() == info.getThreadId()) ? 1 : 0;
        }
        System.out.println(found);
    }

    static Thread holder(String name, Object first, Object second, CountDownLatch both) {
        Thread thread = new Thread(() -> {
            synchronized (first) {
                both.countDown();
                try {
                    both.await();
                } catch (InterruptedException e) {
                    return;
                }
                synchronized (second) {
                    System.out.println("never");
                }
            }
        }, name);
        thread.setDaemon(true);
        return thread;
    }

    /**
     * Two threads each of which holds what the other wants; a third that wants what one of them
     * holds.
     */
    static void deadlock() throws InterruptedException {
        ThreadMXBean bean = ManagementFactory.getThreadMXBean();
        System.out.println(bean.findMonitorDeadlockedThreads() == null);
        Object one = new Object();
        Object two = new Object();
        CountDownLatch both = new CountDownLatch(2);
        holder("one", one, two, both).start();
        holder("two", two, one, both).start();
        long[] found;
        do {
            Thread.onSpinWait();
            found = bean.findMonitorDeadlockedThreads();
        } while (found == null);
        Thread outside = holder("outside", one, two, new CountDownLatch(0));
        outside.start();
        while (outside.getState() != Thread.State.BLOCKED) {
            Thread.onSpinWait();
        }
        Arrays.stream(bean.getThreadInfo(bean.findMonitorDeadlockedThreads()))
            .map(it -> it.getThreadName() + " waits for " + it.getLockOwnerName())
            .sorted()
            .forEach(System.out::println);
    }

    public static void main(String[] args) throws InterruptedException {
        Thread waiting = until("waiting", Thread.State.WAITING, new Body() {
            @Override
            public void run() throws InterruptedException {
                Stacks.waiting();
            }
        });
        Thread parked = until("parked", Thread.State.WAITING, new Body() {
            @Override
            public void run() {
                Stacks.parked();
            }
        });
        Thread sleeping = until("sleeping", Thread.State.TIMED_WAITING, new Body() {
            @Override
            public void run() throws InterruptedException {
                deep(5000);
            }
        });
        Thread running = until("running", Thread.State.RUNNABLE, new Body() {
            @Override
            public void run() {
                Stacks.running();
            }
        });
        OWNED.lock();
        Thread owned = until("owned", Thread.State.WAITING, new Body() {
            @Override
            public void run() {
                Stacks.owned();
            }
        });
        synchronized (LOCK) {
            Thread blocked = until("blocked", Thread.State.BLOCKED, new Body() {
            @Override
            public void run() {
                Stacks.blocked();
            }
        });
            for (Thread thread : new Thread[] {waiting, parked, sleeping, owned, blocked}) {
                show(thread);
            }
            while (running.getStackTrace().length < 3) {
                Thread.onSpinWait();
            }
            showNames(running);
            ask(new Thread[] {waiting, parked, sleeping, owned, blocked});
            Map<Thread, StackTraceElement[]> all = Thread.getAllStackTraces();
            System.out.println(all.get(blocked)[0] + " " + all.get(Thread.currentThread()).length);
        }
        OWNED.unlock();
        isOver = true;
        for (Thread thread : new Thread[] {waiting, parked, sleeping, owned, running}) {
            thread.interrupt();
            thread.join();
        }
        System.out.println(parked.getStackTrace().length + " " + new Thread().getStackTrace().length);
        deadlock();
    }
}
