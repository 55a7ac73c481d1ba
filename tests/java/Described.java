// SPDX-License-Identifier: Apache-2.0

import java.io.InputStream;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.lang.invoke.MethodHandles;
import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.List;
import java.util.Set;

/** What classes say of themselves where they name others that are not there, and hidden ones. */
public class Described {
    @Retention(RetentionPolicy.RUNTIME)
    @Target(ElementType.TYPE_USE)
    @interface Mark {
        String value();
    }

    record Pair(@Mark("first") String first, List<@Mark("inner") String> second, int third) {
    }

    enum Colour {
        RED, GREEN
    }

    interface Shape {
    }

    static class Nest {
        static class Kept {
        }

        static class Lost {
        }
    }

    sealed interface Sealed permits One, Two {
    }

    record One() implements Sealed {
    }

    record Two() implements Sealed {
    }

    /** Defines this program's classes anew, with changes, and without those that are missing. */
    static class Changed extends ClassLoader {
        private final Set<String> missing;
        private final String from;
        private final String to;

        Changed(Set<String> missing, String from, String to) {
            super(Described.class.getClassLoader());
            this.missing = missing;
            this.from = from;
            this.to = to;
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (!name.startsWith("Described")) {
                return super.loadClass(name, resolve);
            }
            if (missing.contains(name)) {
                throw new ClassNotFoundException(name);
            }
            Class<?> known = findLoadedClass(name);
            if (known != null) {
                return known;
            }
            byte[] bytes = replaced(bytesOf(name), from, to);
            return defineClass(name, bytes, 0, bytes.length);
        }
    }

    static byte[] bytesOf(String name) {
        try (InputStream in = Described.class.getResourceAsStream("/" + name + ".class")) {
            return in.readAllBytes();
        } catch (Exception e) {
            throw new IllegalStateException(name, e);
        }
    }

    /** With the text {@code to}, as long as {@code from}, in its place. */
    static byte[] replaced(byte[] bytes, String from, String to) {
        int length = from.length();
        for (int at = 0; length > 0 && at + length <= bytes.length; at++) {
            if (new String(bytes, at, length, java.nio.charset.StandardCharsets.ISO_8859_1).equals(from)) {
                for (int i = 0; i < length; i++) {
                    bytes[at + i] = (byte) to.charAt(i);
                }
            }
        }
        return bytes;
    }

    interface Body {
        Object run() throws Throwable;
    }

    static void say(String what, Body body) {
        try {
            System.out.println(what + ": " + String.valueOf(body.run()).replaceAll("0x[0-9a-f]+|@[0-9a-f]+", "#"));
        } catch (Throwable e) {
            System.out.println(what + ": " + e.toString().replaceAll("0x[0-9a-f]+|@[0-9a-f]+", "#"));
        }
    }

    static Class<?> hidden(Class<?> template) throws Throwable {
        return MethodHandles.lookup().defineHiddenClass(bytesOf(template.getName()), false).lookupClass();
    }

    static void nests() throws Exception {
        ClassLoader lost = new Changed(Set.of("Described$Nest$Lost", "Described$Two"), "", "");
        Class<?> host = lost.loadClass("Described");
        say("all members", () -> Described.class.getNestMembers().length == host.getNestMembers().length + 2);
        say("members of a member", () -> {
            Class<?>[] members = lost.loadClass("Described$Nest$Kept").getNestMembers();
            return members[0] + " " + Arrays.asList(members).contains(lost.loadClass("Described$Pair"));
        });
        say("permitted", () -> Arrays.toString(Sealed.class.getPermittedSubclasses()));
        say("permitted, one lost",
            () -> Arrays.toString(lost.loadClass("Described$Sealed").getPermittedSubclasses()));
        say("permitted of others", () -> Shape.class.getPermittedSubclasses() + " " + Shape[].class.getPermittedSubclasses());
        ClassLoader renamed = new Changed(Set.of(), "NestMembers", "NestMemberz");
        say("no list", () -> {
            Class<?> alone = renamed.loadClass("Described$Nest$Kept");
            return alone.getNestHost() == alone && alone.getNestMembers().length == 1;
        });
        say("no mate", () -> renamed.loadClass("Described$Nest$Kept").isNestmateOf(renamed.loadClass("Described")));
        say("array and primitive", () -> int[].class.getNestMembers().length + " " + int.class.getNestHost());
    }

    static void records() {
        for (var component : Pair.class.getRecordComponents()) {
            say(component.getName(), () -> component.getAnnotatedType() + " "
                + Arrays.toString(component.getAnnotatedType().getAnnotations()) + " " + component.getGenericType());
        }
    }

    static void hiddenClasses() throws Throwable {
        Class<?> plain = hidden(Nest.class);
        for (Class<?> type : List.of(plain, plain.arrayType(), plain.arrayType().arrayType())) {
            say("name", type::getName);
            say("type name", type::getTypeName);
            say("simple", type::getSimpleName);
            say("canonical", type::getCanonicalName);
            say("text", type::toString);
            say("generic", type::toGenericString);
            say("descriptor", type::descriptorString);
            say("constable", type::describeConstable);
            say("hidden", type::isHidden);
            say("package", type::getPackageName);
            say("member", () -> type.isMemberClass() + " " + type.isAnonymousClass() + " " + type.isLocalClass());
            say("declaring", type::getDeclaringClass);
            say("enclosing", type::getEnclosingClass);
            say("declared", () -> type.getDeclaredClasses().length);
            say("host", () -> type.getNestHost() == type);
            say("members", () -> type.getNestMembers().length);
            say("by name", () -> Class.forName(type.getName(), false, Described.class.getClassLoader()));
            say("modifiers", type::getModifiers);
        }
        say("element", () -> plain.arrayType().getComponentType() == plain);
        say("instance", () -> java.lang.reflect.Array.newInstance(plain, 1).getClass() == plain.arrayType());
        say("cast", () -> plain.arrayType().cast(new Object[0]));
        say("store", () -> {
            Object[] array = (Object[]) java.lang.reflect.Array.newInstance(plain, 1);
            array[0] = "x";
            return array;
        });
        // Their methods name the plain class where they need their own.
        for (Class<?> unfit : List.of(Colour.class, Pair.class)) {
            try {
                say("defined", hidden(unfit)::getName);
            } catch (VerifyError e) {
                System.out.println("not verified: " + unfit);
            }
        }
        Class<?> shape = hidden(Sealed.class);
        say("sealed", () -> shape.isSealed() + " " + Arrays.toString(shape.getPermittedSubclasses()));
        try {
            System.out.println(hidden(One.class));
        } catch (IncompatibleClassChangeError e) {
            System.out.println("a hidden class is in no list");
        }
    }

    static void parameters() throws Exception {
        say("as they are", () -> Arrays.toString(Pair.class.getDeclaredConstructors()[0].getParameters()));
        byte[] bytes = bytesOf("Described$Pair");
        int index = entryOf(bytes, "MethodParameters");
        // Two bytes of name, four of length, one of count; then pairs of a name and flags.
        for (int at = 10; at + 7 < bytes.length; at++) {
            if (u2(bytes, at) == index && u2(bytes, at + 2) == 0 && u2(bytes, at + 4) == 13 && bytes[at + 6] == 3) {
                for (int[] change : new int[][] {
                        {7, 0}, {7, 0xfff0}, {7, 1}, {9, 0x0001}, {9, 0x7000}, {9, 0x9010}}) {
                    byte[] changed = bytes.clone();
                    changed[at + change[0]] = (byte) (change[1] >> 8);
                    changed[at + change[0] + 1] = (byte) change[1];
                    malformed(change[0] + " " + change[1], changed);
                }
                byte[] fewer = bytes.clone();
                fewer[at + 5] = 9;
                fewer[at + 6] = 2;
                byte[] shorter = new byte[fewer.length - 4];
                System.arraycopy(fewer, 0, shorter, 0, at + 15);
                System.arraycopy(fewer, at + 19, shorter, at + 15, fewer.length - at - 19);
                // The method's attributes are not counted in bytes: nothing else changes.
                malformed("fewer", shorter);
            }
        }
    }

    static int u2(byte[] bytes, int at) {
        return (bytes[at] & 255) << 8 | bytes[at + 1] & 255;
    }

    /** The constant's number. */
    static int entryOf(byte[] bytes, String text) {
        int at = 10;
        for (int index = 1; index < u2(bytes, 8); index++) {
            switch (bytes[at]) {
                case 1 -> {
                    int length = u2(bytes, at + 1);
                    if (new String(bytes, at + 3, length, java.nio.charset.StandardCharsets.ISO_8859_1).equals(text)) {
                        return index;
                    }
                    at += 3 + length;
                }
                case 7, 8, 16, 19, 20 -> at += 3;
                case 15 -> at += 4;
                case 5, 6 -> {
                    at += 9;
                    index++;
                }
                default -> at += 5;
            }
        }
        return -1;
    }

    static void malformed(String what, byte[] bytes) {
        ClassLoader loader = new ClassLoader() {
            @Override
            protected Class<?> findClass(String name) {
                return defineClass(null, bytes, 0, bytes.length);
            }
        };
        say("parameters " + what, () -> {
            var found = loader.loadClass("x").getDeclaredConstructors()[0].getParameters();
            return Arrays.toString(found) + " " + found[0].isNamePresent();
        });
    }

    static void beans() {
        var memory = ManagementFactory.getMemoryMXBean();
        var classes = ManagementFactory.getClassLoadingMXBean();
        say("verbose", () -> memory.isVerbose() + " " + classes.isVerbose());
        memory.setVerbose(true);
        say("verbose now", () -> memory.isVerbose() + " " + classes.isVerbose());
        memory.setVerbose(false);
        say("verbose again", memory::isVerbose);
    }

    public static void main(String[] args) throws Throwable {
        nests();
        records();
        hiddenClasses();
        parameters();
        beans();
    }
}
