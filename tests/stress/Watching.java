// SPDX-License-Identifier: Apache-2.0

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadInfo;
import java.lang.management.ThreadMXBean;
import java.util.Map;

/** Threads that look at the others, and ask for collections. */
final class Watching {
    /** Each stack must begin where threads begin. */
    static long stacks(Stress.Random64 random) throws Exception {
        Map<Thread, StackTraceElement[]> all;
        try {
            all = Thread.getAllStackTraces();
        } catch (OutOfMemoryError e) {
            // A stack that is overflowing has tens of thousands of frames: no span of blocks is
            // free for their array.
            Stress.exhausted.incrementAndGet();
            return 0;
        }
        long checks = 0;
        for (StackTraceElement[] stack : all.values()) {
            if (stack.length > 0) {
                String first = stack[stack.length - 1].getMethodName();
                Stress.check(first.equals("run") || first.equals("main") || first.equals("exit")
                    || first.equals("dispatchUncaughtException"), "a stack begins with " + first);
                checks++;
            }
        }
        Stress.check(all.containsKey(Thread.currentThread()), "its own is among them");
        ThreadMXBean bean = ManagementFactory.getThreadMXBean();
        for (ThreadInfo info : bean.dumpAllThreads(false, false, 100)) {
            if (info != null) {
                Stress.check(info.getThreadName() != null, "threads have names");
                checks++;
            }
        }
        Stress.check(bean.findMonitorDeadlockedThreads() == null, "nobody waits in a circle");
        Thread.sleep(5 + random.below(20));
        return checks;
    }

    /** With the verifier on, the heap is checked at each. */
    static long collections(Stress.Random64 random) throws Exception {
        Runtime runtime = Runtime.getRuntime();
        System.gc();
        Stress.check(runtime.totalMemory() <= runtime.maxMemory(), "memory is bounded");
        Thread.sleep(200 + random.below(300));
        return 1;
    }

    private Watching() {}
}
