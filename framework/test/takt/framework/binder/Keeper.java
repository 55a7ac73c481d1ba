// SPDX-License-Identifier: Apache-2.0
package takt.framework.binder;

import android.os.IBinder;
import android.os.RemoteException;
import android.os.ServiceManager;
import android.system.ErrnoException;
import android.system.Os;
import java.io.File;
import java.util.concurrent.atomic.AtomicInteger;
import takt.framework.Neighbours;

/** Calls one process after the other until each is killed, and looks what is left of them. */
final class Keeper {
    private static final long BOUND_MILLIS = 20_000;

    private Keeper() {}

    /** So many deaths; says {@code calling} before each. */
    static void keep(int rounds) throws InterruptedException, RemoteException {
        // It listens from here on.
        ServiceManager.listServices();
        int before = descriptors();
        for (int round = 0; round < rounds; round++) {
            String fault = round(round);
            if (fault != null) {
                Peer.check("round " + round + ": " + fault, false);
                return;
            }
        }
        Peer.check(rounds + " deaths, each told once", true);
        Peer.check("no descriptor is left", await(() -> descriptors() <= before));
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
            Thread.sleep(5);
        }
        return condition.holds();
    }

    /**
     * Open files of the kinds that a link has. A dead process's proxies keep them until the
     * collector has these.
     */
    private static int descriptors() {
        System.gc();
        int count = 0;
        String[] names = new File("/proc/self/fd").list();
        for (String name : names == null ? new String[0] : names) {
            try {
                String kind = Os.readlink("/proc/self/fd/" + name);
                count += kind.startsWith("socket") || kind.contains("eventfd") || kind.contains("pidfd") ? 1 : 0;
            } catch (ErrnoException e) {
                // The list's own.
                continue;
            }
        }
        return count;
    }
}
