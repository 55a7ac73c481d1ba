// SPDX-License-Identifier: Apache-2.0

/** Fills memory with a list, lets go of it, then does what needs a little for the first time. */
class Filled {
    static class Node {
        Node before, after;
        long content;
    }

    static class Late {
        static final Object[] MADE = new Object[100];
    }

    /** Where the list is going to be. */
    static byte[] array() {
        return new byte[8 << 20];
    }

    static int fill() {
        Node last = new Node();
        int count = 0;
        try {
            while (true) {
                Node next = new Node();
                next.before = last;
                last.after = next;
                last = next;
                count++;
            }
        } catch (OutOfMemoryError e) {
            return count;
        }
    }

    interface Step {
        Object take(int count);
    }

    static boolean isRefused(Step step) {
        int count = fill();
        try {
            return step.take(count) == null;
        } catch (OutOfMemoryError e) {
            return true;
        }
    }

    /** Loaded, but not initialised. */
    static final Class<?> LOADED = Late.class;

    static final Step[] STEPS = {
        count -> "a literal",
        count -> Late.MADE,
        count -> {
            try {
                return Integer.valueOf(count / (count - count));
            } catch (ArithmeticException e) {
                return e;
            }
        },
    };

    static boolean isKept() {
        boolean isKept = false;
        for (Step step : STEPS) {
            isKept |= isRefused(step);
        }
        return isKept;
    }
}
