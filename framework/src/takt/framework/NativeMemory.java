// SPDX-License-Identifier: Apache-2.0
package takt.framework;

import java.util.concurrent.locks.LockSupport;

/**
 * Native memory that applications have registered is a reason to collect: the heap does not see it,
 * and much of it hangs on small objects. The one who allocates never waits for the collection.
 */
final class NativeMemory {
    private static final Thread ASKER = new Thread(NativeMemory::run, "native memory");
    private static volatile boolean isWanted;

    static {
        ASKER.setDaemon(true);
        ASKER.start();
    }

    private NativeMemory() {}

    /** Called by VMRuntime's native half, once for each collection that it wants. */
    static void collect() {
        isWanted = true;
        LockSupport.unpark(ASKER);
    }

    private static void run() {
        while (true) {
            while (!isWanted) {
                LockSupport.park();
            }
            isWanted = false;
            settle();
            System.gc();
        }
    }

    /** The next collection is for what comes from now on, also while this one runs. */
    private static native void settle();
}
