// SPDX-License-Identifier: Apache-2.0

import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.lang.management.MemoryType;
import java.lang.management.MemoryUsage;
import java.lang.management.MonitorInfo;
import java.lang.management.ThreadInfo;
import java.util.Arrays;
import java.util.concurrent.CountDownLatch;
import javax.management.MBeanServer;
import javax.management.ObjectName;

/** Beans of memory and collectors, and dumps with monitors: what holds on every machine. */
public class Pools {
    static final class Outer {
    }

    static final class Inner {
    }

    static void usage(MemoryUsage usage) {
        boolean isOrdered = usage.getUsed() >= 0 && usage.getUsed() <= usage.getCommitted()
            && (usage.getMax() == -1 || usage.getCommitted() <= usage.getMax());
        if (!isOrdered) {
            System.out.println("strange: " + usage);
        }
    }

    static void pools() throws Exception {
        boolean hasHeap = false;
        boolean hasOther = false;
        for (MemoryPoolMXBean pool : ManagementFactory.getMemoryPoolMXBeans()) {
            hasHeap |= pool.getType() == MemoryType.HEAP;
            hasOther |= pool.getType() == MemoryType.NON_HEAP && pool.getUsage().getUsed() > 0;
            usage(pool.getUsage());
            usage(pool.getPeakUsage());
            pool.resetPeakUsage();
            if (pool.getCollectionUsage() != null) {
                usage(pool.getCollectionUsage());
            }
            if (!pool.isValid() || pool.getMemoryManagerNames().length == 0 || pool.getName().isEmpty()) {
                System.out.println("strange: " + pool.getName());
            }
        }
        System.out.println("heap " + hasHeap + ", other " + hasOther);
        System.out.println(ManagementFactory.getMemoryManagerMXBeans().size()
            >= ManagementFactory.getGarbageCollectorMXBeans().size());
        usage(ManagementFactory.getMemoryMXBean().getHeapMemoryUsage());
        usage(ManagementFactory.getMemoryMXBean().getNonHeapMemoryUsage());
    }

    static long collections() {
        return ManagementFactory.getGarbageCollectorMXBeans().stream()
            .mapToLong(GarbageCollectorMXBean::getCollectionCount).sum();
    }

    static void collectors() throws Exception {
        long before = collections();
        // Programs wait so until the collector has run.
        while (collections() == before) {
            System.gc();
        }
        System.out.println("collected");
        MBeanServer server = ManagementFactory.getPlatformMBeanServer();
        for (GarbageCollectorMXBean bean : ManagementFactory.getGarbageCollectorMXBeans()) {
            ObjectName name = bean.getObjectName();
            boolean isSame = server.getAttribute(name, "Name").equals(bean.getName());
            if (!isSame || !bean.isValid() || bean.getCollectionTime() < 0
                    || Arrays.asList(bean.getMemoryPoolNames()).isEmpty()) {
                System.out.println("strange: " + bean.getName());
            }
        }
        var names = server.queryNames(new ObjectName("java.lang:type=MemoryPool,*"), null);
        System.out.println(names.size() == ManagementFactory.getMemoryPoolMXBeans().size());
    }

    static synchronized void hold(Object outer, Object inner, CountDownLatch held, Object end) throws Exception {
        synchronized (outer) {
            synchronized (inner) {
                synchronized (end) {
                    held.countDown();
                    end.wait();
                }
            }
        }
    }

    static void say(ThreadInfo info) {
        // In which order those of one frame come is left open.
        Arrays.stream(info.getLockedMonitors())
            .map(monitor -> info.getThreadName() + " " + monitor.getClassName() + " "
                + monitor.getLockedStackFrame().getMethodName() + " " + monitor.getLockedStackDepth())
            .sorted()
            .forEach(System.out::println);
    }

    static void dumps() throws Exception {
        var threads = ManagementFactory.getThreadMXBean();
        System.out.println(threads.isObjectMonitorUsageSupported());
        Object end = new Object();
        Object inner = new Inner();
        CountDownLatch held = new CountDownLatch(1);
        Thread holder = new Thread(() -> {
            try {
                hold(new Outer(), inner, held, end);
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        }, "holder");
        holder.start();
        held.await();
        while (holder.getState() != Thread.State.WAITING) {
            Thread.onSpinWait();
        }
        boolean isThere = false;
        for (ThreadInfo info : threads.dumpAllThreads(true, false)) {
            isThere |= info.getThreadId() == Thread.currentThread().getId();
            if (info.getThreadId() == holder.getId()) {
                say(info);
                int[] hashes = Arrays.stream(info.getLockedMonitors()).mapToInt(MonitorInfo::getIdentityHashCode).toArray();
                System.out.println(Arrays.stream(hashes).anyMatch(hash -> hash == System.identityHashCode(inner)));
            }
        }
        System.out.println(isThere);
        Object own = new Outer();
        synchronized (own) {
            say(threads.getThreadInfo(new long[] {Thread.currentThread().getId()}, true, false)[0]);
        }
        say(threads.getThreadInfo(new long[] {Thread.currentThread().getId()}, true, false)[0]);
        synchronized (end) {
            end.notify();
        }
        holder.join();
        // HotSpot lets go of who waits for the end before the thread leaves its list.
        while (threads.getThreadInfo(holder.getId()) != null) {
            Thread.onSpinWait();
        }
        System.out.println(threads.getThreadInfo(new long[] {holder.getId()}, true, false)[0]);
    }

    public static void main(String[] args) throws Exception {
        pools();
        collectors();
        dumps();
    }
}
