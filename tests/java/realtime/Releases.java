// SPDX-License-Identifier: Apache-2.0
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import javax.realtime.AbsoluteTime;
import javax.realtime.AperiodicParameters;
import javax.realtime.AsyncEvent;
import javax.realtime.AsyncEventHandler;
import javax.realtime.Clock;
import javax.realtime.PeriodicParameters;
import javax.realtime.PriorityParameters;
import javax.realtime.PriorityScheduler;
import javax.realtime.RealtimeThread;
import javax.realtime.RelativeTime;
import rtandroid.thread.PeriodicThread;

/** Releases, deadlines and events of javax.realtime: order and counts, no times. */
public final class Releases {
    public static void main(String[] args) throws Exception {
        times();
        periods();
        misses();
        handledMisses();
        events();
        convenience();
        refusals();
    }

    private static void check(boolean holds, String what) {
        System.out.println((holds ? "ok " : "WRONG ") + what);
    }

    private static void times() {
        RelativeTime time = new RelativeTime(1, -1_500_000);
        check(time.getMilliseconds() == 0 && time.getNanoseconds() == -500_000, "times are normal");
        check(time.add(2, 600_000).equals(new RelativeTime(2, 100_000)), "sums");
        check(new RelativeTime(-1, -999_999).compareTo(new RelativeTime(-1, -999_998)) < 0, "order");
        AbsoluteTime now = Clock.getRealtimeClock().getTime();
        AbsoluteTime later = now.add(new RelativeTime(10, 1));
        check(later.subtract(now).equals(new RelativeTime(10, 1)), "differences");
        long wall = System.currentTimeMillis();
        check(Math.abs(now.getDate().getTime() - wall) < 60_000, "dates");
        check(Clock.getRealtimeClock().getResolution().getNanoseconds() > 0, "resolution");
    }

    private static RealtimeThread start(int priority, PeriodicParameters release, Runnable logic) {
        RealtimeThread thread = new RealtimeThread(new PriorityParameters(priority), release, logic);
        thread.start();
        return thread;
    }

    private static void periods() throws InterruptedException {
        AbsoluteTime first = Clock.getRealtimeClock().getTime().add(20, 0);
        AbsoluteTime[] releases = new AbsoluteTime[10];
        boolean[] onTime = new boolean[10];
        RelativeTime hour = new RelativeTime(3_600_000, 0);
        PeriodicParameters release =
                new PeriodicParameters(first, new RelativeTime(5, 0), null, hour, null, null);
        start(60, release, () -> {
            for (int index = 0; index < 10; index++) {
                releases[index] = Clock.getRealtimeClock().getTime();
                onTime[index] = RealtimeThread.waitForNextPeriod();
            }
        }).join();
        boolean noneEarly = true;
        boolean allOnTime = true;
        for (int index = 0; index < 10; index++) {
            noneEarly &= releases[index].compareTo(first.add(5 * index, 0)) >= 0;
            allOnTime &= onTime[index];
        }
        check(noneEarly && allOnTime, "ten releases, none early, none missed");
    }

    /** Without a handler a miss is told at once, and then the next release comes. */
    private static void misses() throws InterruptedException {
        boolean[] told = new boolean[2];
        PeriodicParameters release = new PeriodicParameters(new RelativeTime(20, 0));
        start(60, release, () -> {
            try {
                RealtimeThread.sleep(new RelativeTime(30, 0));
            } catch (InterruptedException e) {
                return;
            }
            told[0] = !RealtimeThread.waitForNextPeriod();
            // A busy machine may make the thread miss some more.
            for (int calls = 0; calls < 10_000 && !told[1]; calls++) {
                told[1] = RealtimeThread.waitForNextPeriod();
            }
        }).join();
        check(told[0] && told[1], "a miss is told, and the next release comes");
    }

    /** With a handler the thread waits until the handler lets it go on. */
    private static void handledMisses() throws InterruptedException {
        RealtimeThread[] thread = new RealtimeThread[1];
        StringBuffer order = new StringBuffer();
        CountDownLatch seen = new CountDownLatch(1);
        AsyncEventHandler handler = new AsyncEventHandler(new PriorityParameters(70), null, () -> {
            order.append("handler ");
            seen.countDown();
            thread[0].schedulePeriodic();
        });
        RelativeTime period = new RelativeTime(100, 0);
        PeriodicParameters release = new PeriodicParameters(null, period, null, period, null, handler);
        thread[0] = new RealtimeThread(new PriorityParameters(60), release, () -> {
            RealtimeThread.waitForNextPeriod();
            try {
                // The handler runs while the release is still worked on.
                seen.await();
            } catch (InterruptedException e) {
                order.append(e);
            }
            order.append("late ");
            order.append(RealtimeThread.waitForNextPeriod());
        });
        thread[0].start();
        thread[0].join();
        check(order.toString().equals("handler late true"), "a handler sees the miss first: " + order);
    }

    private static void events() throws InterruptedException {
        AtomicInteger count = new AtomicInteger();
        CountDownLatch done = new CountDownLatch(1000);
        AsyncEventHandler handler = new AsyncEventHandler(
                new PriorityParameters(40), new AperiodicParameters(), () -> {
            if (count.getAndIncrement() == 3) {
                throw new IllegalStateException("told to the thread's handler, and the next event follows");
            }
            done.countDown();
        }) {
            @Override
            public void handleAsyncEvent() {
                if (count.get() == 0) {
                    Thread.currentThread().setUncaughtExceptionHandler((thread, thrown) -> done.countDown());
                    check(Thread.currentThread() instanceof RealtimeThread, "a handler's thread");
                }
                super.handleAsyncEvent();
            }
        };
        AsyncEvent event = new AsyncEvent();
        event.addHandler(handler);
        event.addHandler(handler);
        for (int fires = 0; fires < 1000; fires++) {
            event.fire();
        }
        done.await();
        check(count.get() == 1000, "each fire is handled once");
        event.removeHandler(handler);
        event.fire();
        check(!event.handledBy(handler), "removed");
    }

    private static void convenience() throws InterruptedException {
        AtomicInteger count = new AtomicInteger();
        PeriodicThread thread = new PeriodicThread("beat", 30, 1_000_000) {
            @Override
            protected void onPeriod() {
                if (count.incrementAndGet() == 5) {
                    end();
                }
            }
        };
        thread.start();
        thread.join();
        check(count.get() == 5, "five periods");
    }

    private static void refusals() throws InterruptedException {
        try {
            new PriorityParameters(PriorityScheduler.instance().getMaxPriority() + 1);
        } catch (IllegalArgumentException e) {
            check(true, e.getMessage());
        }
        try {
            RealtimeThread.waitForNextPeriod();
        } catch (ClassCastException e) {
            check(true, "an ordinary thread has no releases");
        }
        RealtimeThread thread = new RealtimeThread(null, null, () -> {
            try {
                RealtimeThread.waitForNextPeriod();
            } catch (IllegalThreadStateException e) {
                check(true, e.getMessage());
            }
            RealtimeThread self = RealtimeThread.currentRealtimeThread();
            try {
                self.interrupt();
                RealtimeThread.sleep(new RelativeTime(100_000, 0));
            } catch (InterruptedException e) {
                check(!self.isInterrupted(), "a sleep ends by an interrupt");
            }
        });
        thread.start();
        thread.join();
        try {
            thread.start();
        } catch (IllegalThreadStateException e) {
            check(true, "a thread starts once");
        }
    }
}
