// SPDX-License-Identifier: Apache-2.0
/** Class initialisation: when, in which order, once, and what failure does. */
public class Initialization {
    static int log(String what) {
        System.out.println("init " + what);
        return what.length();
    }

    interface WithDefault {
        int FIELD = log("WithDefault");

        default void act() {
        }
    }

    interface WithoutDefault {
        int FIELD = log("WithoutDefault");
    }

    static class Parent {
        static {
            log("Parent");
        }

        static int field = log("Parent.field");
        static final int CONSTANT = 42;
    }

    static class Child extends Parent implements WithDefault, WithoutDefault {
        static {
            log("Child");
        }

        static void method() {
        }
    }

    static class Failing {
        static int value = fail();

        static int fail() {
            log("Failing");
            throw new IllegalStateException("no");
        }
    }

    static class First {
        static int value = 1 + Second.value;
    }

    static class Second {
        static int value = 10 + First.value;
    }

    static class Holder {
        static final Holder INSTANCE = new Holder();
        static int count = 5;
        int seen = count;
    }

    enum Planet {
        MERCURY(1), VENUS(2);

        static final int TOTAL = log("Planet.TOTAL");
        final int number;

        Planet(int number) {
            this.number = number;
            System.out.println("planet " + number);
        }
    }

    public static void main(String[] args) throws Exception {
        System.out.println(Parent.CONSTANT);
        System.out.println(new Child[2].length + " " + Child.class.getSimpleName());
        System.out.println(Child.field);
        Child.method();
        System.out.println(WithoutDefault.FIELD);
        for (int i = 0; i < 2; i++) {
            try {
                System.out.println(Failing.value);
            } catch (ExceptionInInitializerError e) {
                System.out.println(e + " because " + e.getCause());
            } catch (NoClassDefFoundError e) {
                System.out.println(e.getMessage());
            }
        }
        System.out.println(First.value + " " + Second.value);
        System.out.println(Holder.INSTANCE.seen + " " + Holder.count);
        System.out.println(Planet.valueOf("VENUS").number + " " + Planet.values().length);
        Class<?> loaded = Class.forName("Initialization$Late", false, Initialization.class.getClassLoader());
        System.out.println("loaded " + loaded.getName());
        loaded.getDeclaredConstructor().newInstance();
    }

    static class Late {
        static {
            log("Late");
        }
    }
}
