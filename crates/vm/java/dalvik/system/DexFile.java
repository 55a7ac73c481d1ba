// SPDX-License-Identifier: Apache-2.0
package dalvik.system;

import java.io.File;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.util.Collections;
import java.util.Enumeration;
import java.util.List;

/** A .dex file or a package whose classes are defined by hand. */
@Deprecated
public final class DexFile {
    /** Nothing is compiled by a tool: code is made when it is called. */
    public static final int NO_DEXOPT_NEEDED = 0;
    public static final int DEX2OAT_FROM_SCRATCH = 1;
    public static final int DEX2OAT_FOR_BOOT_IMAGE = 2;
    public static final int DEX2OAT_FOR_FILTER = 3;

    private final String name;
    private volatile DexCode code;

    public DexFile(File file) throws IOException {
        this(file.getPath());
    }

    public DexFile(String fileName) throws IOException {
        name = fileName;
        code = DexCode.read(new File(fileName));
        if (!code.hasCode()) {
            throw new IOException("No original dex files found for dex location " + fileName);
        }
    }

    /** Where compiled code lies is the machine's own business: the second argument says nothing. */
    public static DexFile loadDex(String sourcePathName, String outputPathName, int flags) throws IOException {
        return new DexFile(sourcePathName);
    }

    public String getName() {
        return name;
    }

    @Override
    public String toString() {
        return getName();
    }

    /** Classes that are there stay; no more are given. */
    public void close() throws IOException {
        code = null;
    }

    private DexCode code() {
        DexCode open = code;
        if (open == null) {
            throw new IllegalStateException(name + " is closed");
        }
        return open;
    }

    /** The class of this name, slashes or dots, defined for the loader; null if there is none. */
    public Class<?> loadClass(String name, ClassLoader loader) {
        return loadClassBinaryName(name.replace('/', '.'), loader, null);
    }

    public Class<?> loadClassBinaryName(String name, ClassLoader loader, List<Throwable> suppressed) {
        try {
            return code().define(name, loader);
        } catch (NoClassDefFoundError e) {
            if (suppressed != null) {
                suppressed.add(e);
            }
            return null;
        }
    }

    /** The names of all classes. */
    public Enumeration<String> entries() {
        return Collections.enumeration(code().names());
    }

    public static boolean isDexOptNeeded(String fileName) throws FileNotFoundException, IOException {
        if (!new File(fileName).canRead()) {
            throw new FileNotFoundException(fileName + ": no such file");
        }
        return false;
    }
}
