// SPDX-License-Identifier: Apache-2.0
import java.util.ArrayList;
import java.util.List;

/** Throwing, catching, finally, traces, implicit exceptions, an uncaught one. */
public class Exceptions {
    static class Checked extends Exception {
        Checked(String message, Throwable cause) {
            super(message, cause);
        }
    }

    static class Resource implements AutoCloseable {
        final String name;

        Resource(String name) {
            this.name = name;
            System.out.println("open " + name);
        }

        @Override
        public void close() {
            System.out.println("close " + name);
            throw new IllegalStateException("closing " + name);
        }
    }

    static int depth;

    static void recurse() {
        depth++;
        recurse();
    }

    static int finallyReturns() {
        try {
            throw new RuntimeException("lost");
        } finally {
            return 3;
        }
    }

    static String order(int how) {
        StringBuilder log = new StringBuilder();
        try {
            try {
                log.append("try ");
                if (how == 1) {
                    throw new IllegalArgumentException("one");
                }
                if (how == 2) {
                    Object nothing = null;
                    synchronized (Exceptions.class) {
                        how = ((int[]) nothing).length;
                    }
                }
            } catch (IllegalArgumentException e) {
                log.append("caught ").append(e.getMessage()).append(' ');
                throw new IllegalStateException("two", e);
            } finally {
                log.append("finally ");
            }
            log.append("after");
        } catch (IllegalStateException | NullPointerException e) {
            log.append(e.getClass().getName()).append(' ').append(e.getCause() != null);
        }
        return log.toString();
    }

    static void print(Throwable t) {
        System.out.println(t);
        for (StackTraceElement element : t.getStackTrace()) {
            System.out.println("  " + element);
        }
    }

    static void implicit() {
        List<Runnable> actions = new ArrayList<>();
        int[] array = new int[3];
        Object[] strings = new String[1];
        Object text = "text";
        int zero = array[0];
        actions.add(() -> System.out.println(array[3]));
        actions.add(() -> System.out.println(array[-1]));
        actions.add(() -> System.out.println(1 / zero));
        actions.add(() -> System.out.println(1L % zero));
        actions.add(() -> System.out.println((Integer) text));
        actions.add(() -> strings[0] = 1);
        actions.add(() -> System.out.println(new int[zero - 1].length));
        actions.add(() -> System.out.println(new int[2][-5].length));
        actions.add(() -> System.out.println("abc".charAt(5)));
        actions.add(() -> System.arraycopy(array, 1, new int[5], 4, 2));
        actions.add(() -> System.arraycopy(array, 0, new long[3], 0, 1));
        actions.add(() -> new ArrayList<>(List.of(1)).get(1));
        actions.add(() -> Integer.parseInt("12x"));
        actions.add(() -> List.of(1).add(2));
        for (Runnable action : actions) {
            try {
                action.run();
                System.out.println("nothing thrown");
            } catch (RuntimeException e) {
                System.out.println(e);
            }
        }
    }

    /** What an object is and what it was taken for, arrays among both. */
    private static void casts() {
        Object[] objects = {new int[1], new String[1][1], "text", Thread.State.NEW};
        for (Object object : objects) {
            for (int to = 0; to < 4; to++) {
                try {
                    Object cast = to == 0 ? (int[]) object : to == 1 ? (String[][]) object : to == 2 ? (Resource[]) object : (Integer) object;
                    System.out.println(cast == object);
                } catch (ClassCastException e) {
                    System.out.println(e.getMessage());
                }
            }
        }
    }

    public static void main(String[] args) throws Exception {
        casts();
        for (int how = 0; how < 3; how++) {
            System.out.println(order(how));
        }
        System.out.println(finallyReturns());
        implicit();
        try (Resource first = new Resource("first"); Resource second = new Resource("second")) {
            throw new Checked("body", null);
        } catch (Checked e) {
            print(e);
            for (Throwable suppressed : e.getSuppressed()) {
                System.out.println("suppressed " + suppressed);
            }
        }
        try {
            recurse();
        } catch (StackOverflowError e) {
            System.out.println("overflow " + (depth > 500) + " " + e.getMessage());
        }
        try {
            throw new Checked("outer", new RuntimeException("inner"));
        } catch (Checked e) {
            e.printStackTrace(System.out);
        }
        Runnable thrower = () -> {
            throw new IllegalStateException("in a lambda");
        };
        try {
            List.of(1).forEach(i -> thrower.run());
        } catch (IllegalStateException e) {
            print(e);
        }
        new Object() {
            void fail() {
                throw new UnsupportedOperationException("uncaught", new Error("cause"));
            }
        }.fail();
    }
}
