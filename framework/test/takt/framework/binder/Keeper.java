// SPDX-License-Identifier: Apache-2.0
package takt.framework.binder;

import android.os.Binder;
import android.os.IBinder;
import android.os.Parcel;
import android.os.RemoteException;
import android.os.ServiceManager;
import android.system.ErrnoException;
import android.system.Os;
import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Predicate;
import java.util.stream.Stream;
import takt.framework.Neighbours;

/**
 * Calls one process after the other until each is killed, and looks what is left of them. Every
 * second one calls this one meanwhile, to any depth, and has it keep what it gives.
 */
final class Keeper {
    /** What those call that call. */
    private static final String NAME = "keeper";
    private static final long BOUND_MILLIS = 20_000;
    /** Rounds after which the machine has all its threads. */
    private static final int WARM_UP = 2;
    private static final int DEPTH = 3;
    /** Sockets that this process opens later, and keeps; one for each death would be more. */
    private static final int OWN_MAX = 2;

    private Keeper() {}

    /** So many deaths; says {@code calling} before each. */
    static void keep(int rounds) throws InterruptedException, RemoteException {
        // It listens from here on.
        Player player = new Player();
        ServiceManager.addService(NAME, player);
        int descriptors = count("fd", Keeper::isOfLink) + OWN_MAX;
        long mappings = mappings();
        int threads = Integer.MAX_VALUE;
        for (int round = 0; round < rounds; round++) {
            String fault = round(round);
            if (fault != null) {
                Peer.check("round " + round + ": " + fault, false);
                return;
            }
            Calls.of(player, Player.DROP, data -> {}, Parcel::readString);
            threads = round < WARM_UP ? threads() : threads;
        }
        Peer.check(rounds + " deaths, each told once", true);
        Peer.check("no descriptor is left", await(() -> count("fd", Keeper::isOfLink) <= descriptors));
        Peer.check("no page is left", await(() -> mappings() <= mappings));
        int most = threads;
        Peer.check("no thread is left", await(() -> threads() <= most));
        Peer.check("no link and no reference is left", await(() -> !Neighbours.dump().contains("link ")));
    }

    /** Calls the one that keeps, until this process is killed. */
    static void callOn(String name) throws RemoteException, InterruptedException {
        Player own = new Player();
        ServiceManager.addService(name, own);
        IBinder keeper = Peer.await(NAME);
        for (int number = 0; true; number++) {
            Calls.keep(keeper, new Binder());
            Calls.echo(keeper, number, "and again");
            Calls.down(keeper, own, keeper, DEPTH);
            int note = number;
            Calls.send(keeper, Player.NOTE, data -> data.writeInt(note));
        }
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

    /** What comes in time. */
    interface Condition {
        boolean holds();
    }

    static boolean await(Condition condition) throws InterruptedException {
        long due = System.currentTimeMillis() + BOUND_MILLIS;
        while (!condition.holds() && System.currentTimeMillis() < due) {
            Thread.sleep(5);
        }
        return condition.holds();
    }

    /** Files of the kinds that a link has. */
    private static boolean isOfLink(String name) {
        String kind = kindOf(name);
        return kind.startsWith("socket") || kind.contains("eventfd") || kind.contains("pidfd");
    }

    /** What an open file is; nothing if it is closed by now, as the list's own is. */
    static String kindOf(String name) {
        try {
            return Os.readlink("/proc/self/fd/" + name);
        } catch (ErrnoException e) {
            return "";
        }
    }

    private static int threads() {
        return count("task", it -> true);
    }

    /** A dead process's proxies keep its link's files until the collector has these. */
    static int count(String folder, Predicate<String> isCounted) {
        System.gc();
        String[] names = new File("/proc/self", folder).list();
        return names == null ? 0 : (int) Arrays.stream(names).filter(isCounted).count();
    }

    /** Of links' memory. */
    private static long mappings() {
        try (Stream<String> lines = Files.lines(Path.of("/proc/self/maps"))) {
            return lines.filter(it -> it.contains("memfd:binder")).count();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
