// SPDX-License-Identifier: Apache-2.0
package android.util;

/**
 * The native half of Android's log alone, so that the measured thread logs as an application does
 * without AOSP's classes.
 */
public final class Log {
    private static final int INFO = 4;

    private Log() {}

    /** Brings in libnatives.so. */
    public static void load(String library) {
        System.load(library);
    }

    /** A line of the main buffer. */
    public static int i(String tag, String message) {
        return println_native(0, INFO, tag, message);
    }

    private static native int println_native(int buffer, int priority, String tag, String message);
}
