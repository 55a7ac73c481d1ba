// SPDX-License-Identifier: Apache-2.0
package android.os;

/** The native half of AOSP's class that sends signals. */
public final class Process {
    private Process() {}

    /** As kill(2). */
    public static native void sendSignal(int pid, int signal);
}
