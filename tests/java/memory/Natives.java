// SPDX-License-Identifier: Apache-2.0
// What crates/vm/tests/natives.c calls, and what calls it.

class Natives {
    static final Object LOCK = new Object();

    static native int down(Object a, Object b, Object c, Object d, Object e, Object f);

    static native synchronized int lockedDown(Object a, Object b, Object c, Object d, Object e, Object f);

    static native int detach();

    static int up(Object a) {
        return down(a, a, a, a, a, a);
    }

    static int lockedUp(Object a) {
        return lockedDown(a, a, a, a, a, a);
    }

    static String deep() {
        try {
            return "ended " + up("");
        } catch (Error e) {
            return e.getClass().getName();
        }
    }

    static String lockedDeep() {
        try {
            return "ended " + lockedUp("");
        } catch (Error e) {
            return e.getClass().getName() + ", held: " + (Thread.holdsLock(Natives.class) ? "yes" : "no");
        }
    }

    static String detachWithFrames() {
        return detach() + ", then: still here";
    }

    static String lock() throws InterruptedException {
        String[] said = {"held for ever"};
        Thread thread = new Thread(() -> {
            synchronized (LOCK) {
                said[0] = "free";
            }
        });
        thread.setDaemon(true);
        thread.start();
        thread.join(20_000);
        return said[0];
    }
}
