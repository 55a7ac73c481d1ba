// SPDX-License-Identifier: Apache-2.0

import java.lang.ref.Cleaner;
import java.lang.ref.PhantomReference;
import java.lang.ref.ReferenceQueue;
import java.lang.ref.SoftReference;
import java.lang.ref.WeakReference;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.WeakHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.zip.CRC32;
import java.util.zip.Deflater;
import java.util.zip.Inflater;

/** Objects of all kinds, and the references that tell when they are gone. */
final class Allocating {
    /** A node that knows itself; its edges change all the time. */
    private static final class Node {
        final int id;
        final int guard;
        Node[] edges = new Node[3];
        Object payload;

        Node(int id) {
            this.id = id;
            guard = ~id;
        }

        void check() {
            Stress.check(guard == ~id, "node " + id + " is not itself");
        }
    }

    private static final Node[] GRAPH = new Node[3000];

    /**
     * A graph with cycles in which nodes are replaced; a shadow of numbers says what each edge must
     * be.
     */
    private static final int[][] SHADOW = new int[GRAPH.length][3];

    static long graph(Stress.Random64 random) {
        if (GRAPH[0] == null) {
            for (int i = 0; i < GRAPH.length; i++) {
                GRAPH[i] = new Node(i);
                Arrays.fill(SHADOW[i], -1);
            }
        }
        for (int i = 0; i < 2000; i++) {
            int at = random.below(GRAPH.length);
            int edge = random.below(3);
            int to = random.below(GRAPH.length);
            if (random.below(10) == 0) {
                // Edges to the old node stay: it lives on among its neighbours until they forget
                // it, in a circle with the new one, but holds nobody else.
                Node old = GRAPH[at];
                GRAPH[at] = new Node(at);
                GRAPH[at].edges = old.edges.clone();
                Arrays.fill(old.edges, old);
                old.payload = GRAPH[at];
                GRAPH[at].payload = random.below(4) == 0 ? old : new byte[random.below(200)];
            } else {
                GRAPH[at].edges[edge] = GRAPH[to];
                SHADOW[at][edge] = to;
            }
        }
        for (int i = 0; i < GRAPH.length; i++) {
            GRAPH[i].check();
            for (int edge = 0; edge < 3; edge++) {
                Node to = GRAPH[i].edges[edge];
                Stress.check((to == null ? -1 : to.id) == SHADOW[i][edge], "edge " + edge + " of " + i);
                if (to != null) {
                    to.check();
                    // Generations of replaced nodes must not hang on each other for ever.
                    if (to != GRAPH[to.id]) {
                        GRAPH[i].edges[edge] = GRAPH[to.id];
                    }
                }
            }
        }
        return GRAPH.length * 4L;
    }

    /**
     * Arrays of all kinds and sizes: zeroed, cloned, copied over each other, nested, large, outside
     * the heap.
     */
    static long arrays(Stress.Random64 random) {
        int size = 1 << random.below(random.below(64) == 0 ? 17 : 14);
        size += random.below(size);
        long[] longs = new long[size / 8 + 1];
        byte[] bytes = new byte[size];
        for (long value : longs) {
            Stress.check(value == 0, "memory is not zero");
        }
        for (int i = 0; i < size; i++) {
            Stress.check(bytes[i] == 0, "memory is not zero");
            bytes[i] = (byte) i;
        }
        byte[] copy = bytes.clone();
        int shift = random.below(size);
        System.arraycopy(copy, 0, copy, shift, size - shift);
        for (int i = 0; i < size; i += 7) {
            Stress.check(copy[i] == (byte) (i < shift ? i : i - shift), "copied");
        }
        Integer[] boxes = new Integer[size / 64 + 2];
        Arrays.setAll(boxes, i -> i * 1000);
        Object[] objects = boxes.clone();
        System.arraycopy(objects, 0, objects, 1, objects.length - 1);
        Stress.check(objects[objects.length - 1].equals((objects.length - 2) * 1000), "shifted");
        Arrays.sort(boxes, (one, other) -> other - one);
        Stress.check(boxes[0] == (boxes.length - 1) * 1000, "sorted");
        int[][][] nested = new int[3][random.below(20) + 1][random.below(50) + 1];
        nested[2][0][0] = 9;
        Stress.check(Arrays.stream(nested).flatMap(Arrays::stream).flatMapToInt(Arrays::stream).sum() == 9, "nested");
        ByteBuffer direct = ByteBuffer.allocateDirect(random.below(4096) + 8);
        direct.putLong(0, size);
        Stress.check(direct.getLong(0) == size, "direct");
        return 5;
    }

    private static final Cleaner CLEANER = Cleaner.create();
    private static final AtomicInteger CLEANED = new AtomicInteger();
    private static final AtomicInteger FINALIZED = new AtomicInteger();
    private static int toClean;
    private static int toFinalize;

    private static final class Finalized {
        private final int[] data = {1, 2, 3};

        @Override
        protected void finalize() {
            Stress.check(data[2] == 3, "a finalised object is whole");
            FINALIZED.incrementAndGet();
        }
    }

    /**
     * Weak, soft and phantom references, cleaners, finalisers: none too early, and all in the end.
     */
    static long references(Stress.Random64 random) throws Exception {
        ReferenceQueue<Object> queue = new ReferenceQueue<>();
        int count = 50 + random.below(100);
        List<Object> kept = new ArrayList<>();
        List<WeakReference<Object>> weak = new ArrayList<>();
        Map<PhantomReference<Object>, Integer> phantoms = new IdentityHashMap<>();
        WeakHashMap<Object, Integer> map = new WeakHashMap<>();
        SoftReference<int[]> soft = new SoftReference<>(new int[] {5});
        for (int i = 0; i < count; i++) {
            Object object = new Object[] {i};
            weak.add(new WeakReference<>(object));
            map.put(object, i);
            if (i % 3 == 0) {
                kept.add(object);
            } else {
                phantoms.put(new PhantomReference<>(object, queue), i);
            }
            CLEANER.register(object, CLEANED::incrementAndGet);
            if (i % 10 == 0) {
                new Finalized();
                toFinalize++;
            }
        }
        toClean += count;
        Stress.check(soft.get() == null || soft.get()[0] == 5, "soft");
        for (int i = 0; i < count; i += 3) {
            Object object = weak.get(i).get();
            Stress.check(object != null && object == kept.get(i / 3) && map.get(object) == i, "held, yet cleared");
        }
        int pending = phantoms.size();
        long start = System.nanoTime();
        while (pending > 0) {
            var found = queue.remove(20);
            if (found == null) {
                System.gc();
                // A word on a stack may name a dead object: a few may stay for as long as it does.
                if (System.nanoTime() - start > 2_000_000_000L && pending <= 4 || Stress.isOver) {
                    break;
                }
                Stress.check(System.nanoTime() - start < 60_000_000_000L, pending + " phantoms are never enqueued");
                continue;
            }
            Stress.check(phantoms.remove(found) != null, "enqueued once");
            pending--;
        }
        Stress.check(kept.size() == (count + 2) / 3, "kept");
        start = System.nanoTime();
        while (toClean - CLEANED.get() > 2000 || toFinalize - FINALIZED.get() > 200) {
            System.gc();
            Thread.sleep(1);
            Stress.check(System.nanoTime() - start < 60_000_000_000L, "cleaners fall behind: "
                + CLEANED + " of " + toClean + ", " + FINALIZED + " of " + toFinalize);
        }
        Stress.check(CLEANED.get() <= toClean && FINALIZED.get() <= toFinalize, "once each");
        return count;
    }

    private record Entry(String name, int number) {}

    /** Strings, collections, streams, compression. */
    static long strings(Stress.Random64 random) throws Exception {
        StringBuilder builder = new StringBuilder();
        Map<String, Integer> words = new HashMap<>();
        for (int i = 0; i < 500; i++) {
            String word = "w" + random.below(97) + (i % 5 == 0 ? "\u00e4\u4e2d" : "");
            words.merge(word, 1, Integer::sum);
            builder.append(word).append(' ');
        }
        Stress.check(words.values().stream().mapToInt(it -> it).sum() == 500, "counted");
        String text = builder.toString();
        Stress.check(text.split(" ").length == 500, "split");
        Stress.check(new String(text.getBytes("UTF-8"), "UTF-8").equals(text), "encoded");
        String named = "w" + random.below(50);
        Stress.check(named.intern() == new StringBuilder(named).toString().intern(), "interned");
        TreeMap<Integer, List<Entry>> groups = IntStream.range(0, 200)
            .mapToObj(i -> new Entry("e" + i, i % 10))
            .collect(Collectors.groupingBy(Entry::number, TreeMap::new, Collectors.toList()));
        Stress.check(groups.size() == 10 && groups.get(3).get(1).equals(new Entry("e13", 3)), "grouped");
        byte[] input = text.getBytes("UTF-8");
        byte[] packed = new byte[input.length + 64];
        Deflater deflater = new Deflater(1);
        deflater.setInput(input);
        deflater.finish();
        int length = deflater.deflate(packed);
        deflater.end();
        Inflater inflater = new Inflater();
        inflater.setInput(packed, 0, length);
        byte[] output = new byte[input.length];
        int found = inflater.inflate(output);
        inflater.end();
        CRC32 one = new CRC32();
        CRC32 other = new CRC32();
        one.update(input);
        other.update(output, 0, found);
        Stress.check(one.getValue() == other.getValue() && found == input.length, "packed and unpacked");
        return 6;
    }

    private Allocating() {}
}
