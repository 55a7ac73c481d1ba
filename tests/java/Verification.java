// SPDX-License-Identifier: Apache-2.0

import java.io.InputStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** Classes whose code was changed after javac: none of their methods may run. */
public class Verification {
    static class Animal {
        String name = "animal";

        protected void rest() {
        }
    }

    static class Dog extends Animal {
        int legs = 4;

        Dog self() {
            return this;
        }
    }

    interface Walker {
        void walk();
    }

    /** Every method leaves one thing to change; {@code run} never needs it. */
    static class Casts {
        static String run() {
            return "ran";
        }

        static int legs(Object object) {
            return ((Dog) object).legs;
        }

        static Dog dog(Object object) {
            return ((Dog) object).self();
        }
    }

    static class Interfaces {
        static String run() {
            return "ran";
        }

        static void walk(Object object) {
            ((Walker) object).walk();
        }
    }

    static class Merges {
        static String run() {
            return new Merges(true).value.toString() + merge(true, new Dog(), new Animal()).name;
        }

        final Object value;

        Merges(boolean first) {
            Object chosen;
            if (first) {
                chosen = new StringBuilder("one ");
            } else {
                chosen = new int[2];
            }
            this.value = chosen;
        }

        static Animal merge(boolean first, Dog dog, Animal animal) {
            Animal found = null;
            for (int i = 0; i < 2; i++) {
                try {
                    found = first ? dog : animal;
                    if (i == 1) {
                        throw new IllegalStateException();
                    }
                } catch (IllegalStateException | IllegalArgumentException error) {
                    found.name = error.getMessage() + found.name;
                }
            }
            return found;
        }
    }

    static class Constructors {
        static String run() {
            return "ran";
        }

        static Object make() {
            return new StringBuilder();
        }
    }

    /** Its superclass has a protected constructor, for subclasses' constructors only. */
    static class Protected extends ClassLoader {
        static String run() {
            return "ran";
        }

        static Object make() {
            return new Object();
        }
    }

    static class ArrayCasts {
        static String run() {
            return "ran";
        }

        static int first(Object array) {
            return ((int[]) array)[0];
        }
    }

    /** Defines changed classes; everything else comes from its parent. */
    static class Changed extends ClassLoader {
        private final String name;
        private final byte[] bytes;

        Changed(String name, byte[] bytes) {
            super(Verification.class.getClassLoader());
            this.name = name;
            this.bytes = bytes;
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (!name.equals(this.name)) {
                return super.loadClass(name, resolve);
            }
            Class<?> loaded = findLoadedClass(name);
            return loaded != null ? loaded : defineClass(name, bytes, 0, bytes.length);
        }
    }

    static byte[] read(Class<?> type) throws Exception {
        String file = type.getName().replace('.', '/') + ".class";
        try (InputStream in = type.getClassLoader().getResourceAsStream(file)) {
            return in.readAllBytes();
        }
    }

    /** Replaces the {@code which}th instruction with this operation and length by nops. */
    static byte[] without(byte[] code, int operation, int length, int which) {
        byte[] changed = code.clone();
        for (int at = changed.length - length; at > 0; at--) {
            boolean found = (changed[at] & 0xff) == operation && changed[at + 1] == 0 && changed[at - 1] == 0x2a;
            if (found && which-- == 0) {
                Arrays.fill(changed, at, at + length, (byte) 0);
                return changed;
            }
        }
        throw new AssertionError("nothing to change");
    }

    /** Puts another name in place of this one in the constant pool. */
    static byte[] renamed(byte[] code, String from, String to) {
        String text = new String(code, StandardCharsets.ISO_8859_1);
        String before = (char) 1 + "" + (char) 0 + (char) from.length() + from;
        String after = (char) 1 + "" + (char) 0 + (char) to.length() + to;
        if (!text.contains(before)) {
            throw new AssertionError("nothing to change");
        }
        return text.replace(before, after).getBytes(StandardCharsets.ISO_8859_1);
    }

    static void run(String what, Class<?> type, byte[] bytes) throws Exception {
        Class<?> changed = new Changed(type.getName(), bytes).loadClass(type.getName());
        for (int turn = 0; turn < 2; turn++) {
            try {
                var run = changed.getDeclaredMethod("run");
                run.setAccessible(true);
                System.out.println(what + ": " + run.invoke(null));
            } catch (VerifyError error) {
                System.out.println(what + ": " + error.getClass().getName());
            } catch (InvocationTargetException error) {
                System.out.println(what + ": " + error.getCause().getClass().getName());
            }
        }
    }

    public static void main(String[] args) throws Exception {
        final int checkcast = 0xc0;
        for (Class<?> type : new Class<?>[] {
            Casts.class, Interfaces.class, Merges.class, Constructors.class, Protected.class, ArrayCasts.class
        }) {
            run("unchanged", type, read(type));
        }
        run("a field of an Object", Casts.class, without(read(Casts.class), checkcast, 3, 1));
        run("a method of an Object", Casts.class, without(read(Casts.class), checkcast, 3, 0));
        run("an interface's method of an Object", Interfaces.class,
            without(read(Interfaces.class), checkcast, 3, 0));
        run("an element of an Object", ArrayCasts.class, without(read(ArrayCasts.class), checkcast, 3, 0));
        byte[] unconstructed = read(Constructors.class);
        for (int at = 0; at < unconstructed.length - 4; at++) {
            // new, dup, invokespecial: the copy is popped instead of being constructed.
            if ((unconstructed[at] & 0xff) == 0x59 && (unconstructed[at + 1] & 0xff) == 0xb7) {
                unconstructed[at + 1] = 0x57;
                unconstructed[at + 2] = 0;
                unconstructed[at + 3] = 0;
            }
        }
        run("an object without its constructor", Constructors.class, unconstructed);
        run("a protected constructor", Protected.class,
            renamed(read(Protected.class), "java/lang/Object", "java/lang/ClassLoader"));
    }
}
