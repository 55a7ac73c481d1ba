// SPDX-License-Identifier: Apache-2.0

import java.io.IOException;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * Has classes of a {@link Universe} verified, some at the end of the stack or of memory: {@code
 * Meanings class|dex SEED FIRST COUNT}.
 *
 * <p>Class files: one line per case, to be compared with another machine's. DEX code: what {@link
 * Rules} say, or a line that begins with {@code FINDING}; at the end how often each outcome came.
 */
public final class Meanings {
    private static final long STACK_BYTES = 512 << 10;
    /** Of so many frames one tries again on the way back from the end of the stack. */
    private static final int FRAMES_PER_ATTEMPT = 16;
    private static final String ACCEPTED = "accepted";

    /** What a loader does not define itself. */
    private record Held(Universe universe, boolean[] isReleased, ClassLoader abroad) {
        /**
         * The class if another loader has it, or null if it is ours; those that are held back are
         * nobody's.
         */
        Optional<Class<?>> find(String name) throws ClassNotFoundException {
            String internal = name.replace('.', '/');
            if (!isReleased[0] && universe.heldBack.contains(internal)) {
                throw new ClassNotFoundException(name);
            }
            if (!universe.types.containsKey(internal)) {
                return Optional.of(ClassLoader.getPlatformClassLoader().loadClass(name));
            }
            boolean isAbroad = abroad != null && universe.abroad.contains(internal);
            return isAbroad ? Optional.of(abroad.loadClass(name)) : Optional.empty();
        }
    }

    private static final class ClassLoaderOf extends ClassLoader {
        private final Held held;

        ClassLoaderOf(Held held) {
            super(ClassLoader.getPlatformClassLoader());
            this.held = held;
        }

        @Override
        protected Class<?> findClass(String name) throws ClassNotFoundException {
            try {
                byte[] bytes = AsClass.of(held.universe, name.replace('.', '/'));
                return defineClass(name, bytes, 0, bytes.length);
            } catch (IOException e) {
                throw new ClassNotFoundException(name, e);
            }
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            Class<?> found = findLoadedClass(name);
            Optional<Class<?>> other = found != null ? Optional.of(found) : held.find(name);
            return other.isPresent() ? other.get() : findClass(name);
        }
    }

    private static final class DexLoaderOf extends dalvik.system.BaseDexClassLoader {
        private final Held held;

        /** HotSpot, which has no such loaders, need not look at this class. */
        static ClassLoader make(Held held) throws Exception {
            return new DexLoaderOf(held);
        }

        private DexLoaderOf(Held held) throws Exception {
            super(new ByteBuffer[] {ByteBuffer.wrap(AsDex.of(held.universe))}, null, ClassLoader.getPlatformClassLoader());
            this.held = held;
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            Class<?> found = findLoadedClass(name);
            Optional<Class<?>> other = found != null ? Optional.of(found) : held.find(name);
            return other.isPresent() ? other.get() : findClass(name);
        }
    }

    private final Universe universe;
    private final boolean[] isReleased = {false};
    private final ClassLoader loader;
    private final ClassLoader abroad;
    private final int way;

    private Meanings(boolean isDex, long seed, int number) throws Exception {
        universe = new Universe(new Random64(seed * 1_000_003 + number));
        Held others = new Held(universe, new boolean[] {true}, null);
        abroad = isDex ? DexLoaderOf.make(others) : new ClassLoaderOf(others);
        Held held = new Held(universe, isReleased, abroad);
        loader = isDex ? DexLoaderOf.make(held) : new ClassLoaderOf(held);
        // Exhausting memory takes longer.
        way = number % 32 == 0 ? 2 : number % 2;
    }

    private String load(String name, boolean isInitialized) {
        try {
            Class.forName(name.replace('/', '.'), isInitialized, loader);
            return ACCEPTED;
        } catch (Throwable e) {
            return e.getClass().getSimpleName();
        }
    }

    private static boolean isExhausted(String outcome) {
        return outcome.equals("StackOverflowError") || outcome.equals("OutOfMemoryError");
    }

    /** Tries at the end of the stack, then on the way back. */
    private boolean descend(List<String> outcomes, int depth) {
        boolean isOver;
        try {
            isOver = descend(outcomes, depth + 1);
        } catch (StackOverflowError e) {
            isOver = false;
        }
        if (!isOver && depth % FRAMES_PER_ATTEMPT == 0) {
            String outcome = load(Universe.TEST, true);
            if (!isExhausted(outcome)) {
                outcomes.add(outcome);
                isOver = true;
            }
        }
        return isOver;
    }

    private String atEndOfStack() throws InterruptedException {
        List<String> outcomes = new ArrayList<>();
        Thread thread = new Thread(null, () -> descend(outcomes, 0), "deep", STACK_BYTES);
        thread.start();
        thread.join();
        return outcomes.isEmpty() ? "no outcome" : outcomes.get(0);
    }

    /** What fills memory. */
    private static Object[] kept;

    private String atEndOfMemory() {
        Throwable thrown = null;
        String name = Universe.TEST.replace('/', '.');
        for (int size = 1 << 20; size >= 64; size >>= 4) {
            try {
                while (true) {
                    kept = new Object[] {kept, new byte[size]};
                }
            } catch (OutOfMemoryError e) {
                // Smaller ones may still fit.
            }
        }
        try {
            Class.forName(name, true, loader);
        } catch (Throwable e) {
            thrown = e;
        }
        kept = null;
        return thrown == null ? ACCEPTED : thrown.getClass().getSimpleName();
    }

    /**
     * Initialises the class under test; the outcome of a first attempt may be that there was no
     * room for it.
     */
    private String verified() throws InterruptedException {
        if (way == 0) {
            return load(Universe.TEST, true);
        }
        String first = way == 1 ? atEndOfStack() : atEndOfMemory();
        String second = load(Universe.TEST, true);
        return isExhausted(first) || first.equals(second) ? second : first + ", then " + second;
    }

    /** An object from abroad with one in its field, or null. */
    private Object argument(Class<?> type) {
        try {
            Object argument = type.getClassLoader() == abroad ? type.getConstructor().newInstance() : null;
            if (argument != null) {
                Field field = type.getDeclaredField("f");
                field.set(argument, field.getType().getConstructor().newInstance());
            }
            return argument;
        } catch (ReflectiveOperationException | LinkageError e) {
            return null;
        }
    }

    private String run() {
        try {
            Class<?> type = Class.forName(Universe.TEST.replace('/', '.'), true, loader);
            Method[] methods;
            try {
                methods = type.getDeclaredMethods();
            } catch (LinkageError e) {
                // Of several types that cannot be had, which is asked for first is the machine's
                // own affair.
                return "a method's type cannot be had";
            }
            for (Method method : methods) {
                if (method.getName().equals("run")) {
                    Object result = method.invoke(null, argument(method.getParameterTypes()[0]));
                    Class<?> expected = method.getReturnType();
                    boolean isForged = result != null && !expected.isInterface() && !expected.isInstance(result);
                    return isForged ? "FORGED" : String.valueOf(result).replaceAll("@.*", "");
                }
            }
            return "nothing to run";
        } catch (InvocationTargetException e) {
            return e.getCause().getClass().getSimpleName();
        } catch (Throwable e) {
            return e.getClass().getSimpleName();
        }
    }

    private String asClasses() throws InterruptedException {
        String verified = verified();
        isReleased[0] = true;
        StringBuilder loaded = new StringBuilder();
        universe.types.keySet().forEach(name -> loaded.append(' ').append(load(name, false)));
        return verified + loaded + (verified.equals(ACCEPTED) ? " " + run() : "");
    }

    private static String shown(String error) {
        return error == null ? ACCEPTED : error;
    }

    /** What differs from the rules, or null. */
    private String asDex(Map<String, Integer> outcomes) throws InterruptedException {
        Rules rules = new Rules(universe);
        String expected = shown(rules.judge());
        String verified = verified();
        outcomes.merge(verified, 1, Integer::sum);
        if (!expected.equals(verified)) {
            // Before it reads what is not there.
            return "verified: " + verified + " instead of " + expected;
        }
        isReleased[0] = true;
        rules.release();
        for (String name : universe.types.keySet()) {
            String wanted = shown(rules.load(name));
            String found = load(name, false);
            outcomes.merge("later " + found, 1, Integer::sum);
            if (!wanted.equals(found)) {
                return "later " + name + ": " + found + " instead of " + wanted;
            }
        }
        String ran = verified.equals(ACCEPTED) ? run() : "";
        return ran.equals("FORGED") ? ran : null;
    }

    private static void say(int number, String what) {
        System.out.println(number + " " + what);
    }

    public static void main(String[] args) throws Exception {
        // Initialised now: at the end of the stack it would fail for good, on any machine.
        new ClassNotFoundException().getMessage();
        boolean isDex = args[0].equals("dex");
        long seed = Long.parseLong(args[1]);
        int first = Integer.parseInt(args[2]);
        Map<String, Integer> outcomes = new TreeMap<>();
        for (int number = first; number < first + Integer.parseInt(args[3]); number++) {
            Meanings meanings = new Meanings(isDex, seed, number);
            if (!isDex) {
                say(number, meanings.asClasses());
                continue;
            }
            String finding = meanings.asDex(outcomes);
            if (finding != null) {
                say(number, "FINDING " + finding + " " + meanings.universe.types.values() + " held back "
                    + meanings.universe.heldBack + " abroad " + meanings.universe.abroad + " " + meanings.universe.code);
            }
        }
        System.out.println(outcomes);
    }
}
