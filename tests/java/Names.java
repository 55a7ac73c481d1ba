// SPDX-License-Identifier: Apache-2.0

import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.invoke.MethodHandles;
import java.lang.reflect.InvocationTargetException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;

/**
 * Classes that take the names of others: a name alone gives no right, and two classes of one name
 * stay apart.
 */
public class Names {
    static final String MAGIC = "jdk/internal/reflect/MagicAccessorImpl";
    static final String PLATFORM = "jdk/internal/loader/ClassLoaders$PlatformClassLoader";

    /** What is guarded. */
    public static class Safe {
        private int secret = 42;
        public int open = 7;
        public Object any = "any";
    }

    /** Takes the name of a class of the library's. */
    public static class Lure {
        public Lure() {
        }
    }

    public static class Heir extends Lure {
        public Object run() {
            return legs(7);
        }

        /** Its cast is taken out. */
        static int legs(Object object) {
            return ((Safe) object).open;
        }
    }

    public static class Lender extends ClassLoader {
        public Lender() {
            super(Names.class.getClassLoader());
        }

        public Class<?> take(byte[] bytes) {
            return defineClass(null, bytes, 0, bytes.length);
        }
    }

    public static class Given {
        public Object run() {
            return "ran";
        }
    }

    /** An ordinary class and a hidden one of this name are strangers. */
    public static class Twin {
        public long first = 1;
        public Object second = "second";

        public Object run() {
            return Asker.ask(this);
        }
    }

    public static class Asker {
        public static Object ask(Twin twin) {
            return twin.second;
        }
    }

    public sealed interface Closed permits Inside {
    }

    public static final class Inside implements Closed {
        public Object run() {
            return "inside";
        }
    }

    @Retention(RetentionPolicy.RUNTIME)
    @interface Mark {
    }

    public static class Marked implements Supplier<Object> {
        @Mark
        @Override
        public Object get() {
            return MethodHandles.lookup().lookupClass();
        }
    }

    public static class UsesInt {
        public Object run() {
            return Sham.made();
        }
    }

    /** Takes the name of a primitive type. */
    public static class Sham {
        static Object made() {
            return new Sham();
        }
    }

    static byte[] read(String name) throws IOException {
        try (InputStream in = Names.class.getResourceAsStream("/" + name.replace('.', '/') + ".class")) {
            return in.readAllBytes();
        }
    }

    static byte[] read(Class<?> type) throws IOException {
        return read(type.getName());
    }

    static String own(String simple) {
        return "Names$" + simple;
    }

    /** A class file with other texts among its constants, whole or inside descriptors. */
    static byte[] renamed(byte[] bytes, Map<String, String> names) throws IOException {
        DataInputStream in = new DataInputStream(new java.io.ByteArrayInputStream(bytes));
        ByteArrayOutputStream changed = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(changed);
        out.writeLong(in.readLong());
        int count = in.readUnsignedShort();
        out.writeShort(count);
        for (int i = 1; i < count; i++) {
            int tag = in.readByte();
            out.writeByte(tag);
            switch (tag) {
                case 1 -> out.writeUTF(text(in.readUTF(), names));
                case 5, 6 -> {
                    out.writeLong(in.readLong());
                    i++;
                }
                case 7, 8, 16, 19, 20 -> out.writeShort(in.readShort());
                case 15 -> out.write(in.readNBytes(3));
                default -> out.writeInt(in.readInt());
            }
        }
        in.transferTo(out);
        return changed.toByteArray();
    }

    static String text(String text, Map<String, String> names) {
        if (names.containsKey(text)) {
            return names.get(text);
        }
        for (Map.Entry<String, String> name : names.entrySet()) {
            text = text.replace("L" + name.getKey() + ";", "L" + name.getValue() + ";");
        }
        return text;
    }

    /** Replaces each cast of local 0 by instructions that do nothing. */
    static byte[] withoutCasts(byte[] bytes) {
        byte[] changed = bytes.clone();
        for (int at = 1; at < changed.length - 3; at++) {
            if (changed[at - 1] == 0x2a && (changed[at] & 0xff) == 0xc0 && changed[at + 1] == 0) {
                changed[at] = changed[at + 1] = changed[at + 2] = 0;
            }
        }
        return changed;
    }

    /** Has classes of its own, by their names in the language, and asks a parent for all others. */
    static class Own extends ClassLoader {
        final Map<String, byte[]> files = new HashMap<>();
        final Map<String, Class<?>> given = new HashMap<>();

        Own() {
            super("own", Names.class.getClassLoader());
        }

        Own with(String name, byte[] bytes) {
            files.put(name.replace('/', '.'), bytes);
            return this;
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            synchronized (getClassLoadingLock(name)) {
                if (given.containsKey(name)) {
                    return given.get(name);
                }
                Class<?> loaded = findLoadedClass(name);
                if (loaded != null || !files.containsKey(name)) {
                    return loaded != null ? loaded : super.loadClass(name, resolve);
                }
                byte[] bytes = files.get(name);
                return defineClass(name, bytes, 0, bytes.length);
            }
        }
    }

    interface Answer {
        Object get() throws Throwable;
    }

    static void show(String what, Answer answer) {
        String text;
        try {
            text = String.valueOf(answer.get());
        } catch (InvocationTargetException e) {
            text = "threw " + e.getCause();
        } catch (Throwable e) {
            text = e instanceof VerifyError ? "java.lang.VerifyError" : String.valueOf(e);
        }
        System.out.println(what + ": " + text.replaceAll("@[0-9a-f]+", "@…").replaceAll("[/+]0x[0-9a-f]+", ""));
    }

    static Object run(Class<?> type) throws Throwable {
        return type.getMethod("run").invoke(type.getConstructor().newInstance());
    }

    /**
     * A class whose ancestor is named as the one that the library's reflection may do anything by.
     */
    static void magic() throws IOException {
        for (String name : List.of(MAGIC, "jdk/internal/reflect/MethodAccessorImpl", "jdk/internal/reflect/Any", "p/Q")) {
            Map<String, String> names = Map.of(own("Lure"), name);
            byte[] heir = withoutCasts(renamed(read(Heir.class), names));
            Own loader = new Own().with(name, renamed(read(Lure.class), names)).with("Names$Heir", heir);
            show("heir of a lure " + name, () -> run(loader.loadClass("Names$Heir")));
        }
        byte[] heir = withoutCasts(renamed(read(Heir.class), Map.of(own("Lure"), MAGIC)));
        show("heir of the library's", () -> run(new Own().with("Names$Heir", heir).loadClass("Names$Heir")));
        show("hidden heir of the library's", () -> run(MethodHandles.lookup().defineHiddenClass(heir, true).lookupClass()));
    }

    /** A loader that is named as the library's platform loader. */
    static void packages() throws Throwable {
        byte[] given = renamed(read(Given.class), Map.of(own("Given"), "java/lang/Given"));
        byte[] lender = renamed(read(Lender.class), Map.of(own("Lender"), PLATFORM));
        Class<?> type = new Own().with(PLATFORM, lender).loadClass(PLATFORM.replace('/', '.'));
        Object loader = type.getConstructor().newInstance();
        show("a class below java/", () -> run((Class<?>) type.getMethod("take", byte[].class).invoke(loader, given)));
    }

    /** Two classes of one name, one of them hidden. */
    static void twins() throws Throwable {
        byte[] twin = read(Twin.class);
        show("an ordinary twin", () -> run(Twin.class));
        MethodHandles.Lookup lookup = MethodHandles.lookup();
        show("a hidden twin", () -> run(lookup.defineHiddenClass(twin, true).lookupClass()));
        byte[] alone = renamed(read(Inside.class), Map.of(own("Closed"), "java/lang/Runnable"));
        show("a hidden class by itself", () -> run(lookup.defineHiddenClass(alone, true).lookupClass()));
    }

    /** A sealed interface names its heirs, but not those of other modules. */
    static void sealed() throws IOException {
        Own loader = new Own().with("Names$Inside", read(Inside.class));
        show("an heir of the right name", () -> run(loader.loadClass("Names$Inside")));
        byte[] inside = read(Inside.class);
        show("a hidden heir", () -> MethodHandles.lookup().defineHiddenClass(inside, true).lookupClass());
    }

    /** Annotations that mean something in the library's own classes. */
    static void marks() throws Throwable {
        for (String name : List.of("java/lang/invoke/LambdaForm$Compiled", "jdk/internal/vm/annotation/Hidden",
            "jdk/internal/reflect/CallerSensitive")) {
            byte[] marked = renamed(read(Marked.class), Map.of(own("Mark"), name));
            Class<?> type = MethodHandles.lookup().defineHiddenClass(marked, true).lookupClass();
            Supplier<?> supplier = (Supplier<?>) type.getConstructor().newInstance();
            show("marked " + name, () -> java.util.stream.Stream.generate(supplier).limit(1).toList());
        }
    }

    /** Names of classes that loaders cannot have. */
    static void nameless() throws Throwable {
        Own loader = new Own().with("UsesInt", renamed(read(UsesInt.class), Map.of(own("UsesInt"), "UsesInt", own("Sham"), "int")));
        loader.given.put("int", int.class);
        show("int by a loader", () -> run(loader.loadClass("UsesInt")));
        Class<?> hidden = MethodHandles.lookup().defineHiddenClass(read(Given.class), true).lookupClass();
        String name = hidden.getName().replace('/', '.');
        loader.given.put(name, hidden);
        show("a hidden class by a loader", () -> Class.forName(name, true, loader) == hidden);
    }

    public static void main(String[] args) throws Throwable {
        magic();
        packages();
        twins();
        sealed();
        marks();
        nameless();
    }
}
