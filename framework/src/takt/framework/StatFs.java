// SPDX-License-Identifier: Apache-2.0
package takt.framework;

/**
 * What AOSP's SQLite asks for the block size of Android's data partition, which no ordinary Linux
 * has.
 */
public final class StatFs {
    /** SQLite's own size of a page, and the block size of Linux's file systems. */
    private static final int BLOCK_BYTES = 4096;

    /** Of a path that is always Android's /data. */
    public StatFs(String path) {}

    /** The size that a new database gets its pages of. */
    public int getBlockSize() {
        return BLOCK_BYTES;
    }
}
