// SPDX-License-Identifier: Apache-2.0
package dalvik.system;

import java.io.IOException;
import java.net.URL;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Enumeration;
import java.util.List;

/** A PathClassLoader that asks its parent last; the platform's classes still come first. */
public final class DelegateLastClassLoader extends PathClassLoader {
    private final boolean delegateResourceLoading;

    public DelegateLastClassLoader(String dexPath, ClassLoader parent) {
        this(dexPath, null, parent, true);
    }

    public DelegateLastClassLoader(String dexPath, String librarySearchPath, ClassLoader parent) {
        this(dexPath, librarySearchPath, parent, true);
    }

    public DelegateLastClassLoader(String dexPath, String librarySearchPath, ClassLoader parent,
            boolean delegateResourceLoading) {
        super(dexPath, librarySearchPath, parent);
        this.delegateResourceLoading = delegateResourceLoading;
    }

    public DelegateLastClassLoader(String dexPath, String librarySearchPath, ClassLoader parent,
            ClassLoader[] libraries) {
        this(dexPath, librarySearchPath, parent, libraries, null);
    }

    public DelegateLastClassLoader(String dexPath, String librarySearchPath, ClassLoader parent,
            ClassLoader[] librariesBefore, ClassLoader[] librariesAfter) {
        super(dexPath, librarySearchPath, parent, librariesBefore, librariesAfter);
        delegateResourceLoading = true;
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
        synchronized (getClassLoadingLock(name)) {
            Class<?> found = findLoadedClass(name);
            if (found != null) {
                return found;
            }
            try {
                return ClassLoader.getPlatformClassLoader().loadClass(name);
            } catch (ClassNotFoundException e) {
                // Not the platform's.
            }
            try {
                return findClass(name);
            } catch (ClassNotFoundException own) {
                if (getParent() == null) {
                    throw own;
                }
                try {
                    return getParent().loadClass(name);
                } catch (ClassNotFoundException e) {
                    throw own;
                }
            }
        }
    }

    @Override
    public URL getResource(String name) {
        URL found = ClassLoader.getPlatformClassLoader().getResource(name);
        if (found == null) {
            found = findResource(name);
        }
        boolean asksParent = found == null && delegateResourceLoading && getParent() != null;
        return asksParent ? getParent().getResource(name) : found;
    }

    @Override
    public Enumeration<URL> getResources(String name) throws IOException {
        List<URL> found = new ArrayList<>();
        found.addAll(Collections.list(ClassLoader.getPlatformClassLoader().getResources(name)));
        found.addAll(Collections.list(findResources(name)));
        if (delegateResourceLoading && getParent() != null) {
            found.addAll(Collections.list(getParent().getResources(name)));
        }
        return Collections.enumeration(found);
    }
}
