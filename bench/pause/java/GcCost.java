// SPDX-License-Identifier: Apache-2.0

import java.util.Arrays;

/**
 * Experiment gc-cost: what an allocation, a reference store and a read cost. {@code GcCost
 * [batches]} prints a line for each: name, nanoseconds of the median batch and of the mean one,
 * pauses included.
 */
final class GcCost {
    static final class Small {
        Small next;
    }

    /** One operation many times: the number of times. */
    private interface Batch {
        int run();
    }

    private static final int ALLOCATIONS = 200;
    private static final int STORES = 80;
    private static final int OLD = 65_536;
    private static final int READS = 4096;
    private static final int COPY = 1024;

    private final Small[] old = new Small[OLD];
    private final Small[] chain = new Small[OLD];
    private final Small[] copied = new Small[COPY];
    private final Small[] four = new Small[4];
    private int position;
    static Small sink;

    private GcCost() {
        // Linked in an order that no prefetcher guesses, within a second-level cache.
        for (int index = 0; index < OLD; index++) {
            old[index] = new Small();
            chain[index] = new Small();
        }
        for (int index = 0; index < OLD; index++) {
            chain[index].next = chain[index * 25_173 + 13_849 & OLD - 1];
        }
    }

    public static void main(String[] arguments) {
        int batches = arguments.length > 0 ? Integer.parseInt(arguments[0]) : 100_000;
        GcCost it = new GcCost();
        System.gc();
        measure("allocation", batches, it::allocate);
        measure("store_young", batches, it::storeYoung);
        measure("store_old", batches, it::storeOld);
        measure("store_element", batches, it::storeElement);
        measure("read", batches / 4, it::read);
        measure("copy_element", batches, it::copy);
    }

    private static void measure(String name, int batches, Batch batch) {
        for (int index = 0; index < Math.max(batches, 20_000); index++) {
            batch.run();
        }
        double[] perOperation = new double[batches];
        double sum = 0;
        for (int index = 0; index < batches; index++) {
            long start = System.nanoTime();
            int count = batch.run();
            perOperation[index] = (double) (System.nanoTime() - start) / count;
            sum += perOperation[index];
        }
        Arrays.sort(perOperation);
        System.out.println(name + " " + perOperation[batches / 2] + " " + sum / batches);
    }

    /** 200 objects of 16 bytes in a chain, given up with the next batch. */
    private int allocate() {
        Small last = null;
        for (int index = 0; index < ALLOCATIONS; index++) {
            Small one = new Small();
            one.next = last;
            last = one;
        }
        sink = last;
        return ALLOCATIONS;
    }

    /** 80 stores into four new objects. */
    private int storeYoung() {
        for (int index = 0; index < 4; index++) {
            four[index] = new Small();
        }
        Small value = four[3];
        for (int index = 0; index < STORES; index++) {
            four[index & 3].next = value;
        }
        return STORES;
    }

    /**
     * 80 stores into old objects, another 80 each time: under {@code rc} most are the first of
     * their epoch.
     */
    private int storeOld() {
        Small value = four[0];
        for (int index = 0; index < STORES; index++) {
            old[position].next = value;
            position = position + 1 & OLD - 1;
        }
        return STORES;
    }

    /** 80 stores into a long old array. */
    private int storeElement() {
        Small value = four[1];
        for (int index = 0; index < STORES; index++) {
            old[position] = value;
            position = position + 1 & OLD - 1;
        }
        return STORES;
    }

    /** A walk over references. */
    private int read() {
        Small at = chain[position & OLD - 1];
        for (int index = 0; index < READS; index++) {
            at = at.next;
        }
        sink = at;
        return READS;
    }

    /** 1024 references from array to array. */
    private int copy() {
        System.arraycopy(chain, position & OLD - 1 - COPY, copied, 0, COPY);
        position = position + 1 & OLD - 1;
        return COPY;
    }
}
