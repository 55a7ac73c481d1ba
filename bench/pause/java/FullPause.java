// SPDX-License-Identifier: Apache-2.0

/**
 * The live set of bench-gc's load heavy, and full collections of it: {@code FullPause LIVE_MB
 * GARBAGE_MB ROUNDS}.
 *
 * <p>Per round as much garbage as said, of which one node in sixteen replaces a live one, then
 * {@code System.gc()}. The machine's own log says how long it paused; this prints how long the call
 * took.
 */
final class FullPause {
    /** 64 bytes with 32-bit references, as heap's nodes. */
    private static final class Node {
        Node a;
        Node b;
        long p0;
        long p1;
        long p2;
        long p3;
        long p4;
    }

    private static final int CHUNK = 1024;
    private static final int NODE_BYTES = 64;

    private final Node[][] live;
    private long random = 88172645463325252L;

    private FullPause(int liveMb) {
        live = new Node[liveMb * 1_000_000 / (NODE_BYTES + 4) / CHUNK][];
        for (int chunk = 0; chunk < live.length; chunk++) {
            Node[] nodes = new Node[CHUNK];
            for (int index = 0; index < CHUNK; index++) {
                Node node = new Node();
                node.a = index > 0 ? nodes[index - 1] : null;
                node.b = chunk > 0 ? live[below(chunk)][below(CHUNK)] : null;
                nodes[index] = node;
            }
            live[chunk] = nodes;
        }
    }

    private void makeGarbage(int nodes) {
        Node kept = null;
        for (int count = 1; count <= nodes; count++) {
            Node node = new Node();
            node.a = kept;
            kept = count % 16 == 0 ? null : node;
            if (count % 16 == 7) {
                replace(node);
            }
        }
    }

    private void replace(Node node) {
        Node[] nodes = live[below(live.length)];
        int place = below(CHUNK);
        Node neighbour = nodes[(place + 1) % CHUNK];
        node.a = null;
        node.b = neighbour;
        if (neighbour != null) {
            neighbour.b = null;
        }
        nodes[place] = node;
    }

    private int below(int bound) {
        random ^= random << 13;
        random ^= random >>> 7;
        random ^= random << 17;
        return (int) ((random >>> 32) * bound >>> 32);
    }

    public static void main(String[] arguments) {
        FullPause it = new FullPause(Integer.parseInt(arguments[0]));
        int garbage = Integer.parseInt(arguments[1]) * 1_000_000 / NODE_BYTES;
        for (int round = Integer.parseInt(arguments[2]); round > 0; round--) {
            it.makeGarbage(garbage);
            long start = System.nanoTime();
            System.gc();
            System.out.println("call " + (System.nanoTime() - start));
        }
    }
}
