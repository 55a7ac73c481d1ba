// SPDX-License-Identifier: Apache-2.0 Which objects are freed while something of theirs is in use:
// each stands for one with a native that a cleaner frees. What is printed differs by rule: in code
// for ART nothing is freed before its variable is written again or the method is left.

import java.lang.ref.PhantomReference;
import java.lang.ref.ReferenceQueue;

class Scopes {
    static final ReferenceQueue<Object> QUEUE = new ReferenceQueue<>();
    static final Native[] NATIVES = new Native[1000];
    static int count;

    /** A native that is freed when nobody can reach its object any more. */
    static final class Native extends PhantomReference<Object> {
        boolean isFreed;

        Native(Object object) {
            super(object, QUEUE);
        }
    }

    static class Canvas {
        final int number = count++;
        Canvas next;

        Canvas() {
            NATIVES[number] = new Native(this);
        }

        int number() {
            return number;
        }

        /** This is dead once its number is read. */
        boolean draw() {
            return isFreedInUse(number);
        }

        boolean drawThen(Canvas other) {
            int own = number, its = other.number();
            return isFreedInUse(own) | isFreedInUse(its);
        }
    }

    static int garbage() {
        return new Canvas().number;
    }

    /** Collects until objects that were lost here are freed: one earlier is freed by then too. */
    static boolean isFreedInUse(int number) {
        for (int round = 0; round < 2; round++) {
            int lost = garbage();
            if (!isFreedSoon(lost)) throw new AssertionError("garbage is not freed");
        }
        return NATIVES[number].isFreed;
    }

    static boolean isFreedSoon(int number) {
        for (int attempt = 0; attempt < 500 && !NATIVES[number].isFreed; attempt++) {
            System.gc();
            try {
                Object freed = QUEUE.remove(1);
                for (; freed != null; freed = QUEUE.poll()) ((Native) freed).isFreed = true;
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        }
        return NATIVES[number].isFreed;
    }

    static boolean parameter(Canvas canvas) {
        int number = canvas.number;
        return isFreedInUse(number);
    }

    static boolean beyondAnother(int before, long wide, Canvas canvas, double after) {
        int number = canvas.number;
        return isFreedInUse(number) && wide + after > before;
    }

    static boolean local() {
        Canvas canvas = new Canvas();
        int number = canvas.number;
        return isFreedInUse(number);
    }

    static boolean byGetter() {
        Canvas canvas = new Canvas();
        int number = canvas.number();
        return isFreedInUse(number);
    }

    static boolean element() {
        Canvas[] all = {new Canvas()};
        Canvas canvas = all[0];
        int number = canvas.number;
        all[0] = null;
        return isFreedInUse(number);
    }

    static boolean branches(boolean isNew) {
        Canvas canvas = isNew ? new Canvas() : null;
        int number = 0;
        if (canvas != null) number = canvas.number;
        else canvas = NATIVES.length == 0 ? new Canvas() : null;
        return isFreedInUse(number);
    }

    static boolean loop(int rounds) {
        Canvas canvas = new Canvas();
        int number = canvas.number;
        boolean isFreed = false;
        for (int round = 0; round < rounds; round++) isFreed |= isFreedInUse(number);
        return isFreed;
    }

    /** The next one takes the place of the one before, which may go. */
    static boolean writtenAgain() {
        Canvas canvas = new Canvas();
        int first = canvas.number;
        canvas = new Canvas();
        int second = canvas.number;
        boolean isSecondFreed = isFreedInUse(second);
        if (!NATIVES[first].isFreed) throw new AssertionError("kept though written again");
        return isSecondFreed;
    }

    static void fail(int number) {
        if (number >= 0) throw new IllegalStateException();
    }

    static boolean handler() {
        Canvas canvas = new Canvas();
        int number = canvas.number;
        try {
            fail(number);
            return false;
        } catch (IllegalStateException e) {
            return isFreedInUse(number);
        }
    }

    static boolean afterwards() {
        Canvas canvas = new Canvas();
        int number = canvas.number;
        try {
            isFreedInUse(number);
        } finally {
            number = -1 - number;
        }
        return isFreedInUse(-1 - number);
    }

    static synchronized boolean locked(Canvas canvas) {
        int number;
        synchronized (canvas) {
            number = canvas.number;
        }
        return isFreedInUse(number);
    }

    static void say(String what, boolean isFreed) {
        System.out.println(what + ": " + (isFreed ? "freed in use" : "kept"));
    }

    static void sayAll() {
        say("this", new Canvas().draw());
        say("this and parameter", new Canvas().drawThen(new Canvas()));
        say("parameter", parameter(new Canvas()));
        say("parameter among others", beyondAnother(1, 2, new Canvas(), 3));
        say("local", local());
        say("by getter", byGetter());
        say("element", element());
        say("branches", branches(true));
        say("loop", loop(3));
        say("written again", writtenAgain());
        say("handler", handler());
        say("finally", afterwards());
        say("locked", locked(new Canvas()));
    }

    public static void main(String[] arguments) {
        sayAll();
        int last = count;
        boolean isAllFreed = true;
        for (int number = 0; number < last; number++) isAllFreed &= isFreedSoon(number);
        System.out.println(isAllFreed ? "all freed in the end" : "some are never freed");
    }
}
