// SPDX-License-Identifier: Apache-2.0
import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;

/** Prints how many bytes a thousand calls of a method take whose objects nobody else sees. */
public class Unseen {
    record Pair(int one, int other) {
        Pair plus(Pair pair) {
            return new Pair(one + pair.one, other + pair.other);
        }
    }

    static int step(int number, Pair given) {
        Pair pair = new Pair(number, 1).plus(given);
        synchronized (pair) {
            for (int i = 0; i < 3; i++) {
                given = i == 0 ? given : null;
                Pair next = new Pair(i, i).plus(pair);
                number += next.other + (next == pair ? 1000 : 0);
            }
        }
        return pair.one + number;
    }

    static int all(int from) {
        Pair given = new Pair(2, 3);
        int sum = 0;
        for (int i = from; i < from + 1000; i++) {
            sum = sum * 31 + step(i, given);
        }
        return sum;
    }

    public static void main(String[] args) {
        // All classes are there before the method is compiled.
        Pair first = new Pair(1, 2).plus(new Pair(3, 4));
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        long thread = Thread.currentThread().getId();
        int sum = all(first.one);
        threads.getThreadAllocatedBytes(thread);
        long before = threads.getThreadAllocatedBytes(thread);
        sum += all(first.other);
        long bytes = threads.getThreadAllocatedBytes(thread) - before;
        System.out.println(sum + (bytes < 16_000 ? " few" : " many"));
    }
}
