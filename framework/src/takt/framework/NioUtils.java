// SPDX-License-Identifier: Apache-2.0
package takt.framework;

import java.nio.ByteBuffer;

/** Android's {@code java.nio.NioUtils}, as far as AOSP's classes ask for it. */
public final class NioUtils {
    private NioUtils() {}

    /** The array itself of a buffer, read-only or not; null for a direct buffer. */
    public static native byte[] unsafeArray(ByteBuffer buffer);

    /** Where in it the buffer begins. */
    public static native int unsafeArrayOffset(ByteBuffer buffer);

    /** Whose memory a buffer is over knows itself when it is over: a direct buffer owns none. */
    public static void freeDirectBuffer(ByteBuffer buffer) {}
}
