// SPDX-License-Identifier: Apache-2.0
package takt.server;

import android.os.IBinder;
import takt.framework.Natives;

/**
 * The system server of {@code takt run}: that of {@code takt system}, inside the process of its one
 * application, with no thread and no clock of its own.
 */
final class HostedServer {
    static {
        Natives.load();
    }

    private HostedServer() {}

    /**
     * Begins, once, with the package that {@code takt run} has described; what it is called by.
     *
     * @throws IllegalArgumentException if the server cannot take the package
     */
    static native IBinder begin(String description);

    /** Ends all components: activities from the front, then services, the last made first. */
    static native void endAll();

    /**
     * Looks at jobs, and at what the machine has if one waits for that: in how many ms somebody is
     * to look again; 0 if only another event changes something, below nought if no job is there.
     */
    static native long lookAtJobs(String disk);

    /** What of that cannot be read in this process: ISystem.NEEDS_*. */
    static native int hiddenConditions(String disk);

    /** Is a job there, or does one run? */
    static native boolean hasJobs();
}
