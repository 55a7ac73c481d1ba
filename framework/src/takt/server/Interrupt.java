// SPDX-License-Identifier: Apache-2.0
package takt.server;

import takt.framework.Natives;

/**
 * SIGINT and SIGTERM as an event: the first asks for an orderly end, the second ends the process.
 */
final class Interrupt {
    static {
        Natives.load();
    }

    private Interrupt() {}

    /** Runs the task once, on a thread of its own, at the first signal. */
    static void onSignal(Runnable task) {
        Thread thread = new Thread(() -> {
            await();
            task.run();
        }, "signals");
        thread.setDaemon(true);
        thread.start();
    }

    /** Waits for the first signal. */
    private static native void await();
}
