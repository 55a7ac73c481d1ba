// SPDX-License-Identifier: Apache-2.0

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.concurrent.CountDownLatch;
import javax.management.MBeanServer;
import javax.management.ObjectName;

/** The platform's beans: relations that hold on every machine. */
public class Management {
    public static void main(String[] args) throws Exception {
        var runtime = ManagementFactory.getRuntimeMXBean();
        System.out.println(runtime.getUptime() > 0 && runtime.getStartTime() <= System.currentTimeMillis());
        System.out.println(runtime.getPid() == ProcessHandle.current().pid());
        System.out.println(runtime.getSpecVersion());
        var classes = ManagementFactory.getClassLoadingMXBean();
        System.out.println(classes.getLoadedClassCount() > 300 && classes.getTotalLoadedClassCount() > 300);
        var memory = ManagementFactory.getMemoryMXBean().getHeapMemoryUsage();
        System.out.println(memory.getUsed() <= memory.getCommitted() && memory.getCommitted() > 0);
        ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        int before = threads.getThreadCount();
        CountDownLatch worked = new CountDownLatch(1);
        CountDownLatch end = new CountDownLatch(1);
        Thread waiting = new Thread(() -> {
            for (long sum = 0, i = 0; i < 10_000_000; i++) {
                sum += i;
            }
            worked.countDown();
            try {
                end.await();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        });
        waiting.start();
        worked.await();
        System.out.println(threads.getThreadCount() - before + " more, peak is higher: "
            + (threads.getPeakThreadCount() > before));
        System.out.println(threads.getCurrentThreadCpuTime() > 0 && threads.getCurrentThreadUserTime() >= 0);
        System.out.println(threads.getThreadCpuTime(waiting.getId()) > 0);
        end.countDown();
        waiting.join();
        // HotSpot lets go of who waits for the end before the thread leaves its list.
        while (threads.getThreadCpuTime(waiting.getId()) != -1) {
            Thread.onSpinWait();
        }
        System.out.println(threads.getThreadCpuTime(waiting.getId()));
        var system = ManagementFactory.getOperatingSystemMXBean();
        System.out.println(system.getName() + " " + (system.getAvailableProcessors() > 0));
        MBeanServer server = ManagementFactory.getPlatformMBeanServer();
        System.out.println(server.getAttribute(new ObjectName("java.lang:type=Runtime"), "SpecVersion"));
    }
}
