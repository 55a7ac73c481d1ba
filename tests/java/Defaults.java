// SPDX-License-Identifier: Apache-2.0

import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.InvocationTargetException;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.Callable;

/**
 * Which method an interface's caller reaches when classes have changed since they were compiled:
 * defaults in conflict, superclasses' methods that are not public, receivers of another kind.
 *
 * <p>A loader gives the classes below other constants, so javac sees nothing wrong in them.
 */
public class Defaults {
    interface One {
        default String name() {
            return "One";
        }
    }

    /** Renamed: its method has the name of the one in {@link One}. */
    interface Two {
        default String nameTwo() {
            return "Two";
        }
    }

    interface More extends One {
        @Override
        default String name() {
            return "More than " + One.super.name();
        }
    }

    /** Renamed: it only asks for the method. */
    interface Asking {
        String nameAsked();
    }

    static class Both implements One, Two {}

    static class Heir extends Both {}

    static class Resolved extends Both {
        @Override
        public String name() {
            return "Resolved";
        }
    }

    static class Diamond implements One, More {}

    abstract static class Half implements One, Two {}

    static class Whole extends Half {}

    /** The one default that there is serves also those who only ask. */
    static class Served implements One, Asking {
        public String nameAsked() {
            return "not called";
        }
    }

    interface Joined extends One, Two {}

    static class OfJoined implements Joined {}

    /** Renamed. */
    static class NearParent {
        String nameNear() {
            return "NearParent";
        }
    }

    static class Near extends NearParent implements One {}

    static class NearOpen extends Near {
        @Override
        public String name() {
            return "NearOpen";
        }
    }

    /** Renamed. */
    static class GuardedParent {
        protected String nameGuarded() {
            return "GuardedParent";
        }
    }

    static class Guarded extends GuardedParent implements One {}

    /** Renamed. */
    static class SecretParent {
        private String nameSecret() {
            return "SecretParent";
        }
    }

    static class Secret extends SecretParent implements One {}

    /** Renamed. */
    static class StaticParent {
        public static String nameStatic() {
            return "StaticParent";
        }
    }

    static class Static extends StaticParent implements One {}

    interface Plain {
        String plain();
    }

    /** Renamed: it lost the method. */
    static class Lost implements Plain {
        public String plain() {
            return "Lost";
        }
    }

    abstract static class Part {
        abstract String part();
    }

    static class LostPart extends Part {
        @Override
        String part() {
            return "LostPart";
        }
    }

    abstract static class Again implements One {
        @Override
        public abstract String name();
    }

    /** Renamed. */
    static class LostAgain extends Again {
        public String name() {
            return "LostAgain";
        }
    }

    interface Own {
        private String own() {
            return "own of " + getClass().getName();
        }

        private int wide(long a, double b, Object c) {
            return (int) (a + b);
        }

        default String open() {
            return "open of " + getClass().getName();
        }

        static String ask(Own own) {
            return own.own();
        }

        static int askWide(Own own) {
            return own.wide(1, 2, null);
        }

        static String askOpen(Own own) {
            return own.open();
        }

        static Callable<String> later(Own own) {
            return own::own;
        }
    }

    static class Owner implements Own {}

    interface Nothing {}

    /** Changed: it implements {@link Nothing} instead. */
    static class NoOwner implements Own {}

    static class Calls {
        static final MethodHandles.Lookup LOOKUP = MethodHandles.lookup();

        static String one(One it) {
            return it.name();
        }

        static String two(Two it) {
            return it.nameTwo();
        }

        static String joined(Joined it) {
            return it.name();
        }

        static String both(Both it) {
            return it.name();
        }

        static String half(Half it) {
            return it.name();
        }

        static String served(Served it) {
            return it.name();
        }

        static String diamond(Diamond it) {
            return it.name();
        }

        static String near(NearParent it) {
            return it.nameNear();
        }

        static String plain(Plain it) {
            return it.plain();
        }

        static String part(Part it) {
            return it.part();
        }

        static String again(Again it) {
            return it.name();
        }

        static Callable<String> later(One it) {
            return it::name;
        }

        static void run() {
            calls();
            lost();
            strangers();
            for (Object it : new Object[] {new Both(), new Heir(), new Whole(), new OfJoined(), new Near(),
                new Guarded(), new Secret(), new Static(), new Served(), new Diamond(), new Resolved()}) {
                reflected(it);
                handles(it);
            }
        }

        static String simple(Class<?> type) {
            return type.getName().substring("Defaults$".length());
        }

        static void calls() {
            One[] right = {new Resolved(), new Diamond(), new Served(), new NearOpen(), new Secret(), new Static()};
            for (One it : right) {
                show(simple(it.getClass()) + " as One", () -> one(it));
                show(simple(it.getClass()) + " later", () -> later(it).call());
            }
            show("Resolved as Two", () -> two(new Resolved()));
            for (One it : new One[] {new Both(), new Heir(), new Whole(), new OfJoined()}) {
                show(simple(it.getClass()) + " as One", () -> one(it));
                show(simple(it.getClass()) + " as Two", () -> two((Two) it));
                show(simple(it.getClass()) + " later", () -> later(it).call());
            }
            refuse("Joined", AbstractMethodError.class, () -> joined(new OfJoined()));
            for (One it : new One[] {new Near(), new Guarded()}) {
                refuse(simple(it.getClass()) + " as One", IllegalAccessError.class, () -> one(it));
                refuse(simple(it.getClass()) + " later", IllegalAccessError.class, () -> later(it).call());
            }
            show("Both", () -> both(new Both()));
            show("Heir as Both", () -> both(new Heir()));
            show("Resolved as Both", () -> both(new Resolved()));
            show("Half", () -> half(new Whole()));
            show("Served", () -> served(new Served()));
            show("Diamond", () -> diamond(new Diamond()));
            show("NearParent", () -> near(new Near()));
            show("NearOpen as NearParent", () -> near(new NearOpen()));
        }

        static void lost() {
            show("Lost", () -> plain(new Lost()));
            show("LostPart", () -> part(new LostPart()));
            show("LostAgain", () -> again(new LostAgain()));
            show("LostAgain as One", () -> one(new LostAgain()));
        }

        static void strangers() {
            show("private of Owner", () -> Own.ask(new Owner()));
            show("private of NoOwner", () -> Own.ask(new NoOwner()));
            show("wide private of Owner", () -> Own.askWide(new Owner()));
            show("wide private of NoOwner", () -> Own.askWide(new NoOwner()));
            show("private of Owner again", () -> Own.ask(new Owner()));
            show("private of null", () -> Own.ask(null));
            show("default of Owner", () -> Own.askOpen(new Owner()));
            show("default of NoOwner", () -> Own.askOpen(new NoOwner()));
            show("handle of Owner", () -> Own.later(new Owner()).call());
        }

        static void reflected(Object it) {
            String name = simple(it.getClass());
            for (Class<?> type : new Class<?>[] {One.class, it.getClass()}) {
                show(name + " reflected by " + simple(type), () -> {
                    var method = type.getMethod("name");
                    method.setAccessible(true);
                    return method.invoke(it) + " of " + simple(method.getDeclaringClass());
                });
            }
        }

        static void handles(Object it) {
            String name = simple(it.getClass());
            for (Class<?> type : new Class<?>[] {One.class, it.getClass()}) {
                Answer answer = () -> {
                    MethodHandle handle = LOOKUP.findVirtual(type, "name", MethodType.methodType(String.class));
                    return (String) handle.invoke(it) + " " + handle.type();
                };
                String what = name + " by a handle of " + simple(type);
                if (it instanceof Secret && type != One.class) {
                    // The class library's own assertions stop this one.
                    continue;
                }
                if (type == One.class) {
                    boolean isHidden = it instanceof Near || it instanceof Guarded;
                    refuse(what, isHidden ? IllegalAccessError.class : AbstractMethodError.class, answer);
                } else {
                    show(what, answer);
                }
            }
        }

        /** What may throw anything. */
        interface Answer {
            Object call() throws Throwable;
        }

        /** HotSpot says less of some calls. */
        static void refuse(String what, Class<? extends Error> error, Answer answer) {
            show(what, () -> {
                try {
                    return answer.call();
                } catch (InvocationTargetException e) {
                    return error == e.getCause().getClass() ? error : e.getCause();
                } catch (Error e) {
                    return error == e.getClass() ? error : e;
                }
            });
        }

        static void show(String what, Answer answer) {
            for (int turn = 0; turn < 2; turn++) {
                String text;
                try {
                    text = String.valueOf(answer.call());
                } catch (InvocationTargetException e) {
                    text = "target: " + e.getCause();
                } catch (Throwable e) {
                    text = e.toString();
                }
                System.out.println(what + ": " + text.replaceAll("@[0-9a-f]+", "@…"));
            }
        }
    }

    /** Defines the classes of this file anew, with other texts among their constants. */
    static class Changed extends ClassLoader {
        private final Map<String, Map<String, String>> changes = new HashMap<>();
        private String direct = "";

        Changed() {
            super("changed", Defaults.class.getClassLoader());
        }

        Changed with(String type, String text, String other) {
            changes.computeIfAbsent("Defaults$" + type, it -> new HashMap<>()).put(text, other);
            return this;
        }

        /** In this one calls by the interface are invokespecial, as of javac before Java 11. */
        Changed direct(String type) {
            direct = "Defaults$" + type;
            return this;
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            Class<?> known = findLoadedClass(name);
            if (known != null || !name.startsWith("Defaults")) {
                return known != null ? known : super.loadClass(name, resolve);
            }
            try (InputStream in = getResourceAsStream(name + ".class")) {
                byte[] bytes = renamed(in.readAllBytes(), changes.getOrDefault(name, Map.of()));
                for (int at = 0; name.equals(direct) && at + 4 < bytes.length; at++) {
                    if (bytes[at] == (byte) 0xb9 && bytes[at + 3] > 0 && bytes[at + 4] == 0) {
                        bytes[at] = (byte) 0xb7;
                        bytes[at + 3] = 0;
                    }
                }
                return defineClass(name, bytes, 0, bytes.length);
            } catch (IOException e) {
                throw new ClassNotFoundException(name, e);
            }
        }
    }

    /** A class file with other texts. */
    static byte[] renamed(byte[] file, Map<String, String> changes) throws IOException {
        var in = new DataInputStream(new java.io.ByteArrayInputStream(file));
        var bytes = new ByteArrayOutputStream();
        var out = new DataOutputStream(bytes);
        out.writeLong(in.readLong());
        int count = in.readUnsignedShort();
        out.writeShort(count);
        for (int index = 1; index < count; index++) {
            int tag = in.readUnsignedByte();
            out.writeByte(tag);
            switch (tag) {
                case 1 -> {
                    String text = in.readUTF();
                    out.writeUTF(changes.getOrDefault(text, text));
                }
                case 7, 8, 16, 19, 20 -> out.writeShort(in.readUnsignedShort());
                case 15 -> out.write(in.readNBytes(3));
                case 5, 6 -> {
                    out.writeLong(in.readLong());
                    index++;
                }
                default -> out.writeInt(in.readInt());
            }
        }
        in.transferTo(out);
        return bytes.toByteArray();
    }

    private static void run(Changed loader, String name) throws Exception {
        var run = loader.loadClass("Defaults$Calls").getDeclaredMethod(name);
        run.setAccessible(true);
        run.invoke(null);
    }

    public static void main(String[] args) throws Exception {
        Changed changed = new Changed()
                .with("Two", "nameTwo", "name")
                .with("Asking", "nameAsked", "name")
                .with("Served", "nameAsked", "unused")
                .with("NearParent", "nameNear", "name")
                .with("GuardedParent", "nameGuarded", "name")
                .with("SecretParent", "nameSecret", "name")
                .with("StaticParent", "nameStatic", "name")
                .with("Lost", "plain", "unused")
                .with("LostPart", "part", "unused")
                .with("LostAgain", "name", "unused")
                .with("NoOwner", "Defaults$Own", "Defaults$Nothing")
                .with("Calls", "nameTwo", "name")
                .with("Calls", "nameNear", "name");
        run(changed, "run");
        Changed direct = new Changed().with("NoOwner", "Defaults$Own", "Defaults$Nothing").direct("Own");
        run(direct, "strangers");
    }
}
