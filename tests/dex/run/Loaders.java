// SPDX-License-Identifier: Apache-2.0
// Android's class loaders: the arguments are a DEX file and the package that holds it.
import java.io.File;
import java.lang.reflect.Constructor;
import java.nio.ByteBuffer;
import java.nio.file.Files;

class Loaders {
    static final Object SHARED = new Object();

    public static void main(String[] args) throws Throwable {
        ClassLoader own = Loaders.class.getClassLoader();
        System.out.println(own.getClass().getName() + " " + (own == ClassLoader.getSystemClassLoader())
            + " " + (Thread.currentThread().getContextClassLoader() == own));
        byte[] code = Files.readAllBytes(new File(args[0]).toPath());
        ClassLoader platform = ClassLoader.getPlatformClassLoader();
        check("path", make("PathClassLoader", new Class<?>[] {String.class, ClassLoader.class}, args[1], platform));
        check("dex", make("DexClassLoader", new Class<?>[] {String.class, String.class, String.class, ClassLoader.class}, args[0], null, "/no/libraries", platform));
        check("memory", make("InMemoryDexClassLoader", new Class<?>[] {ByteBuffer.class, ClassLoader.class}, ByteBuffer.wrap(code), platform));
        check("delegating", make("PathClassLoader", new Class<?>[] {String.class, ClassLoader.class}, args[1], own));
        check("last", make("DelegateLastClassLoader", new Class<?>[] {String.class, ClassLoader.class}, args[1], own));
        refuse(args[0] + ".missing", platform);
        code[code.length / 2] ^= 1;
        File broken = new File(args[0] + ".broken");
        Files.write(broken.toPath(), code);
        refuse(broken.getPath(), platform);
        code[6] = '1';
        code[5] = '4';
        Files.write(broken.toPath(), code);
        refuse(broken.getPath(), platform);
        try {
            own.loadClass("no.such.Type");
        } catch (ClassNotFoundException e) {
            System.out.println(e.getMessage().startsWith("Didn't find class \"no.such.Type\" on path: DexPathList[["));
        }
    }

    static ClassLoader make(String name, Class<?>[] types, Object... values) throws Throwable {
        Constructor<?> constructor = Class.forName("dalvik.system." + name).getConstructor(types);
        return (ClassLoader) constructor.newInstance(values);
    }

    static void check(String what, ClassLoader loader) throws Throwable {
        Class<?> loaded = Class.forName("Loaders", true, loader);
        var shared = loaded.getDeclaredField("SHARED");
        shared.setAccessible(true);
        boolean isOwn = loaded == Loaders.class;
        System.out.println(what + " " + isOwn + " " + (shared.get(null) == SHARED) + " " + (loaded.getClassLoader() == loader)
            + " " + (loader.getResource("note.txt") != null) + " " + loader.loadClass("Loaders").getName());
    }

    static void refuse(String path, ClassLoader parent) throws Throwable {
        ClassLoader loader = make("PathClassLoader", new Class<?>[] {String.class, ClassLoader.class}, path, parent);
        try {
            loader.loadClass("Loaders");
        } catch (ClassNotFoundException e) {
            String reason = e.getMessage().substring(e.getMessage().lastIndexOf("]; ") + 3);
            System.out.println(reason.replace(path, "FILE") + " " + e.getSuppressed().length);
        }
    }
}
