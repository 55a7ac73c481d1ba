// SPDX-License-Identifier: Apache-2.0

import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.InvocationTargetException;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;

/**
 * Two loaders, each with a class of the same name: who links with the other must agree about what
 * the name means.
 */
public class Constraints {
    public static class Token {
        public int number = 7;
    }

    public static class Keeper {
        public static Token kept = new Token();
        public Token own = new Token();

        public static int take(Token token) {
            return token == null ? 0 : token.number;
        }

        public static int takeAll(int first, Token[][] tokens) {
            return first;
        }

        public Token give() {
            return own;
        }
    }

    public interface Maker {
        Token make();
    }

    public static class Base {
        public Token make() {
            return new Token();
        }

        Token near() {
            return null;
        }
    }

    /** All of these are the right side's. */
    public static class Static {
        public static Object run() {
            return Keeper.take(new Token());
        }
    }

    public static class Array {
        public static Object run() {
            return Keeper.takeAll(3, null);
        }
    }

    public static class Virtual {
        public static Object run() {
            return new Keeper().give().number;
        }
    }

    public static class Field {
        public static Object run() {
            return new Keeper().own.number;
        }
    }

    public static class StaticField {
        public static Object run() {
            return Keeper.kept.number;
        }
    }

    public static class Write {
        public static Object run() {
            Keeper.kept = new Token();
            return 1;
        }
    }

    public static class Interface {
        public static Object run() {
            return call(null);
        }

        static Object call(Maker maker) {
            return maker.make();
        }
    }

    public static class Overriding extends Base {
        @Override
        public Token make() {
            return null;
        }

        public static Object run() {
            return new Overriding().make();
        }
    }

    /** Not overridden from another package. */
    public static class Near extends Base {
        @Override
        Token near() {
            return null;
        }

        public static Object run() {
            return new Near().near();
        }
    }

    public static class Implementing implements Maker {
        @Override
        public Token make() {
            return null;
        }

        public static Object run() {
            return new Implementing().make();
        }
    }

    public static class Inheriting extends Base implements Maker {
        public static Object run() {
            return new Inheriting() == null;
        }
    }

    /** Links before its side has a token. */
    public static class Early {
        public static Object run() {
            return Keeper.take(null);
        }
    }

    public static class Late {
        public static Object run() {
            return new Token().number;
        }
    }

    /** Defines some of our classes itself, and has others from elsewhere. */
    static class Side extends ClassLoader {
        private final Set<String> own;
        private final Map<String, ClassLoader> others;

        Side(String name, Set<String> own, Map<String, ClassLoader> others) {
            super(name, Constraints.class.getClassLoader());
            this.own = own;
            this.others = others;
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (!name.startsWith("Constraints$")) {
                return super.loadClass(name, resolve);
            }
            synchronized (getClassLoadingLock(name)) {
                Class<?> known = findLoadedClass(name);
                if (known != null) {
                    return known;
                }
                String simple = name.substring("Constraints$".length());
                if (others.containsKey(simple)) {
                    return others.get(simple).loadClass(name);
                }
                if (!own.contains(simple)) {
                    return super.loadClass(name, resolve);
                }
                return define(simple);
            }
        }

        Class<?> define(String simple) throws ClassNotFoundException {
            String name = "Constraints$" + simple;
            try (InputStream in = getResourceAsStream(name + ".class")) {
                byte[] bytes = in.readAllBytes();
                return defineClass(name, bytes, 0, bytes.length);
            } catch (IOException e) {
                throw new ClassNotFoundException(name, e);
            }
        }
    }

    static void show(Callable<?> answer) {
        try {
            System.out.println(answer.call());
        } catch (Throwable e) {
            System.out.println(text(e));
        }
    }

    static String text(Throwable thrown) {
        return String.valueOf(thrown).replaceAll("@[0-9a-f]+", "@…");
    }

    static void run(ClassLoader loader, String name) {
        try {
            Class<?> found = Class.forName("Constraints$" + name, true, loader);
            System.out.println(name + ": " + found.getMethod("run").invoke(null));
        } catch (InvocationTargetException e) {
            System.out.println(name + ": " + text(e.getCause()));
        } catch (Throwable e) {
            System.out.println(name + ": " + text(e));
        }
    }

    static final Set<String> LEFT = Set.of("Token", "Keeper", "Maker", "Base");

    /** A pair in which the right side has a token of its own, or the left's. */
    static Side right(boolean isOwn, Set<String> own) {
        Side left = new Side("left", LEFT, Map.of());
        Map<String, ClassLoader> others = isOwn
                ? Map.of("Keeper", left, "Maker", left, "Base", left)
                : Map.of("Keeper", left, "Maker", left, "Base", left, "Token", left);
        return new Side("right", own, others);
    }

    public static void main(String[] args) throws Exception {
        String[] users = {
            "Static", "Array", "Virtual", "Field", "StaticField", "Write", "Interface", "Overriding", "Near",
            "Implementing",
        };
        for (String user : users) {
            for (boolean isOwn : new boolean[] {true, false}) {
                Side side = right(isOwn, Set.of("Token", user));
                // Both sides have theirs before they link.
                Class.forName("Constraints$Token", true, side);
                Class.forName("Constraints$Token", true, Class.forName("Constraints$Keeper", true, side).getClassLoader());
                run(side, user);
                run(side, user);
            }
        }

        // What a superclass of the left implements for an interface of the middle.
        Side left = new Side("left", LEFT, Map.of());
        Side middle = new Side("middle", Set.of("Token", "Maker"), Map.of());
        Side right = new Side("right", Set.of("Inheriting"), Map.of("Base", left, "Maker", middle));
        Class.forName("Constraints$Token", true, left);
        Class.forName("Constraints$Token", true, middle);
        run(right, "Inheriting");

        // Linked first; a token of one's own is too late.
        Side late = right(true, Set.of("Token", "Early", "Late"));
        run(late, "Early");
        run(late, "Late");
        run(late, "Late");
        show(() -> late.loadClass("Constraints$Token").getClassLoader().getName());

        // The same by way of a third loader, which agrees with both and has none.
        Side first = new Side("first", LEFT, Map.of());
        Side second = new Side("second", Set.of("Early"), Map.of("Keeper", first));
        run(second, "Early");
        Side third = new Side("third", Set.of("Token", "Late"), Map.of());
        run(third, "Late");

        // A name is given once.
        Class<?> token = Class.forName("Constraints$Token", true, third);
        show(() -> third.define("Token") == token);
        show(() -> third.define("Maker").getName());
        show(() -> third.define("Maker"));
    }
}
