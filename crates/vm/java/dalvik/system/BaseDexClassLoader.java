// SPDX-License-Identifier: Apache-2.0
package dalvik.system;

import java.io.File;
import java.io.IOException;
import java.net.URL;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.Enumeration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;

/** What Android's class loaders of DEX code share. */
public class BaseDexClassLoader extends ClassLoader {
    static {
        registerAsParallelCapable();
    }

    /** Is told which files a process loads code from. */
    public interface Reporter {
        void report(Map<String, String> contexts);
    }

    private static volatile Reporter reporter;

    /** Asked before this loader's own code. */
    protected final ClassLoader[] sharedLibraryLoaders;
    /** Asked behind it. */
    protected final ClassLoader[] sharedLibraryLoadersAfter;

    private final List<DexCode> code = new CopyOnWriteArrayList<>();
    private final List<File> libraries = new CopyOnWriteArrayList<>();
    /** Why parts of the path could not be used. */
    private final List<IOException> refused = new CopyOnWriteArrayList<>();

    public BaseDexClassLoader(String dexPath, File optimizedDirectory, String librarySearchPath, ClassLoader parent) {
        this(dexPath, librarySearchPath, parent, null, null);
    }

    public BaseDexClassLoader(String dexPath, File optimizedDirectory, String librarySearchPath, ClassLoader parent,
            boolean isTrusted) {
        this(dexPath, librarySearchPath, parent, null, null);
    }

    public BaseDexClassLoader(String dexPath, String librarySearchPath, ClassLoader parent, ClassLoader[] libraries) {
        this(dexPath, librarySearchPath, parent, libraries, null);
    }

    public BaseDexClassLoader(String dexPath, String librarySearchPath, ClassLoader parent,
            ClassLoader[] librariesBefore, ClassLoader[] librariesAfter) {
        super(parent);
        sharedLibraryLoaders = copy(librariesBefore);
        sharedLibraryLoadersAfter = copy(librariesAfter);
        addDexPath(dexPath);
        addLibraries(librarySearchPath);
    }

    public BaseDexClassLoader(ByteBuffer[] dexFiles, String librarySearchPath, ClassLoader parent) {
        super(parent);
        sharedLibraryLoaders = null;
        sharedLibraryLoadersAfter = null;
        for (ByteBuffer file : dexFiles) {
            try {
                code.add(DexCode.of(file));
            } catch (IOException e) {
                refused.add(e);
            }
        }
        addLibraries(librarySearchPath);
    }

    private static ClassLoader[] copy(ClassLoader[] loaders) {
        return loaders == null ? null : loaders.clone();
    }

    private static List<File> split(String path) {
        List<File> files = new ArrayList<>();
        if (path != null) {
            for (String part : path.split(File.pathSeparator)) {
                if (!part.isEmpty()) {
                    files.add(new File(part));
                }
            }
        }
        return files;
    }

    private void addLibraries(String path) {
        libraries.addAll(split(path));
    }

    /** Adds files behind those that are there. */
    public void addDexPath(String dexPath) {
        for (File file : split(dexPath)) {
            try {
                code.add(DexCode.read(file));
            } catch (IOException e) {
                refused.add(e);
            }
        }
    }

    public void addDexPath(String dexPath, boolean isTrusted) {
        addDexPath(dexPath);
    }

    /** Adds directories of native libraries. */
    public void addNativePath(Collection<String> paths) {
        paths.forEach(this::addLibraries);
    }

    private static Class<?> findIn(ClassLoader[] loaders, String name) {
        for (ClassLoader loader : loaders == null ? new ClassLoader[0] : loaders) {
            try {
                return loader.loadClass(name);
            } catch (ClassNotFoundException e) {
                // The next one may have it.
            }
        }
        return null;
    }

    @Override
    protected Class<?> findClass(String name) throws ClassNotFoundException {
        Class<?> found = findIn(sharedLibraryLoaders, name);
        List<Throwable> reasons = new ArrayList<>(refused);
        for (DexCode part : code) {
            if (found != null) {
                return found;
            }
            try {
                found = part.define(name, this);
            } catch (NoClassDefFoundError e) {
                // Here, but what it inherits from is not: nobody can have it.
                reasons.add(e);
            }
        }
        if (found == null) {
            found = findIn(sharedLibraryLoadersAfter, name);
        }
        if (found == null) {
            throw notFound(name, reasons);
        }
        return found;
    }

    private ClassNotFoundException notFound(String name, List<Throwable> reasons) {
        StringBuilder message = new StringBuilder("Didn't find class \"" + name + "\" on path: " + path());
        for (IOException reason : refused) {
            message.append("; ").append(reason.getMessage());
        }
        ClassNotFoundException exception = new ClassNotFoundException(message.toString());
        reasons.forEach(exception::addSuppressed);
        return exception;
    }

    @Override
    protected URL findResource(String name) {
        for (DexCode part : code) {
            URL found = part.resource(name);
            if (found != null) {
                return found;
            }
        }
        return null;
    }

    @Override
    protected Enumeration<URL> findResources(String name) {
        List<URL> found = new ArrayList<>();
        for (DexCode part : code) {
            URL resource = part.resource(name);
            if (resource != null) {
                found.add(resource);
            }
        }
        return Collections.enumeration(found);
    }

    @Override
    public String findLibrary(String name) {
        String fileName = System.mapLibraryName(name);
        for (File directory : libraries) {
            File file = new File(directory, fileName);
            if (file.canRead()) {
                return file.getPath();
            }
        }
        return null;
    }

    /** The directories of native libraries, as a path. */
    public String getLdLibraryPath() {
        List<String> names = new ArrayList<>();
        libraries.forEach(directory -> names.add(directory.getPath()));
        return String.join(File.pathSeparator, names);
    }

    private String path() {
        return "DexPathList[" + code + ",nativeLibraryDirectories=" + libraries + "]";
    }

    @Override
    public String toString() {
        return getClass().getName() + "[" + path() + "]";
    }

    /** Kept for the framework; nothing is reported: code is never optimised ahead of time. */
    public static void setReporter(Reporter newReporter) {
        reporter = newReporter;
    }

    public static Reporter getReporter() {
        return reporter;
    }

    public void reportClassLoaderChain() {
    }
}
