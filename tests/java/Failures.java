// SPDX-License-Identifier: Apache-2.0

import java.io.IOException;
import java.io.InputStream;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CyclicBarrier;

/** What failed once fails again in the same way: initialisers, constants, circles of classes. */
public class Failures {
    static class Thrower {
        static int number = fail();

        static int fail() {
            throw new IllegalStateException("first", new RuntimeException("below"));
        }
    }

    static class Silent {
        static int number = 1 / zero();

        static int zero() {
            throw new UnsupportedOperationException();
        }
    }

    static class Erring {
        static {
            if (Failures.isFailing) {
                throw new AssertionError("an error");
            }
        }

        static int number = 1;
    }

    static class Below extends Thrower {
        static int own = 1;
    }

    static class Beside {
        static int number = Thrower.number;
    }

    /** Its trace cannot be had. */
    static class Hostile {
        static int number = fail();

        static int fail() {
            throw new RuntimeException("hostile") {
                @Override
                public StackTraceElement[] getStackTrace() {
                    throw new IllegalStateException("no trace");
                }
            };
        }
    }

    static boolean isFailing = true;

    static void initializers() throws Exception {
        show("Thrower", () -> Thrower.number);
        show("Thrower", () -> Thrower.number);
        show("Thrower made", Thrower::new);
        show("Silent", () -> Silent.number);
        show("Silent", () -> Silent.number);
        show("Erring", () -> Erring.number);
        isFailing = false;
        show("Erring", () -> Erring.number);
        show("Below", () -> Below.own);
        show("Below", () -> Below.own);
        show("Beside", () -> Beside.number);
        show("Beside", () -> Beside.number);
        show("by name", () -> Class.forName("Failures$Thrower"));
        show("Hostile", () -> Hostile.number);
        show("Hostile", () -> Hostile.number);
        Thread other = new Thread(() -> show("elsewhere", () -> Late.number), "elsewhere");
        other.start();
        other.join();
        show("here", () -> Late.number);
    }

    static class Late {
        static int number = Thrower.fail();
    }

    interface Answer {
        Object call() throws Throwable;
    }

    /** Without the causes. */
    static void showPlainly(String what, Answer answer) {
        try {
            System.out.println(what + ": " + answer.call());
        } catch (Throwable e) {
            System.out.println(what + ": " + e);
        }
    }

    static void show(String what, Answer answer) {
        try {
            System.out.println(what + ": " + answer.call());
        } catch (Throwable e) {
            String before = what + ": ";
            for (Throwable next = e; next != null; next = next.getCause()) {
                System.out.println(before + next);
                before = "  because of ";
                // Of calls that the test itself makes there are more frames.
                for (StackTraceElement frame : next == e ? new StackTraceElement[0] : trace(next)) {
                    if (frame.getClassName().startsWith("Failures$") && !frame.getMethodName().startsWith("lambda")) {
                        System.out.println("    at " + frame);
                    }
                }
            }
        }
    }

    static StackTraceElement[] trace(Throwable thrown) {
        try {
            return thrown.getStackTrace();
        } catch (IllegalStateException e) {
            return new StackTraceElement[0];
        }
    }

    public static class Missing {
        public static final int NUMBER = Integer.parseInt("5");
    }

    public static class Unsure {
        public int number = 6;
    }

    public static class User {
        public static Object made() {
            return new Missing();
        }

        public static Object read() {
            return Missing.NUMBER;
        }

        public static Object asked() {
            return new Object() instanceof Missing;
        }

        public static Object named() {
            return Missing.class;
        }

        public static Object several() {
            return new Missing[1];
        }

        public static Object lambda() {
            java.util.function.Supplier<Missing> made = Missing::new;
            return made.get() != null;
        }

        public static Object unsure() {
            return new Unsure().number;
        }
    }

    public static class Neighbour {
        public static Object made() {
            return new Missing().getClass().getName();
        }
    }

    /** Has some classes only later. */
    static class Refusing extends ClassLoader {
        final Set<String> refused = new TreeSet<>(Set.of("Failures$Missing", "Failures$Unsure"));
        int asked;

        Refusing() {
            super(Failures.class.getClassLoader());
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            Class<?> known = findLoadedClass(name);
            if (known != null || !name.startsWith("Failures$")) {
                return known != null ? known : super.loadClass(name, resolve);
            }
            if (refused.contains(name)) {
                asked++;
                if (name.endsWith("Unsure")) {
                    throw new IllegalStateException("not sure");
                }
                throw new ClassNotFoundException(name + " now");
            }
            return define(name, this::defineClass);
        }
    }

    interface Definer {
        Class<?> define(String name, byte[] bytes, int from, int count);
    }

    static Class<?> define(String name, Definer definer) throws ClassNotFoundException {
        try (InputStream in = Failures.class.getResourceAsStream(name + ".class")) {
            byte[] bytes = in.readAllBytes();
            return definer.define(name, bytes, 0, bytes.length);
        } catch (IOException e) {
            throw new ClassNotFoundException(name, e);
        }
    }

    static void constants() throws Exception {
        var loader = new Refusing();
        Class<?> user = loader.loadClass("Failures$User");
        Class<?> neighbour = loader.loadClass("Failures$Neighbour");
        String[] names = {"made", "read", "asked", "named", "several", "unsure"};
        for (int turn = 0; turn < 3; turn++) {
            for (String name : names) {
                show(name + " in turn " + turn, () -> invoke(user, name));
            }
            // Later HotSpot says no cause of this one.
            showPlainly("lambda in turn " + turn, () -> invoke(user, "lambda"));
            if (turn == 1) {
                System.out.println("asked for " + (loader.asked > 0));
                loader.refused.clear();
                loader.asked = 0;
            }
        }
        show("neighbour", () -> invoke(neighbour, "made"));
        System.out.println("asked again: " + loader.asked);
    }

    static Object invoke(Class<?> type, String name) throws Throwable {
        try {
            return type.getMethod(name).invoke(null);
        } catch (java.lang.reflect.InvocationTargetException e) {
            throw e.getCause();
        }
    }

    /** Two or three threads define classes that need one another, each holding one's lock. */
    static class Circular extends ClassLoader {
        static {
            registerAsParallelCapable();
        }

        private final CyclicBarrier all;
        private final Set<String> met = ConcurrentHashMap.newKeySet();
        private final String[] names;

        Circular(String... names) {
            super(Failures.class.getClassLoader());
            this.names = names;
            all = new CyclicBarrier(names.length);
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            int place = java.util.Arrays.asList(names).indexOf(name);
            if (place < 0) {
                return super.loadClass(name, resolve);
            }
            synchronized (getClassLoadingLock(name)) {
                Class<?> known = findLoadedClass(name);
                if (known != null) {
                    return known;
                }
                try {
                    if (met.add(name)) {
                        all.await();
                    }
                } catch (Exception e) {
                    throw new ClassNotFoundException(name, e);
                }
                byte[] bytes = circular(name, names[(place + 1) % names.length]);
                return defineClass(name, bytes, 0, bytes.length);
            }
        }
    }

    /** A class without members. */
    static byte[] circular(String name, String parent) {
        var bytes = new java.io.ByteArrayOutputStream();
        var out = new java.io.DataOutputStream(bytes);
        try {
            out.writeInt(0xcafebabe);
            out.writeInt(52);
            out.writeShort(5);
            for (String text : new String[] {name, parent}) {
                out.writeByte(1);
                out.writeUTF(text);
            }
            for (int index = 1; index <= 2; index++) {
                out.writeByte(7);
                out.writeShort(index);
            }
            for (int word : new int[] {0x21, 3, 4, 0, 0, 0, 0}) {
                out.writeShort(word);
            }
        } catch (IOException e) {
            throw new AssertionError(e);
        }
        return bytes.toByteArray();
    }

    static void circles(String... names) throws Exception {
        var loader = new Circular(names);
        var said = ConcurrentHashMap.<String>newKeySet();
        Thread[] threads = new Thread[names.length];
        for (int place = 0; place < names.length; place++) {
            String name = names[place];
            threads[place] = new Thread(() -> {
                try {
                    said.add(name + " is " + loader.loadClass(name));
                } catch (Throwable e) {
                    said.add(name + " " + e.getClass().getName());
                }
            });
            threads[place].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.println(new TreeSet<>(said));
    }

    public static void main(String[] args) throws Exception {
        initializers();
        constants();
        circles("Own");
        circles("Left", "Right");
        circles("Upper", "Lower", "Third");
    }
}
