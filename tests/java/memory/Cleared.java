// SPDX-License-Identifier: Apache-2.0 One collection clears what a frame has just let go of: in the
// frame that made it, after calls that were given it, after an exception, in a loop, under a lock,
// and beside what is still held.

import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.List;

class Cleared {
    static final int TURNS = 10;

    static class Thing {
        Object other;
        final int[] content = new int[20];
    }

    interface Maker {
        WeakReference<Thing> make(int turn) throws Exception;
    }

    static int use(Thing thing, long a, double b, Object c, int d, int e, int f, int g, Object last) {
        return thing.content.length + (last == thing ? 1 : 0) + (int) (a + b) + d + e + f + g + (c == null ? 0 : 1);
    }

    static WeakReference<Thing> plain(int turn) {
        Thing thing = new Thing();
        WeakReference<Thing> weak = new WeakReference<>(thing);
        thing = null;
        System.gc();
        return weak;
    }

    static WeakReference<Thing> passed(int turn) {
        Thing thing = new Thing();
        WeakReference<Thing> weak = new WeakReference<>(thing);
        if (use(thing, turn, 1.5, thing, 1, 2, 3, 4, thing) < 20) throw new AssertionError();
        thing = null;
        System.gc();
        return weak;
    }

    static WeakReference<Thing> thrown(int turn) {
        Thing thing = new Thing();
        WeakReference<Thing> weak = new WeakReference<>(thing);
        try {
            if (thing.content[turn + 20] == 0) throw new AssertionError();
        } catch (ArrayIndexOutOfBoundsException e) {
            thing = null;
        }
        System.gc();
        return weak;
    }

    static WeakReference<Thing> looped(int turn) {
        WeakReference<Thing> weak = null;
        Thing last = null;
        for (int i = 0; i < 5; i++) {
            Thing next = new Thing();
            next.other = last;
            if (i == 2) weak = new WeakReference<>(next);
            last = i == 3 ? null : next;
        }
        System.gc();
        if (last.other != null) throw new AssertionError();
        return weak;
    }

    static WeakReference<Thing> locked(int turn) {
        Thing thing = new Thing();
        WeakReference<Thing> weak = new WeakReference<>(thing);
        lock(thing, turn);
        thing = null;
        System.gc();
        return weak;
    }

    /** Apart: HotSpot's interpreter holds what a frame has locked until the frame is left. */
    static void lock(Thing thing, int turn) {
        synchronized (thing) {
            thing.content[0] = turn;
        }
    }

    /** A ring, which counts alone do not free. */
    static WeakReference<Thing> ring(int turn) {
        Thing one = new Thing(), two = new Thing();
        one.other = two;
        two.other = one;
        WeakReference<Thing> weak = new WeakReference<>(two);
        one = two = null;
        System.gc();
        return weak;
    }

    static WeakReference<Thing> deep(int turn) {
        return turn == 0 ? ring(0) : deep(turn - 1);
    }

    /** Known to a thread that has ended. */
    static WeakReference<Thing> elsewhere(int turn) throws InterruptedException {
        List<WeakReference<Thing>> made = new ArrayList<>();
        Thread thread = new Thread(() -> made.add(looped(turn)));
        thread.start();
        thread.join();
        System.gc();
        return made.get(0);
    }

    static WeakReference<Thing> held(int turn) {
        Thing thing = new Thing();
        WeakReference<Thing> weak = new WeakReference<>(thing);
        System.gc();
        if (weak.get() != thing) throw new AssertionError("cleared while held");
        thing = null;
        System.gc();
        return weak;
    }

    static void show(String name, Maker maker) throws Exception {
        int cleared = 0;
        for (int turn = 0; turn < TURNS; turn++) if (maker.make(turn).refersTo(null)) cleared++;
        System.out.println(name + ": " + cleared);
    }

    public static void main(String[] args) throws Exception {
        show("plain", Cleared::plain);
        show("passed", Cleared::passed);
        show("thrown", Cleared::thrown);
        show("looped", Cleared::looped);
        show("locked", Cleared::locked);
        show("ring", Cleared::ring);
        show("deep", Cleared::deep);
        show("elsewhere", Cleared::elsewhere);
        show("held", Cleared::held);
    }
}
