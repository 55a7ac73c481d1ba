// SPDX-License-Identifier: Apache-2.0
import java.io.IOException;
import java.io.InputStream;
import java.lang.ref.WeakReference;

/**
 * What a frame has let go of is nobody's while the machine serves that frame: Java code collects
 * below the machine's own frames, which were given the registers that the frame had.
 */
public class Stale {
    static final int TURNS = 8;

    public static class Thing {
        final int[] content = new int[20];

        public int use(int a) {
            return content.length + a;
        }
    }

    /** What the code below the machine looks at. */
    public static WeakReference<Thing> weak;
    public static int cleared;

    public static void look() {
        System.gc();
        if (weak.refersTo(null)) cleared++;
    }

    /** Each is loaded anew in each turn, so that all of it happens again. */
    public interface Way {
        void go(int turn);
    }

    public static class Late {
        static int value = look(1);

        static int look(int result) {
            Stale.look();
            return result;
        }

        static int get() {
            return value;
        }
    }

    public static class ByField implements Way {
        public void go(int turn) {
            int a = turn + 1, b = turn + 2, c = turn + 3;
            Thing thing = new Thing();
            weak = new WeakReference<>(thing);
            int sum = thing.use(a) + thing.use(b) + thing.use(c);
            thing = null;
            check(Late.value, sum + a + b + c);
        }
    }

    public static class ByCall implements Way {
        public void go(int turn) {
            int a = turn + 1, b = turn + 2, c = turn + 3;
            Thing thing = new Thing();
            weak = new WeakReference<>(thing);
            int sum = thing.use(a) + thing.use(b) + thing.use(c);
            thing = null;
            check(Late.get(), sum + a + b + c);
        }
    }

    public static class ByNew implements Way {
        public void go(int turn) {
            int a = turn + 1, b = turn + 2, c = turn + 3;
            Thing thing = new Thing();
            weak = new WeakReference<>(thing);
            int sum = thing.use(a) + thing.use(b) + thing.use(c);
            thing = null;
            check(new Late() == null ? 0 : 1, sum + a + b + c);
        }
    }

    public static class ByLoading implements Way {
        public void go(int turn) {
            int a = turn + 1, b = turn + 2, c = turn + 3;
            Thing thing = new Thing();
            weak = new WeakReference<>(thing);
            int sum = thing.use(a) + thing.use(b) + thing.use(c);
            thing = null;
            check(Loaded.class.isInterface() ? 0 : 1, sum + a + b + c);
        }
    }

    /** Its loader looks when it is asked for it. */
    public static class Loaded {}

    public static void check(int one, int sum) {
        if (one != 1 || sum < 60) throw new AssertionError(one + " " + sum);
    }

    /** Defines its own copies of the classes that go a way. */
    public static class Again extends ClassLoader {
        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            boolean isOwn = name.startsWith("Stale$By") || name.equals("Stale$Late") || name.equals("Stale$Loaded");
            Class<?> known = findLoadedClass(name);
            if (!isOwn || known != null) return known != null ? known : super.loadClass(name, resolve);
            if (name.equals("Stale$Loaded")) look();
            try (InputStream in = Stale.class.getResourceAsStream(name + ".class")) {
                byte[] bytes = in.readAllBytes();
                return defineClass(name, bytes, 0, bytes.length);
            } catch (IOException e) {
                throw new ClassNotFoundException(name, e);
            }
        }
    }

    public static void main(String[] args) throws Exception {
        for (String way : new String[] {"ByField", "ByCall", "ByNew", "ByLoading"}) {
            cleared = 0;
            for (int turn = 0; turn < TURNS; turn++) {
                Class<?> type = Class.forName("Stale$" + way, true, new Again());
                var make = type.getDeclaredConstructor();
                make.setAccessible(true);
                ((Way) make.newInstance()).go(turn);
            }
            System.out.println(way + ": " + cleared);
        }
    }
}
