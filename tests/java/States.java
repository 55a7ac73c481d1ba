// SPDX-License-Identifier: Apache-2.0

import java.util.concurrent.locks.LockSupport;

/** What {@code Thread.getState} says of threads that wait, each in its own way. */
public class States {
    private static final Object LOCK = new Object();

    interface Body {
        void run() throws InterruptedException;
    }

    /** Starts a thread and waits until it is in that state. */
    static Thread until(Thread.State state, Body body) {
        Thread thread = new Thread(() -> {
            try {
                body.run();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        });
        System.out.print(thread.getState());
        thread.start();
        while (thread.getState() != state) {
            Thread.onSpinWait();
        }
        System.out.println(" " + thread.getState());
        return thread;
    }

    static void end(Thread thread) throws InterruptedException {
        thread.interrupt();
        thread.join();
        System.out.println(thread.getState());
    }

    public static void main(String[] args) throws InterruptedException {
        end(until(Thread.State.TIMED_WAITING, () -> Thread.sleep(60_000)));
        end(until(Thread.State.WAITING, LockSupport::park));
        end(until(Thread.State.TIMED_WAITING, () -> LockSupport.parkNanos(60_000_000_000L)));
        end(until(Thread.State.WAITING, () -> {
            synchronized (LOCK) {
                LOCK.wait();
            }
        }));
        end(until(Thread.State.TIMED_WAITING, () -> {
            synchronized (LOCK) {
                LOCK.wait(60_000);
            }
        }));
        Thread blocked;
        synchronized (LOCK) {
            blocked = until(Thread.State.BLOCKED, () -> {
                synchronized (LOCK) {
                    Thread.yield();
                }
            });
        }
        end(blocked);
        end(until(Thread.State.RUNNABLE, () -> {
            while (!Thread.currentThread().isInterrupted()) {
                Thread.onSpinWait();
            }
        }));
    }
}
