// SPDX-License-Identifier: Apache-2.0

import java.io.IOException;
import java.io.InputStream;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Proxy;
import java.util.concurrent.Callable;
import java.util.function.IntUnaryOperator;
import java.util.function.Supplier;

/** Classes: of new loaders, hidden, proxies, lambdas; by reflection and method handles. */
final class Loading {
    /** What one class more may cost: its records, its code and what the library keeps of it. */
    static final long CLASS_KIB_MAX = 48;
    /** Classes stay for ever, so a run makes so many and no more, spread over its time. */
    private static final int MADE_MAX = 240;

    static long startedNs;
    static long spanNs;
    private static int made;

    /** What new loaders define, again and again. */
    public static final class Template implements Callable<Integer> {
        private static final int[] COUNTS = new int[3];
        private static int initialized;

        static {
            initialized++;
        }

        private final int start;

        public Template(int start) {
            this.start = start;
        }

        public static int add(int one, int other) {
            return one + other;
        }

        @Override
        public Integer call() {
            COUNTS[start % 3]++;
            Supplier<String> text = () -> "start " + start + " of " + initialized;
            return text.get().length() + COUNTS[start % 3];
        }
    }

    private static final byte[] TEMPLATE = bytes("Loading$Template");

    private static byte[] bytes(String name) {
        try (InputStream stream = Loading.class.getResourceAsStream(name + ".class")) {
            return stream.readAllBytes();
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    private static final class Loader extends ClassLoader {
        Loader() {
            super(Loading.class.getClassLoader());
        }

        Class<?> define() {
            return defineClass("Loading$Template", TEMPLATE, 0, TEMPLATE.length);
        }
    }

    interface Greeting {
        String greet(String name);

        default int twice(int number) {
            return 2 * number;
        }
    }

    private static boolean mayMake() {
        double passed = (System.nanoTime() - startedNs) / (double) spanNs;
        return made < MADE_MAX * Math.min(1, passed);
    }

    @SuppressWarnings("unchecked")
    static long round(Stress.Random64 random) throws Exception {
        int number = random.below(1000);
        long checks = catching(number);
        if (!mayMake()) {
            Thread.sleep(1);
            return checks;
        }
        Loader loader = new Loader();
        Class<?> own = loader.define();
        Stress.check(own != Template.class && own.getClassLoader() == loader, "a class of its own");
        Callable<Integer> made = (Callable<Integer>) own.getConstructor(int.class).newInstance(number);
        int expected = ("start " + number + " of 1").length() + 1;
        Stress.check(made.call() == expected && made.call() == expected + 1, "its statics are its own");
        try {
            loader.define();
            Stress.check(false, "a class is defined once");
        } catch (LinkageError e) {
            checks++;
        }
        Class<?> hidden = MethodHandles.lookup().defineHiddenClass(bytes("Loading$Hidden"), true).lookupClass();
        Stress.check(hidden.isHidden() && hidden.getConstructor().newInstance().hashCode() == 77, "hidden");
        Callable<?> proxy = (Callable<?>) Proxy.newProxyInstance(loader, new Class<?>[] {Callable.class},
            (self, method, arguments) -> number);
        Stress.check(proxy.call().equals(number), "a proxy of a new loader");
        // The template, its lambda, the hidden class, the proxy.
        Loading.made += 4;
        return checks + 4;
    }

    private static long catching(int number) throws Exception {
        try {
            return known(number);
        } catch (Exception | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    /** Over and over with classes that are there. */
    private static long known(int number) throws Throwable {
        MethodHandle add = MethodHandles.lookup().findStatic(Template.class, "add",
            MethodType.methodType(int.class, int.class, int.class));
        Stress.check((int) add.invokeExact(number, 1) == number + 1, "exact");
        MethodHandle bound = MethodHandles.insertArguments(add, 0, 10);
        Stress.check((Object) bound.invoke((Integer) number) instanceof Integer sum && sum == number + 10, "bound");
        Object reflected = Template.class.getMethod("add", int.class, int.class).invoke(null, number, 2);
        Stress.check((Integer) reflected == number + 2, "reflected");
        int added = number;
        IntUnaryOperator operator = ((IntUnaryOperator) it -> it + added).andThen(it -> it * 2);
        Stress.check(operator.applyAsInt(1) == 2 * (1 + number), "composed");
        Greeting greeting = (Greeting) Proxy.newProxyInstance(Loading.class.getClassLoader(),
            new Class<?>[] {Greeting.class}, (self, method, arguments) -> method.getName() + arguments[0]);
        Stress.check(greeting.greet("you").equals("greetyou"), "proxy");
        Stress.check(Class.forName("Loading$Template", true, Loading.class.getClassLoader()) == Template.class, "found");
        try {
            Class.forName("Missing" + number % 10);
            Stress.check(false, "it is missing");
        } catch (ClassNotFoundException e) {
            Stress.check(e.getMessage().startsWith("Missing"), "named");
        }
        return 8;
    }

    private Loading() {}

    /** Defined as a hidden class only. */
    public static final class Hidden {
        @Override
        public int hashCode() {
            return 77;
        }
    }
}
