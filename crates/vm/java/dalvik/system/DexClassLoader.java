// SPDX-License-Identifier: Apache-2.0
package dalvik.system;

/** Loads classes from .dex files and packages that are not part of the application. */
public class DexClassLoader extends BaseDexClassLoader {
    public DexClassLoader(String dexPath, String optimizedDirectory, String librarySearchPath, ClassLoader parent) {
        super(dexPath, librarySearchPath, parent, null, null);
    }
}
