// SPDX-License-Identifier: Apache-2.0 Fills the heap until OutOfMemoryError, drops what it made and
// goes on, again and again: in loops, deep in frames that hold some of it, in handlers, in
// constructors, under locks and beside other threads. What a frame holds no longer must not keep
// the heap full.

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.function.Supplier;

class Exhausted {
    static final int ROUNDS = Integer.getInteger("rounds", 1);
    static final long HEAP = Runtime.getRuntime().maxMemory();
    /** What the last fill had made when it failed. */
    static long made;

    static class Node {
        final Node next;
        final long[] payload;

        Node(Node next, int size) {
            this.next = next;
            payload = new long[size];
            made += 8L * size + 32;
        }
    }

    /** Small objects in one long chain. */
    static Object chain() {
        Node first = null;
        while (true) first = new Node(first, 6);
    }

    /** Arrays of one size class and large ones. */
    static Object arrays(int size) {
        List<byte[]> all = new ArrayList<>();
        while (true) {
            all.add(new byte[size]);
            made += size;
        }
    }

    static Object strings() {
        Map<String, String> all = new HashMap<>();
        for (int i = 0; ; i++) {
            String key = Integer.toString(i);
            all.put(key, key.repeat(30));
            made += key.length() * 31L + 100;
        }
    }

    /**
     * Each frame holds something of its own while the next one is at work, and drops it when the
     * error passes.
     */
    static Object deep(int depth, Node held) {
        Node own = new Node(held, 100);
        try {
            return depth == 0 ? chain() : deep(depth - 1, own);
        } finally {
            if (own.payload.length != 100) throw new AssertionError();
            own = null;
        }
    }

    static synchronized Object locked() {
        synchronized (new Node(null, 1)) {
            return chain();
        }
    }

    /** Fails in the handler of a failure, while the first one's frame is alive. */
    static Object again() {
        Object first;
        try {
            first = chain();
        } catch (OutOfMemoryError e) {
            first = null;
            made = 0;
            return chain();
        }
        return first;
    }

    /** A loop whose variable names the last chain while the next one grows. */
    static Object turns() {
        for (int i = 0; i < 2; i++) {
            Node last = null;
            made = 0;
            try {
                while (true) last = new Node(last, 50);
            } catch (OutOfMemoryError e) {
                last = null;
            }
            check("turn");
        }
        return chain();
    }

    /** A fill fails only when much of the heap is taken. */
    static void check(String name) {
        long bytes = made;
        made = 0;
        if (bytes < HEAP / 3) say(name, ": failed with ", String.valueOf(bytes), " of ", String.valueOf(HEAP));
    }

    /** Links nothing: what is printed first after a failure must not need much. */
    static void say(String... parts) {
        StringBuilder line = new StringBuilder();
        for (String part : parts) line.append(part);
        System.out.println(line);
    }

    static void exhaust(String name, Supplier<Object> work) {
        made = 0;
        try {
            say(name, ": ", String.valueOf(work.get()));
        } catch (OutOfMemoryError e) {
            check(name);
            if (!"Java heap space".equals(e.getMessage())) say(name, ": ", e.toString());
        }
    }

    /** The heap serves again: half of it in one structure, the other kinds beside it. */
    static void use() {
        List<byte[]> half = new ArrayList<>();
        for (long bytes = 0; bytes < HEAP / 2; bytes += 10_000) half.add(new byte[10_000]);
        long sum = 0;
        for (byte[] bytes : half) sum += bytes.length;
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < 1000; i++) text.append(i);
        say("served: ", String.valueOf(sum >= HEAP / 2), " ", String.valueOf(text.length()));
    }

    /**
     * Threads that fill the heap at once, each until it fails; the one that waits for them must
     * make nothing.
     */
    static void beside() throws InterruptedException {
        CountDownLatch start = new CountDownLatch(1);
        Thread[] threads = new Thread[3];
        for (int i = 0; i < threads.length; i++) {
            threads[i] = new Thread(() -> {
                List<Object> own = new ArrayList<>();
                try {
                    start.await();
                    while (true) own.add(new long[100]);
                } catch (OutOfMemoryError e) {
                    own = null;
                } catch (InterruptedException e) {
                    throw new AssertionError(e);
                }
            });
            threads[i].start();
        }
        start.countDown();
        for (Thread thread : threads) thread.join();
    }

    static void tooLarge() {
        long[] sizes = {Integer.MAX_VALUE, Integer.MAX_VALUE - 8, HEAP / 8 + 1000};
        for (long size : sizes) {
            try {
                System.out.println(new long[(int) size].length);
            } catch (OutOfMemoryError e) {
                System.out.println(e.getMessage());
            }
        }
    }

    public static void main(String[] args) throws Exception {
        for (int round = 0; round < ROUNDS; round++) {
            exhaust("chain", Exhausted::chain);
            exhaust("small arrays", () -> arrays(200));
            exhaust("large arrays", () -> arrays(300_000));
            exhaust("strings", Exhausted::strings);
            exhaust("deep", () -> deep(50, null));
            exhaust("locked", Exhausted::locked);
            exhaust("again", Exhausted::again);
            exhaust("turns", Exhausted::turns);
            beside();
            tooLarge();
            use();
        }
        System.out.println("done");
    }
}
