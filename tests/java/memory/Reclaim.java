// SPDX-License-Identifier: Apache-2.0 Memory comes back while threads make, share, lock, throw and
// forget: run in a heap so small that it is collected hundreds of times. Every structure is checked
// against what must be in it; output is the same on any machine.

import java.lang.ref.WeakReference;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicReference;

class Reclaim {
    static final int ROUNDS = Integer.getInteger("rounds", 4);

    /** A node that knows what its neighbours must be. */
    static class Node {
        Node left, right;
        final int id;
        final int[] payload;

        Node(int id, int size) {
            this.id = id;
            payload = new int[size];
            java.util.Arrays.fill(payload, id);
        }

        void check() {
            for (int value : payload) {
                if (value != id) throw new AssertionError("node " + id + " holds " + value);
            }
        }
    }

    interface Part {
        long run(int round) throws Exception;
    }

    static Node tree(int depth, int id) {
        Node node = new Node(id, depth % 7);
        if (depth > 0) {
            node.left = tree(depth - 1, 2 * id);
            node.right = tree(depth - 1, 2 * id + 1);
        }
        return node;
    }

    static long sum(Node node) {
        if (node == null) return 0;
        node.check();
        return node.id + sum(node.left) + sum(node.right);
    }

    /** Trees: acyclic garbage, deep stacks. */
    static long trees(int round) {
        long sum = 0;
        for (int i = 0; i < 12; i++) sum += sum(tree(9, 1 + i));
        return sum + round;
    }

    /** Rings: garbage that counting alone does not find. */
    static long rings(int round) {
        long sum = 0;
        for (int ring = 0; ring < 300; ring++) {
            Node first = new Node(ring, 3), last = first;
            for (int i = 1; i < 20; i++) {
                Node next = new Node(ring * 20 + i, i);
                next.right = last;
                last.left = next;
                last = next;
            }
            last.left = first;
            first.right = last;
            Node at = first;
            do {
                at.check();
                sum += at.id;
                at = at.left;
            } while (at != first);
        }
        return sum + round;
    }

    /** Arrays of every size, from none to large objects, overlapping copies and clones. */
    static long arrays(int round) {
        long sum = 0;
        for (int size : new int[] {0, 1, 31, 32, 33, 100, 1000, 5000, 20_000}) {
            Node[] nodes = new Node[size];
            for (int i = 0; i < size; i++) nodes[i] = new Node(i, 1);
            Node[] copy = nodes.clone();
            if (size > 1) System.arraycopy(nodes, 0, nodes, 1, size - 1);
            for (int i = 0; i < size; i++) {
                copy[i].check();
                nodes[i].check();
                if (copy[i].id != i || nodes[i].id != Math.max(0, i - 1)) throw new AssertionError();
                sum += nodes[i].id;
            }
            byte[] bytes = new byte[size * 8];
            for (byte b : bytes) if (b != 0) throw new AssertionError("memory is not zero");
        }
        byte[] big = new byte[700_000];
        big[big.length - 1] = 7;
        return sum + big[big.length - 1] + round;
    }

    /** A map that lives on while its values change: old objects point to new ones. */
    static final ConcurrentHashMap<Integer, Node> SHARED = new ConcurrentHashMap<>();

    static long shared(int round) {
        for (int i = 0; i < 3000; i++) {
            Node node = new Node(i, 4);
            // From here on others see the node, and may let go of what it is given below.
            Node before = SHARED.put(i % 500, node);
            node.left = before;
            if (before != null) before.left = null;
            Node other = SHARED.get((i * 7) % 500);
            if (other != null) other.check();
        }
        SHARED.keySet().removeIf(key -> (key + round) % 11 == 0);
        return round;
    }

    /** Exceptions with traces, strings, lambdas, boxes. */
    static long exceptions(int round) {
        long sum = 0;
        for (int i = 0; i < 200; i++) {
            try {
                fail(i % 20, "round " + i);
            } catch (IllegalStateException e) {
                if (!e.getMessage().equals("round " + i)) throw new AssertionError(e);
                if (e.getStackTrace().length < i % 20) throw new AssertionError("short trace");
                sum += e.getMessage().length();
            }
        }
        HashMap<String, Integer> words = new HashMap<>();
        for (int i = 0; i < 2000; i++) words.merge("word" + i % 97, 1, Integer::sum);
        return sum + words.values().stream().mapToInt(it -> it).sum() + round;
    }

    static void fail(int depth, String message) {
        if (depth == 0) throw new IllegalStateException(message);
        fail(depth - 1, message);
    }

    /** Monitors, contended and waited on. */
    static final Object LOCK = new Object();
    static final ArrayDeque<Node> QUEUE = new ArrayDeque<>();

    static long monitors(int round) {
        for (int i = 0; i < 400; i++) {
            synchronized (LOCK) {
                QUEUE.addLast(new Node(i, 2));
                if (QUEUE.size() > 64) QUEUE.removeFirst().check();
                LOCK.notifyAll();
            }
            synchronized (new Node(i, 1)) {
                if (Thread.holdsLock(LOCK)) throw new AssertionError();
            }
        }
        return round;
    }

    /** Weak references answer with their object or with null, never with another. */
    static long weak(int round) {
        List<WeakReference<Node>> weak = new ArrayList<>();
        List<Node> held = new ArrayList<>();
        for (int i = 0; i < 1000; i++) {
            Node node = new Node(i, 2);
            weak.add(new WeakReference<>(node));
            if (i % 3 == 0) held.add(node);
        }
        for (int i = 0; i < 1000; i++) {
            Node node = weak.get(i).get();
            if (node == null && i % 3 == 0) throw new AssertionError("held and cleared");
            if (node == null) continue;
            node.check();
            if (node.id != i) throw new AssertionError("another object");
        }
        return held.size() + round;
    }

    /** Objects handed from thread to thread. */
    static final AtomicReference<Node> BALL = new AtomicReference<>();

    static long handed(int round) {
        for (int i = 0; i < 3000; i++) {
            Node old = BALL.getAndSet(new Node(i, 3));
            if (old != null) {
                old.check();
                old.left = null;
            }
        }
        return round;
    }

    /** Threads that start, leave something and end. */
    static long threads(int round) throws Exception {
        BlockingQueue<Node> queue = new ArrayBlockingQueue<>(8);
        Thread[] threads = new Thread[3];
        for (int t = 0; t < threads.length; t++) {
            int base = t * 100;
            threads[t] = new Thread(() -> {
                try {
                    for (int i = 0; i < 50; i++) queue.put(new Node(base + i, 5));
                } catch (InterruptedException e) {
                    throw new AssertionError(e);
                }
            });
            threads[t].start();
        }
        long sum = 0;
        for (int i = 0; i < 150; i++) {
            Node node = queue.take();
            node.check();
            sum += node.id;
        }
        for (Thread thread : threads) thread.join();
        return sum + round;
    }

    public static void main(String[] args) throws Exception {
        Part[] parts = {
            Reclaim::trees, Reclaim::rings, Reclaim::arrays, Reclaim::shared, Reclaim::exceptions,
            Reclaim::monitors, Reclaim::weak, Reclaim::handed, Reclaim::threads,
        };
        long[] sums = new long[3];
        List<Throwable> failures = new ArrayList<>();
        Thread[] threads = new Thread[sums.length];
        for (int t = 0; t < threads.length; t++) {
            int own = t;
            threads[t] = new Thread(() -> {
                try {
                    for (int round = 0; round < ROUNDS; round++) {
                        for (int i = 0; i < parts.length; i++) {
                            sums[own] += parts[(i + own * 3) % parts.length].run(round);
                        }
                    }
                } catch (Throwable e) {
                    synchronized (failures) {
                        failures.add(e);
                    }
                }
            });
            threads[t].start();
        }
        for (Thread thread : threads) thread.join();
        for (Throwable failure : failures) failure.printStackTrace();
        for (long sum : sums) System.out.println(sum);
    }
}
