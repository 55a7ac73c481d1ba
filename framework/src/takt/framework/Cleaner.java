// SPDX-License-Identifier: Apache-2.0
package takt.framework;

/** What AOSP's classes know as {@code sun.misc.Cleaner}, on the JDK's own cleaner. */
public final class Cleaner {
    private static final java.lang.ref.Cleaner CLEANER = java.lang.ref.Cleaner.create();

    private final java.lang.ref.Cleaner.Cleanable cleanable;

    private Cleaner(Object referent, Runnable thunk) {
        cleanable = CLEANER.register(referent, thunk);
    }

    /** Runs {@code thunk} once, when {@code referent} is gone or {@link #clean} is called. */
    public static Cleaner create(Object referent, Runnable thunk) {
        return thunk == null ? null : new Cleaner(referent, thunk);
    }

    /** Runs it now, unless it ran. */
    public void clean() {
        cleanable.clean();
    }
}
