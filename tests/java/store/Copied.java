// SPDX-License-Identifier: Apache-2.0

import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.List;

/** Begins in a template, and goes on in each copy of it: see crates/vm/tests/copied.c. */
final class Copied {
    private static final int ROUNDS = 20_000;
    private static final int KEPT = 50_000;
    private static final List<int[]> kept = new ArrayList<>();
    private static volatile String early = "nobody";
    private static Thread thread;
    private static int count;

    private Copied() {}

    /** In the template: what it makes stays, and no thread runs. */
    static int before() {
        for (int index = 0; index < KEPT; index++) {
            kept.add(new int[] {index});
        }
        thread = new Thread(() -> early = Thread.currentThread().getName(), "early");
        thread.start();
        synchronized (kept) {
            kept.hashCode();
        }
        return early.equals("nobody") ? 1 : 0;
    }

    /** In a copy: a thread that waited runs, two share a lock, what is dropped is collected. */
    public static void main(String[] arguments) throws InterruptedException {
        thread.join();
        Thread second = new Thread(Copied::add);
        second.start();
        add();
        second.join();
        WeakReference<Object> dropped = new WeakReference<>(new Object());
        for (int round = 0; round < 100 && dropped.get() != null; round++) {
            System.gc();
        }
        long sum = 0;
        for (int[] each : kept) {
            sum += each[0];
        }
        boolean isSound = early.equals("early") && count == 2 * ROUNDS && dropped.get() == null
                && sum == (long) KEPT * (KEPT - 1) / 2;
        System.out.println((isSound ? "sound " : "early " + early + " count " + count + " sum " + sum + " ")
                + new Object().hashCode() + " " + ProcessHandle.current().pid());
    }

    private static void add() {
        for (int round = 0; round < ROUNDS; round++) {
            synchronized (kept) {
                count++;
            }
        }
    }
}
