// SPDX-License-Identifier: Apache-2.0
package org.example.heartbeat;

import android.os.SystemClock;

/**
 * An ordinary thread that holds a live set and makes garbage at a steady rate, beside the task:
 * linked nodes of 64 bytes, some of which replace living ones, so that a collector has to look at
 * all of them.
 */
final class Garbage extends Thread {
    private static final int NODE_BYTES = 64;
    private static final int NODES_PER_LIST = 1024;
    private static final int MEGABYTE = 1_000_000;
    private static final int NODES_PER_REPLACEMENT = 16;

    private final int nodesPerMilli;
    private final Node[][] live;
    private volatile boolean ends;
    private volatile long nodes;
    private Node youngest;

    /**
     * @param liveMegabytes held from the start to the end
     * @param megabytesPerSecond of garbage, as far as the machine allows
     */
    Garbage(int liveMegabytes, int megabytesPerSecond) {
        super("garbage");
        setDaemon(true);
        nodesPerMilli = megabytesPerSecond * (MEGABYTE / 1000) / NODE_BYTES;
        live = new Node[Math.max(1, liveMegabytes * (MEGABYTE / NODES_PER_LIST) / NODE_BYTES)][];
        for (int list = 0; list < live.length; list++) {
            live[list] = newList();
        }
    }

    private static Node[] newList() {
        Node[] list = new Node[NODES_PER_LIST];
        for (int index = 0; index < NODES_PER_LIST; index++) {
            list[index] = new Node(index == 0 ? null : list[index - 1]);
        }
        return list;
    }

    @Override
    public void run() {
        try {
            long begun = SystemClock.elapsedRealtime();
            for (long milli = 1; !ends; milli++) {
                makeGarbage();
                long ahead = begun + milli - SystemClock.elapsedRealtime();
                if (ahead > 0) {
                    Thread.sleep(ahead);
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void makeGarbage() {
        for (int index = 0; index < nodesPerMilli; index++) {
            youngest = new Node(index % NODES_PER_REPLACEMENT == 0 ? null : youngest);
            if (index % NODES_PER_REPLACEMENT == 0) {
                replace(live[(int) ((nodes + index) * 31 % live.length)], (int) ((nodes + index) / 7 % NODES_PER_LIST));
            }
        }
        nodes += nodesPerMilli;
    }

    /** A young node takes an old one's place; the old one dies as a cycle. */
    private static void replace(Node[] list, int index) {
        Node old = list[index];
        old.self = old;
        Node young = new Node(old.next);
        list[index] = young;
        if (index + 1 < NODES_PER_LIST) {
            list[index + 1].next = young;
        }
    }

    long megabytes() {
        return nodes * NODE_BYTES / MEGABYTE;
    }

    void end() {
        ends = true;
    }

    /** 64 bytes with its header. */
    @SuppressWarnings("unused") // the payload is there to be allocated and zeroed
    private static final class Node {
        private Node next;
        private Node self;
        private int padding;
        private long a, b, c, d, e;

        Node(Node next) {
            this.next = next;
        }
    }
}
