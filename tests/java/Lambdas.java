// SPDX-License-Identifier: Apache-2.0
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.invoke.VarHandle;
import java.util.*;
import java.util.function.*;
import java.util.stream.*;

/** Lambdas, method references, streams, records, method and variable handles. */
public class Lambdas {
    record Point(int x, int y) implements Comparable<Point> {
        Point {
            if (x < 0) {
                throw new IllegalArgumentException("negative");
            }
        }

        static Point origin() {
            return new Point(0, 0);
        }

        double distance(Point other) {
            return Math.sqrt((x - other.x) * (x - other.x) + (y - other.y) * (y - other.y));
        }

        @Override
        public int compareTo(Point other) {
            return Integer.compare(x * x + y * y, other.x * other.x + other.y * other.y);
        }
    }

    sealed interface Tree permits Leaf, Branch {
    }

    record Leaf(int value) implements Tree {
    }

    record Branch(Tree left, Tree right) implements Tree {
    }

    static int sum(Tree tree) {
        if (tree instanceof Leaf leaf) {
            return leaf.value();
        }
        Branch branch = (Branch) tree;
        return sum(branch.left()) + sum(branch.right());
    }

    int field = 7;
    static long counter;

    static String join(String a, int b, double c) {
        return a + b + c;
    }

    public static void main(String[] args) throws Throwable {
        int base = 10;
        IntUnaryOperator add = x -> x + base;
        Function<Integer, Function<Integer, Integer>> curried = a -> b -> a * b;
        Supplier<List<String>> maker = ArrayList::new;
        BiFunction<String, String, Boolean> same = String::equals;
        System.out.println(add.andThen(x -> x * 2).applyAsInt(1) + " " + curried.apply(6).apply(7) + " " + maker.get() + " " + same.apply("a", "a"));
        System.out.println(IntStream.rangeClosed(1, 5).mapToObj(i -> "n" + i).collect(Collectors.joining(",", "[", "]")));
        System.out.println(Stream.of("pear", "fig", "apple").sorted(Comparator.comparing(String::length).thenComparing(Comparator.reverseOrder())).toList());
        System.out.println(new TreeMap<>(Stream.of(1, 2, 3, 4, 5, 6).collect(Collectors.partitioningBy(i -> i % 2 == 0, Collectors.summingInt(i -> i)))));
        Point p = new Point(3, 4);
        System.out.println(p + " " + p.equals(new Point(3, 4)) + " " + p.hashCode() + " " + p.distance(Point.origin()) + " " + Collections.max(List.of(p, new Point(5, 1))));
        try {
            new Point(-1, 0);
        } catch (IllegalArgumentException e) {
            System.out.println(e.getMessage());
        }
        System.out.println(sum(new Branch(new Leaf(1), new Branch(new Leaf(2), new Leaf(3)))));
        MethodHandles.Lookup lookup = MethodHandles.lookup();
        MethodHandle join = lookup.findStatic(Lambdas.class, "join", MethodType.methodType(String.class, String.class, int.class, double.class));
        System.out.println((String) join.invokeExact("s", 1, 2.0) + " " + join.invoke("t", (short) 2, 3f) + " " + join.invokeWithArguments("u", 3, 4.0));
        MethodHandle bound = MethodHandles.insertArguments(join, 1, 5);
        System.out.println((String) bound.invokeExact("v", 0.5));
        VarHandle field = lookup.findVarHandle(Lambdas.class, "field", int.class);
        VarHandle count = lookup.findStaticVarHandle(Lambdas.class, "counter", long.class);
        Lambdas object = new Lambdas();
        System.out.println(field.compareAndSet(object, 7, 8) + " " + (int) field.getAndAdd(object, 5) + " " + object.field + " " + (long) count.getAndAdd(3L) + " " + counter);
        VarHandle elements = MethodHandles.arrayElementVarHandle(String[].class);
        String[] texts = {"a", "b"};
        System.out.println((String) elements.getAndSet(texts, 1, "z") + Arrays.toString(texts));
        MethodHandle guarded = MethodHandles.guardWithTest(lookup.findVirtual(String.class, "isEmpty", MethodType.methodType(boolean.class)), MethodHandles.dropArguments(MethodHandles.constant(int.class, 0), 0, String.class), lookup.findVirtual(String.class, "length", MethodType.methodType(int.class)));
        System.out.println((int) guarded.invokeExact("") + (int) guarded.invokeExact("four"));
        Optional<String> found = Stream.iterate("a", s -> s + "b").skip(2).findFirst();
        System.out.println(found.map(String::length).orElse(-1));
        Runnable[] actions = new Runnable[3];
        for (int i = 0; i < 3; i++) {
            int n = i;
            actions[i] = () -> System.out.print(n + ";");
        }
        for (Runnable action : actions) {
            action.run();
        }
        System.out.println(DoubleStream.of(1, 2, 3).summaryStatistics());
    }
}
