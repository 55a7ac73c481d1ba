// SPDX-License-Identifier: Apache-2.0

import java.lang.reflect.Field;
import java.lang.reflect.InaccessibleObjectException;
import java.util.concurrent.CountDownLatch;
import javax.realtime.PeriodicParameters;
import javax.realtime.PriorityParameters;
import javax.realtime.RealtimeThread;
import javax.realtime.RelativeTime;
import sun.misc.Unsafe;

/**
 * The number of a real-time thread: reflection may not change it, and no value that Unsafe gives it
 * ends the machine.
 */
public class Forged {
    public static void main(String[] args) throws Exception {
        Field record = RealtimeThread.class.getDeclaredField("record");
        try {
            record.setAccessible(true);
        } catch (InaccessibleObjectException e) {
            System.out.println("closed");
        }
        Field theUnsafe = Unsafe.class.getDeclaredField("theUnsafe");
        theUnsafe.setAccessible(true);
        Unsafe unsafe = (Unsafe) theUnsafe.get(null);
        long offset = unsafe.objectFieldOffset(record);
        CountDownLatch mayEnd = new CountDownLatch(1);
        RealtimeThread other = thread(() -> {
            try {
                mayEnd.await();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        });
        other.start();
        long found = unsafe.getLong(other, offset);
        if (found <= 0 || found > 1000) throw new AssertionError("no number: " + found);
        int refused = 0;
        for (long forged : new long[] {-1, Long.MIN_VALUE, Long.MAX_VALUE, 8, 0x1000_0000, 1L << 32, found + (1L << 32)}) {
            RealtimeThread thread = thread(() -> {});
            unsafe.putLong(thread, offset, forged);
            try {
                System.out.println("priority " + thread.grantedPriority());
            } catch (IllegalStateException e) {
                refused++;
            }
            try {
                thread.setReleaseParameters(null);
            } catch (IllegalStateException e) {
                refused++;
            }
            unsafe.putLong(other, offset, forged);
            try {
                System.out.println("priority " + other.grantedPriority());
            } catch (IllegalStateException e) {
                refused++;
            }
        }
        unsafe.putLong(other, offset, found);
        // Another thread's number: what it says is wrong, nothing else is.
        RealtimeThread thief = thread(() -> {
            do {
                RealtimeThread.yield();
            } while (Math.random() < 0.5);
            RealtimeThread.waitForNextPeriod();
        });
        thief.start();
        unsafe.putLong(thief, offset, found);
        thief.setReleaseParameters(new PeriodicParameters(null, new RelativeTime(Long.MAX_VALUE / 2_000_000, 0)));
        mayEnd.countDown();
        other.join();
        System.out.println("refused " + refused);
        System.exit(0);
    }

    private static RealtimeThread thread(Runnable logic) {
        return new RealtimeThread(
                new PriorityParameters(20), new PeriodicParameters(null, new RelativeTime(1, 0)), logic);
    }
}
