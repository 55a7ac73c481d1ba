// SPDX-License-Identifier: Apache-2.0 What DEX code says in its own way: registers without types,
// handles, annotations, initial values, lines.
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.invoke.VarHandle;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;

class Machine {
    static final boolean YES = true;
    static final byte BYTE = -3;
    static final char CHAR = '\u1234';
    static final short SHORT = -300;
    static final long LONG = 0x123456789abcdefL;
    static final float FLOAT = 1e-3f;
    static final double DOUBLE = Double.MIN_VALUE;
    static final String TEXT = "a\nb\u00e9\ud83d\ude00\u0000c";
    int number = 5;
    volatile long wide;

    enum Colour { RED, GREEN { @Override String say() { return "go"; } }; String say() { return "stop"; } }

    @Retention(RetentionPolicy.RUNTIME)
    @interface Inner { int value(); }

    @Retention(RetentionPolicy.RUNTIME)
    @interface Marks {
        boolean z() default true;
        byte b() default 1;
        char c() default 'c';
        short s() default 2;
        int i() default 3;
        long j() default 4;
        float f() default 5.5f;
        double d() default 6.5;
        String text() default "text";
        Class<?> type() default int[].class;
        Colour colour() default Colour.GREEN;
        Inner inner() default @Inner(7);
        int[] numbers() default {8, 9};
        String[] texts() default {};
    }

    @Marks(i = 30, text = "own", type = Map.Entry.class, texts = {"x", "y"})
    static class Marked<T extends Comparable<T>> implements Supplier<List<? super T>> {
        @Inner(1) protected T field;
        @Deprecated @Marks(colour = Colour.RED) public List<? super T> get() { return null; }
        <E extends Exception> void generic(@Inner(2) T first, int second, @Inner(3) E third) throws E, java.io.IOException { }
        class Member { class Deep { } }
    }

    public static void main(String[] args) throws Throwable {
        constants();
        arrays();
        System.out.println(registers(0, 0L) + " " + registers(1, 7L) + " " + registers(2, -1L));
        handles();
        annotations();
        nesting();
        traces();
        switches();
        locks();
        System.out.println(many(1, 2L, 3f, 4.0, "5", (byte) 6, '7', (short) 8, true, 10L, 11.0, 12f));
    }

    static void constants() {
        System.out.println(YES + " " + BYTE + " " + (int) CHAR + " " + SHORT + " " + LONG + " " + FLOAT + " " + DOUBLE);
        System.out.println(Arrays.toString(TEXT.toCharArray()) + int.class + void.class + long[][].class + String.class);
        float nan = Float.intBitsToFloat(0x7fc12345);
        System.out.println(Float.floatToRawIntBits(nan) + " " + Double.doubleToRawLongBits(-0.0) + " " + (0.0f == -0.0f));
    }

    static void arrays() {
        int[] ints = {1, -2, 3, 0x7fffffff};
        float[] floats = {1f, -2.5f, Float.NaN, 0f};
        byte[] bytes = {1, -2, 3};
        boolean[] flags = {true, false, true};
        char[] chars = {'a', '\uffff'};
        short[] shorts = {1, -2};
        long[] longs = {1, -2, Long.MIN_VALUE};
        double[] doubles = {1, -2.5, Double.NaN};
        long[][] grid = new long[2][3];
        grid[1][2] = longs[2];
        Object[] objects = {ints, "s", null};
        flags[1] ^= flags[0];
        bytes[0] += 127;
        chars[1]++;
        shorts[1] *= 20000;
        floats[3] += ints[2];
        doubles[0] += longs[1];
        System.out.println(Arrays.toString(ints) + Arrays.toString(floats) + Arrays.toString(bytes) + Arrays.toString(flags));
        System.out.println(Arrays.toString(chars) + Arrays.toString(shorts) + Arrays.toString(longs) + Arrays.toString(doubles));
        System.out.println(Arrays.deepToString(grid) + objects[1] + ints.clone().length + ((Object) grid[0]).getClass());
        try {
            ((Object[]) new String[1])[0] = ints;
        } catch (ArrayStoreException e) {
            System.out.println(e.getMessage());
        }
    }

    /** The same registers hold numbers, null and objects on different ways to the handlers. */
    static String registers(int way, long wide) {
        Object object = null;
        int number = 0;
        float real = 0;
        String text = "none";
        try {
            if (way == 0) {
                object = "zero";
            } else if (way == 1) {
                number = (int) (wide / 2);
                real = number / 2f;
            }
            text = object == null ? null : object.toString();
            number = text.length();
            wide <<= number;
            wide = ~wide;
        } catch (NullPointerException e) {
            try {
                number += 10 / (number - 3);
                real += 1;
            } catch (ArithmeticException zero) {
                number = -1;
            } finally {
                number++;
            }
        } finally {
            wide -= number;
        }
        return object + "," + number + "," + real + "," + text + "," + wide;
    }

    static void handles() throws Throwable {
        MethodHandles.Lookup lookup = MethodHandles.lookup();
        MethodType type = MethodType.methodType(String.class, int.class, long.class, Object.class);
        MethodHandle join = lookup.findStatic(Machine.class, "join", type);
        System.out.println((String) join.invokeExact(1, 2L, (Object) "three"));
        System.out.println((Object) join.invoke((short) 1, 2, "three"));
        MethodHandle bound = MethodHandles.insertArguments(join, 1, 9L);
        System.out.println((String) bound.invokeExact(4, (Object) null));
        try {
            join.invokeExact(1, 2L, "three");
        } catch (java.lang.invoke.WrongMethodTypeException e) {
            System.out.println(e.getMessage());
        }
        VarHandle wide = lookup.findVarHandle(Machine.class, "wide", long.class);
        Machine machine = new Machine();
        System.out.println(wide.compareAndSet(machine, 0L, 5L) + " " + (long) wide.getAndAdd(machine, 3L) + " " + (long) wide.getVolatile(machine));
        VarHandle element = MethodHandles.arrayElementVarHandle(int[].class);
        int[] ints = new int[3];
        element.setRelease(ints, 1, 42);
        System.out.println((int) element.getAcquire(ints, 1));
        Comparator<String> order = Comparator.comparing(String::length);
        System.out.println(order.thenComparing(Comparator.reverseOrder()).compare("ab", "cd"));
    }

    static String join(int a, long b, Object c) {
        return a + ":" + b + ":" + c;
    }

    static void annotations() throws Exception {
        Marks marks = Marked.class.getAnnotation(Marks.class);
        System.out.println(marks.z() + " " + marks.b() + marks.c() + marks.s() + marks.i() + marks.j() + marks.f() + marks.d() + marks.text());
        System.out.println(marks.type() + " " + marks.colour() + marks.inner().value() + Arrays.toString(marks.numbers()) + Arrays.toString(marks.texts()));
        System.out.println(Marked.class.getDeclaredField("field").getAnnotation(Inner.class) + " " + Marked.class.getDeclaredField("field").getGenericType());
        Method get = Marked.class.getMethod("get");
        System.out.println(get.isAnnotationPresent(Deprecated.class) + " " + get.getAnnotation(Marks.class).colour() + " " + get.getGenericReturnType());
        for (Method method : Marked.class.getDeclaredMethods()) {
            if (method.getName().equals("generic")) {
                System.out.println(method.toGenericString() + " " + Arrays.deepToString(method.getParameterAnnotations()));
            }
        }
        System.out.println(Arrays.toString(Marked.class.getTypeParameters()[0].getBounds()) + Arrays.toString(Marked.class.getGenericInterfaces()));
        System.out.println(Marks.class.getMethod("numbers").getDefaultValue().getClass() + " " + Marks.class.getMethod("type").getDefaultValue());
    }

    static void nesting() {
        class Local { }
        Object anonymous = new Object() { };
        Class<?>[] classes = {Marked.Member.Deep.class, Local.class, anonymous.getClass(), Colour.GREEN.getClass(), Machine.class};
        for (Class<?> c : classes) {
            System.out.println(c.getName() + " " + c.getSimpleName() + " " + c.getDeclaringClass() + " " + c.getEnclosingClass() + " "
                + (c.getEnclosingMethod() == null ? null : c.getEnclosingMethod().getName()) + " " + c.isAnonymousClass() + c.isLocalClass() + c.isMemberClass()
                + " " + Modifier.toString(c.getModifiers()));
        }
        Class<?>[] members = Machine.class.getDeclaredClasses();
        Arrays.sort(members, Comparator.comparing(Class::getName));
        System.out.println(Arrays.toString(members) + Colour.GREEN.say() + Colour.valueOf("RED").say());
    }

    static void traces() {
        try {
            new Machine().fail(3);
        } catch (IllegalStateException e) {
            for (StackTraceElement frame : e.getStackTrace()) {
                System.out.println(frame.getClassName() + "." + frame.getMethodName() + " " + frame.getFileName() + ":" + frame.getLineNumber());
            }
        }
    }

    int fail(int depth) {
        if (depth == 0) {
            throw new IllegalStateException("bottom");
        }
        int below =
            fail(depth - 1);
        return below + number;
    }

    static void switches() {
        StringBuilder out = new StringBuilder();
        for (int key : new int[] {-70000, -1, 0, 1, 2, 3, 900000, Integer.MIN_VALUE, Integer.MAX_VALUE}) {
            switch (key) {
                case 0: out.append('a');
                case 1: out.append('b'); break;
                case 3: out.append('d'); break;
                default: out.append('-');
            }
            switch (key) {
                case -70000: out.append('x'); break;
                case 900000: out.append('y'); break;
                case Integer.MIN_VALUE: out.append('z'); break;
                default: out.append('.');
            }
        }
        System.out.println(out);
    }

    static synchronized void locks() throws InterruptedException {
        Object lock = new Object();
        synchronized (lock) {
            lock.notifyAll();
            System.out.println(Thread.holdsLock(lock) + " " + Thread.holdsLock(Machine.class));
        }
        try {
            lock.notify();
        } catch (IllegalMonitorStateException e) {
            System.out.println("not held");
        }
    }

    static String many(int a, long b, float c, double d, String e, byte f, char g, short h, boolean i, long j, double k, float l) {
        return a + b + c + d + e + f + g + h + i + j + k + l;
    }
}
