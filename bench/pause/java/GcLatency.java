// SPDX-License-Identifier: Apache-2.0

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;

/**
 * Experiment gc-latency: a periodic thread that allocates in each release, and a live set with
 * garbage beside it.
 *
 * <p>{@code GcLatency samples=FILE [load=heavy] [seconds=30] ...}. Says {@code tid N} and waits for
 * a line: its starter gives thread N its policy meanwhile, so that no machine needs code of
 * its own for that. Then the window; figures as {@code name=value} words; a second line ends the
 * program. The samples are lines of release, lateness of its start and time in work, in nanoseconds
 * on the monotonic clock.
 */
final class GcLatency {
    /** 16 bytes behind a header of 12. */
    static final class Small {
        Small next;
    }

    /** 64 bytes behind a header of 12. */
    static final class Node {
        Node a;
        Node b;
        long p0;
        long p1;
        long p2;
        long p3;
        long p4;
    }

    static final int NODE_BYTES = 64;
    static final int RING = 65_536;
    static final int NODES_PER_RELEASE = 64;
    static final int OBJECTS_PER_RELEASE = 8;
    static final int LIVE_CHUNK = 1024;
    /** Releases in a row before the first period: what a machine compiles late it compiles here. */
    static final int WARM_RELEASES = 30_000;

    private final Map<String, String> options = new HashMap<>();
    private final String load;
    private final long periodNs;
    /** The thread wakes this long before its release and looks at the clock until then. */
    private final long spinNs;
    private final int warmup;
    private final int releases;
    private final long[] dueNs;
    private final long[] lateNs;
    private final long[] workNs;
    private long missed;
    private final Node[] ring = new Node[RING];
    private int position;
    /** Seen by other threads: no compiler may leave an object out. */
    static volatile Small kept;

    private volatile boolean isStopping;
    private volatile long garbageBytes;
    private final CountDownLatch isKnown = new CountDownLatch(1);
    private final CountDownLatch isReady = new CountDownLatch(1);
    private volatile long tid;
    private final long[] before = new long[4];
    private final long[] after = new long[4];

    private GcLatency(String[] arguments) {
        for (String argument : arguments) {
            int at = argument.indexOf('=');
            options.put(argument.substring(0, at), argument.substring(at + 1));
        }
        load = options.getOrDefault("load", "heavy");
        spinNs = number("spin_ns", 100_000);
        periodNs = number("period_us", 1000) * 1000;
        warmup = (int) (number("warmup", 10) * 1_000_000_000L / periodNs);
        releases = (int) (number("seconds", 30) * 1_000_000_000L / periodNs);
        dueNs = new long[warmup + releases];
        lateNs = new long[warmup + releases];
        workNs = new long[warmup + releases];
    }

    private long number(String name, long otherwise) {
        String text = options.get(name);
        return text == null ? otherwise : Long.parseLong(text);
    }

    public static void main(String[] arguments) throws Exception {
        new GcLatency(arguments).run();
    }

    private void run() throws Exception {
        Node[][] live = load.equals("heavy") ? build((int) number("live_mb", 200)) : new Node[1][LIVE_CHUNK];
        System.gc();
        long garbageMb = load.equals("heavy") ? number("garbage_mb", 200) : 0;
        Thread beside = new Thread(() -> garbage(live, (int) (garbageMb * 1000 / NODE_BYTES)), "garbage");
        beside.setDaemon(true);
        Thread measured = new Thread(this::measured, "measured");
        measured.start();
        isKnown.await();
        System.out.println("tid " + tid);
        System.out.flush();
        readLine();
        if (garbageMb > 0) {
            beside.start();
        }
        isReady.countDown();
        measured.join();
        isStopping = true;
        report();
        readLine();
        System.exit(0);
    }

    private static void readLine() throws IOException {
        for (int read = System.in.read(); read >= 0 && read != '\n';) {
            read = System.in.read();
        }
    }

    // --- the measured thread ---

    private void measured() {
        try {
            String own = Files.readSymbolicLink(Path.of("/proc/thread-self")).getFileName().toString();
            readOwn(before);
            readOwn(after);
            tid = Long.parseLong(own);
            isKnown.countDown();
            isReady.await();
            for (int index = 0; index < WARM_RELEASES; index++) {
                release();
                if (index % 100 == 99) {
                    LockSupport.parkNanos(500_000);
                }
            }
            loop(0, warmup);
            missed = 0;
            readOwn(before);
            loop(warmup, warmup + releases);
            readOwn(after);
        } catch (IOException | InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private void loop(int from, int to) {
        // A quarter after a multiple of the period: ticks come at multiples of theirs, the control
        // at three quarters.
        long due = (System.nanoTime() / periodNs + 2) * periodNs + periodNs / 4;
        for (int index = from; index < to; index++) {
            long start = waitUntil(due);
            release();
            long end = System.nanoTime();
            dueNs[index] = due;
            lateNs[index] = start - due;
            workNs[index] = end - start;
            due += periodNs;
            // Releases that came and went meanwhile are counted, not made up for.
            while (due < end) {
                due += periodNs;
                missed++;
            }
        }
    }

    private long waitUntil(long due) {
        long sleepUntil = due - spinNs;
        long now = System.nanoTime();
        while (now < sleepUntil) {
            LockSupport.parkNanos(sleepUntil - now);
            now = System.nanoTime();
        }
        while (now < due) {
            Thread.onSpinWait();
            now = System.nanoTime();
        }
        return now;
    }

    private void release() {
        switch (load) {
            case "none" -> { }
            case "acyclic" -> small(OBJECTS_PER_RELEASE, false);
            case "cyclic" -> small(OBJECTS_PER_RELEASE, true);
            case "mixed" -> {
                small(OBJECTS_PER_RELEASE / 2, false);
                small(OBJECTS_PER_RELEASE / 2, true);
            }
            case "heavy" -> nodes();
            default -> throw new IllegalArgumentException(load);
        }
    }

    /** Objects given up at once; in a circle or each alone. */
    private static void small(int count, boolean isCircle) {
        Small first = null;
        Small last = null;
        for (int index = 0; index < count; index++) {
            Small one = new Small();
            if (isCircle) {
                one.next = first;
                last = last == null ? one : last;
                first = one;
            }
            kept = one;
        }
        if (isCircle) {
            last.next = first;
        }
        kept = null;
    }

    private void nodes() {
        Node previous = null;
        for (int index = 0; index < NODES_PER_RELEASE; index++) {
            Node node = new Node();
            node.a = previous;
            Node old = ring[position];
            node.b = old;
            if (old != null) {
                old.b = null;
            }
            ring[position] = node;
            position = (position + 1) & RING - 1;
            previous = node;
        }
    }

    /**
     * Of the calling thread: page faults, time on a processor, time ready without one, involuntary
     * switches.
     */
    private static void readOwn(long[] into) throws IOException {
        String stat = Files.readString(Path.of("/proc/thread-self/stat"));
        String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ");
        into[0] = Long.parseLong(fields[7]) + Long.parseLong(fields[9]);
        String[] times = Files.readString(Path.of("/proc/thread-self/schedstat")).trim().split(" ");
        into[1] = Long.parseLong(times[0]);
        into[2] = Long.parseLong(times[1]);
        for (String line : Files.readAllLines(Path.of("/proc/thread-self/status"))) {
            if (line.startsWith("nonvoluntary_ctxt_switches:")) {
                into[3] = Long.parseLong(line.substring(line.indexOf(':') + 1).trim());
            }
        }
    }

    // --- beside it ---

    private static int random(long[] state) {
        long x = state[0];
        x ^= x << 13;
        x ^= x >>> 7;
        x ^= x << 17;
        state[0] = x;
        return (int) (x >>> 33);
    }

    private static Node[][] build(int megabytes) {
        Node[][] live = new Node[(int) Math.max(1, megabytes * 1_000_000L / (NODE_BYTES + 4) / LIVE_CHUNK)][];
        long[] state = {88_172_645_463_325_252L};
        for (int chunk = 0; chunk < live.length; chunk++) {
            Node[] nodes = new Node[LIVE_CHUNK];
            for (int index = 0; index < LIVE_CHUNK; index++) {
                Node node = new Node();
                node.a = index > 0 ? nodes[index - 1] : null;
                node.b = chunk > 0 ? live[random(state) % chunk][random(state) % LIVE_CHUNK] : null;
                nodes[index] = node;
            }
            live[chunk] = nodes;
        }
        return live;
    }

    private void garbage(Node[][] live, int nodesPerMs) {
        long[] state = {1_234_567L};
        Node keep = null;
        long due = System.nanoTime();
        while (!isStopping) {
            for (int index = 0; index < nodesPerMs; index++) {
                Node node = new Node();
                node.a = keep;
                node.p0 = index;
                keep = (index & 15) == 0 ? null : node;
                if ((index & 15) == 7) {
                    replace(live, state, node);
                }
            }
            garbageBytes += (long) nodesPerMs * NODE_BYTES;
            due += 1_000_000;
            long now = System.nanoTime();
            if (due > now) {
                LockSupport.parkNanos(due - now);
            }
            // What a pause kept it from allocating it allocates afterwards, up to a second's worth.
            due = Math.max(due, now - 1_000_000_000);
        }
    }

    /** An old object gets a reference to a new one, and a neighbour loses one. */
    private static void replace(Node[][] live, long[] state, Node node) {
        Node[] nodes = live[random(state) % live.length];
        int place = random(state) & LIVE_CHUNK - 1;
        node.a = null;
        node.b = nodes[place + 1 & LIVE_CHUNK - 1];
        if (node.b != null) {
            node.b.b = null;
        }
        nodes[place] = node;
    }

    // --- figures ---

    private void report() throws IOException {
        StringBuilder text = new StringBuilder();
        for (int index = warmup; index < warmup + releases; index++) {
            text.append(dueNs[index]).append(' ').append(lateNs[index]).append(' ').append(workNs[index]).append('\n');
        }
        Files.writeString(Path.of(options.get("samples")), text);
        String[] names = {"page_faults", "cpu_ns", "ready_ns", "involuntary"};
        StringBuilder words = new StringBuilder("figures");
        for (int index = 0; index < names.length; index++) {
            words.append(' ').append(names[index]).append('=').append(after[index] - before[index]);
        }
        words.append(" missed=").append(missed);
        words.append(" garbage_bytes=").append(garbageBytes);
        words.append(" start_ns=").append(dueNs[warmup]);
        words.append(" end_ns=").append(dueNs[warmup + releases - 1]);
        System.out.println(words);
        System.out.flush();
    }
}
