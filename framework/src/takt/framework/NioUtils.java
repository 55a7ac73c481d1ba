// SPDX-License-Identifier: Apache-2.0
package takt.framework;

import java.nio.ByteBuffer;

/** AOSP's {@code java.nio.NioUtils}: the array of a buffer, read-only or not. */
public final class NioUtils {
    private NioUtils() {}

    /** The array itself; null for a direct buffer. */
    public static native byte[] unsafeArray(ByteBuffer buffer);

    /** Where in it the buffer begins. */
    public static native int unsafeArrayOffset(ByteBuffer buffer);
}
