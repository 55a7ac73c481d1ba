// SPDX-License-Identifier: Apache-2.0
package takt.framework;

/**
 * Brings in the native methods of {@code android.*}: crates/natives, as one library.
 *
 * <p>A JVM looks for a class's native methods in the libraries of the class's own loader, so this
 * class lies beside AOSP's on one class path, and is used once before them.
 */
public final class Natives {
    /** Where the library lies: the property that the launcher sets. */
    public static final String PROPERTY = "takt.natives";

    static {
        String path = System.getProperty(PROPERTY);
        if (path == null) {
            throw new ExceptionInInitializerError("-D" + PROPERTY + "=PATH of libnatives.so is missing");
        }
        System.load(path);
    }

    private Natives() {}

    /** Loads the library; the second call does nothing. */
    public static void load() {}
}
