// SPDX-License-Identifier: Apache-2.0

import java.io.InputStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;

/** Members that became private, or moved out of sight, after their user was compiled. */
public class Access {
    public static class Holder {
        int number = 1;
        static String text = "text";

        int twice() {
            return 2 * number;
        }

        static int thrice(int number) {
            return 3 * number;
        }

        private int own() {
            return 4;
        }
    }

    /** In the nest: may use privates. */
    static class Mate {
        static int run() {
            return new Holder().own();
        }
    }

    public static class Field {
        public static Object run() {
            return new Holder().number;
        }
    }

    public static class Static {
        public static Object run() {
            return Holder.text;
        }
    }

    public static class Method {
        public static Object run() {
            return new Holder().twice();
        }
    }

    public static class Function {
        public static Object run() {
            return Holder.thrice(1);
        }
    }

    public static class Hidden {
        public static Object run() {
            return Mate.run();
        }
    }

    /** As long a name as {@link #FORBIDDEN}. */
    static class Guest {}

    /** In a package of the class library's. */
    static final String FORBIDDEN = "java/zork/Ab";

    /** Another loader, so another package of the same name. */
    static class Stranger extends ClassLoader {
        private final String name;

        Stranger(String name) {
            super(Access.class.getClassLoader());
            this.name = name;
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (!name.equals(this.name)) {
                return super.loadClass(name, resolve);
            }
            try (InputStream in = getParent().getResourceAsStream(name + ".class")) {
                byte[] bytes = in.readAllBytes();
                return defineClass(name, bytes, 0, bytes.length);
            } catch (java.io.IOException error) {
                throw new ClassNotFoundException(name, error);
            }
        }

        @Override
        public String getName() {
            return "stranger";
        }

        /** A class whose file alone says its name. */
        Class<?> define(byte[] bytes) {
            return defineClass(null, bytes, 0, bytes.length);
        }
    }

    /** A class that says it is one of the class library's. */
    static void forge() throws Exception {
        try (InputStream in = Access.class.getResourceAsStream("Access$Guest.class")) {
            String file = new String(in.readAllBytes(), StandardCharsets.ISO_8859_1);
            String forged = file.replace("Access$Guest", FORBIDDEN);
            System.out.println(new Stranger("").define(forged.getBytes(StandardCharsets.ISO_8859_1)));
        } catch (SecurityException error) {
            System.out.println(error.getMessage().replaceAll("@[0-9a-f]+", "@…"));
        }
    }

    static void run(Class<?> type) throws Exception {
        Class<?> stranger = new Stranger(type.getName()).loadClass(type.getName());
        System.out.println(type.getName() + " at home: " + type.getMethod("run").invoke(null));
        try {
            System.out.println(type.getName() + " abroad: " + stranger.getMethod("run").invoke(null));
        } catch (InvocationTargetException error) {
            String message = error.getCause().toString();
            System.out.println(type.getName() + " abroad: " + message.replaceAll("@[0-9a-f]+", "@…"));
        }
    }

    public static void main(String[] args) throws Exception {
        System.out.println(Mate.run());
        for (Class<?> type : new Class<?>[] {
            Field.class, Static.class, Method.class, Function.class, Hidden.class
        }) {
            run(type);
        }
        System.out.println(new int[] {1, 2}.clone().length);
        forge();
    }
}
