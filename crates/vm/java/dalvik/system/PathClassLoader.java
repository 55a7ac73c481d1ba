// SPDX-License-Identifier: Apache-2.0
package dalvik.system;

import java.io.File;
import java.util.ArrayList;
import java.util.List;

/** Loads the classes of applications from .dex files and packages. */
public class PathClassLoader extends BaseDexClassLoader {
    public PathClassLoader(String dexPath, ClassLoader parent) {
        this(dexPath, null, parent);
    }

    public PathClassLoader(String dexPath, String librarySearchPath, ClassLoader parent) {
        super(dexPath, librarySearchPath, parent, null, null);
    }

    public PathClassLoader(String dexPath, String librarySearchPath, ClassLoader parent, ClassLoader[] libraries) {
        super(dexPath, librarySearchPath, parent, libraries, null);
    }

    public PathClassLoader(String dexPath, String librarySearchPath, ClassLoader parent,
            ClassLoader[] librariesBefore, ClassLoader[] librariesAfter) {
        super(dexPath, librarySearchPath, parent, librariesBefore, librariesAfter);
    }

    /**
     * The system class loader of a process whose class path holds DEX code. The parent has looked
     * through the same class path for class files.
     */
    public PathClassLoader(ClassLoader parent) {
        this(codeOnClassPath(), System.getProperty("java.library.path"), parent);
    }

    private static String codeOnClassPath() {
        List<String> files = new ArrayList<>();
        for (String part : System.getProperty("java.class.path", "").split(File.pathSeparator)) {
            if (new File(part).isFile()) {
                files.add(part);
            }
        }
        return String.join(File.pathSeparator, files);
    }
}
