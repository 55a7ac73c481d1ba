// SPDX-License-Identifier: Apache-2.0
package takt.framework.binder;

import android.os.IBinder;
import android.os.RemoteException;
import java.io.File;
import java.util.concurrent.atomic.AtomicInteger;
import takt.framework.Neighbours;

/** Calls one process after the other until each is killed, and looks what is left of them. */
final class Keeper {
    private static final long BOUND_MILLIS = 20_000;

    private Keeper() {}

    /** So many deaths; says {@code calling} before each. */
    static void keep(int rounds) throws InterruptedException, RemoteException {
        // What the first one leaves is there once: classes, threads, pools.
        int before = 0;
        for (int round = 0; round < rounds; round++) {
            String fault = round(round);
            if (fault != null) {
                Peer.check("round " + round + ": " + fault, false);
                return;
            }
            if (round == 0) {
                before = descriptors();
            }
        }
        Peer.check(rounds + " deaths, each told once", true);
        Peer.check("no descriptor is left", descriptors() <= before);
        Peer.check("no link is left", await(() -> !Neighbours.dump().contains("link ")));
    }

    private static String round(int round) throws InterruptedException, RemoteException {
        IBinder victim = Peer.await("victim" + round);
        AtomicInteger notices = new AtomicInteger();
        victim.linkToDeath(notices::incrementAndGet, 0);
        Calls.echo(victim, round, "");
        System.out.println("calling " + round);
        long due = System.currentTimeMillis() + BOUND_MILLIS;
        boolean isDead = false;
        while (!isDead && System.currentTimeMillis() < due) {
            isDead = Peer.isDead(() -> Calls.echo(victim, round, "again"));
        }
        if (!isDead) {
            return "not dead";
        }
        if (!await(() -> notices.get() > 0)) {
            return "nobody was told";
        }
        return notices.get() == 1 ? null : "told " + notices.get() + " times";
    }

    private interface Condition {
        boolean holds();
    }

    private static boolean await(Condition condition) throws InterruptedException {
        long due = System.currentTimeMillis() + BOUND_MILLIS;
        while (!condition.holds() && System.currentTimeMillis() < due) {
            Thread.sleep(1);
        }
        return condition.holds();
    }

    private static int descriptors() throws InterruptedException {
        // The door's thread lets the last link go behind its notices.
        await(() -> !Neighbours.dump().contains("link "));
        String[] names = new File("/proc/self/fd").list();
        return names == null ? 0 : names.length;
    }
}
