// SPDX-License-Identifier: Apache-2.0
package takt.server;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.function.Consumer;

/**
 * What the system has asked the process to do, and for how long: "application not responding".
 *
 * <p>Every transaction to the process is put down here when it is sent and struck out when it is
 * answered. A thread of its own looks at what is left, so it does not matter what holds the
 * process's threads. Age is counted in looks, not read from a clock: a process that was stopped
 * from outside has aged by one look. So a transaction is late after one to one and a quarter
 * limits.
 */
final class Watchdog {
    /** Looks within one limit. */
    private static final int LOOKS = 4;

    private static final class Asked {
        final Object whom;
        final String what;
        int looks;

        Asked(Object whom, String what) {
            this.whom = whom;
            this.what = what;
        }
    }

    private final List<Asked> open = new ArrayList<>();
    private final long lookMillis;
    private final Consumer<String> onLate;

    /** The consumer hears once, on the watchdog's own thread, what was not answered. */
    Watchdog(long limitMillis, Consumer<String> onLate) {
        lookMillis = Math.max(1, limitMillis / LOOKS);
        this.onLate = onLate;
    }

    void start() {
        Thread thread = new Thread(this::watch, "watchdog");
        thread.setDaemon(true);
        thread.start();
    }

    /**
     * A transaction is sent; {@code whom} is the component's token, {@code what} is said if no
     * answer comes.
     */
    synchronized void ask(Object whom, String what) {
        open.add(new Asked(whom, what));
        notifyAll();
    }

    /** The oldest transaction of a component is answered. */
    synchronized void answered(Object whom) {
        Iterator<Asked> all = open.iterator();
        while (all.hasNext()) {
            if (all.next().whom == whom) {
                all.remove();
                return;
            }
        }
    }

    /** A component is gone; the process passes over what was still on its way to it. */
    synchronized void forget(Object whom) {
        open.removeIf(it -> it.whom == whom);
    }

    private void watch() {
        String late = null;
        while (late == null) {
            try {
                late = look();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return;
            }
        }
        onLate.accept(late);
    }

    /** Waits for one look; what is late then, or null. */
    private synchronized String look() throws InterruptedException {
        while (open.isEmpty()) {
            wait();
        }
        long untilNanos = System.nanoTime() + lookMillis * 1_000_000;
        for (long left = lookMillis; left > 0; left = (untilNanos - System.nanoTime()) / 1_000_000) {
            wait(left);
        }
        // Without an iterator: the process may have no memory left, and must end all the same.
        for (int index = 0; index < open.size(); index++) {
            Asked asked = open.get(index);
            asked.looks++;
            if (asked.looks > LOOKS) {
                return asked.what;
            }
        }
        return null;
    }
}
