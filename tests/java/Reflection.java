// SPDX-License-Identifier: Apache-2.0
import java.lang.annotation.*;
import java.lang.reflect.*;
import java.util.*;

/** Reflection, annotations, proxies, nested classes. */
public class Reflection {
    @Retention(RetentionPolicy.RUNTIME)
    @interface Marked {
        String value() default "none";

        int[] numbers() default {1, 2};

        Class<?> type() default Object.class;

        Thread.State state() default Thread.State.NEW;
    }

    @Marked(value = "on class", numbers = {3}, type = String.class)
    static class Target implements Comparable<Target> {
        public int number = 4;
        private static final String NAME = "target";
        protected List<String> names = new ArrayList<>();

        public Target() {
        }

        private Target(int number, String... more) {
            this.number = number;
            names.addAll(Arrays.asList(more));
        }

        @Marked
        public long twice(int x, Object ignored) {
            return 2L * x * number;
        }

        private String fail(boolean really) throws java.io.IOException {
            if (really) {
                throw new java.io.IOException("failed");
            }
            return "fine";
        }

        @Override
        public int compareTo(Target other) {
            return Integer.compare(number, other.number);
        }
    }

    public static void main(String[] args) throws Exception {
        Class<?> type = Target.class;
        System.out.println(type.getName() + " " + type.getSimpleName() + " " + Modifier.toString(type.getModifiers()) + " " + type.getEnclosingClass() + " " + type.isMemberClass());
        List<String> members = new ArrayList<>();
        for (Method method : type.getDeclaredMethods()) {
            members.add(method.toGenericString());
        }
        for (Field field : type.getDeclaredFields()) {
            members.add(field.toGenericString());
        }
        for (Constructor<?> constructor : type.getDeclaredConstructors()) {
            members.add(constructor.toString());
        }
        Collections.sort(members);
        members.forEach(System.out::println);
        Constructor<?> constructor = type.getDeclaredConstructor(int.class, String[].class);
        constructor.setAccessible(true);
        Object target = constructor.newInstance(6, new String[] {"a", "b"});
        Field number = type.getField("number");
        number.setInt(target, number.getInt(target) + 1);
        Field name = type.getDeclaredField("NAME");
        name.setAccessible(true);
        System.out.println(number.get(target) + " " + name.get(null));
        Method twice = type.getMethod("twice", int.class, Object.class);
        System.out.println(twice.invoke(target, 3, null) + " " + twice.getReturnType());
        Method fail = type.getDeclaredMethod("fail", boolean.class);
        fail.setAccessible(true);
        System.out.println(fail.invoke(target, false));
        try {
            fail.invoke(target, true);
        } catch (InvocationTargetException e) {
            System.out.println(e.getCause());
        }
        try {
            twice.invoke(target, "wrong", null);
        } catch (IllegalArgumentException e) {
            System.out.println(e.getMessage());
        }
        for (int i = 0; i < 40; i++) {
            twice.invoke(target, i, "x");
        }
        Marked marked = type.getAnnotation(Marked.class);
        System.out.println(marked.value() + Arrays.toString(marked.numbers()) + marked.type() + marked.state() + " " + twice.getAnnotation(Marked.class).value());
        Comparable<?> proxy = (Comparable<?>) Proxy.newProxyInstance(Reflection.class.getClassLoader(), new Class<?>[] {Comparable.class, Runnable.class}, (self, method, arguments) -> {
            System.out.println("proxy " + method.getName());
            return method.getReturnType() == int.class ? 11 : null;
        });
        ((Runnable) proxy).run();
        System.out.println(proxy.compareTo(null));
        Object array = Array.newInstance(int.class, 3);
        Array.set(array, 1, 5);
        System.out.println(Array.getLength(array) + " " + Array.get(array, 1) + " " + array.getClass() + " " + Array.newInstance(String.class, 2, 3).getClass());
        Runnable local = new Runnable() {
            @Override
            public void run() {
                System.out.println(getClass().getEnclosingMethod() + " " + getClass().isAnonymousClass());
            }
        };
        local.run();
        System.out.println(Arrays.toString(type.getInterfaces()) + " " + type.getGenericInterfaces()[0] + " " + type.getSuperclass());
        System.out.println(Class.forName("[Ljava.lang.String;") + " " + int.class + " " + void.class + " " + Thread.State.valueOf("NEW").getDeclaringClass());
        try {
            Class.forName("no.such.Type");
        } catch (ClassNotFoundException e) {
            System.out.println(e);
        }
        StackWalker.getInstance().forEach(frame -> System.out.println(frame.getMethodName() + ":" + frame.getLineNumber()));
    }
}
