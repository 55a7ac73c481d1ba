// SPDX-License-Identifier: Apache-2.0
import java.util.ArrayList;
import java.util.List;

/** Virtual, interface, default, private, super and static calls; casts and tests. */
public class Dispatch {
    interface Shape {
        double area();

        default String describe() {
            return name() + " of " + area() + hidden();
        }

        String name();

        private String hidden() {
            return "!";
        }

        static Shape unit() {
            return new Square(1);
        }
    }

    interface Colored {
        default String name() {
            return "colored";
        }
    }

    static abstract class Base implements Shape {
        protected String tag = "base";

        @Override
        public String name() {
            return "base:" + tag();
        }

        String tag() {
            return tag;
        }

        private String secret() {
            return "base secret";
        }

        String reveal() {
            return secret();
        }
    }

    static class Square extends Base {
        final double side;

        Square(double side) {
            this.side = side;
        }

        @Override
        public double area() {
            return side * side;
        }

        @Override
        String tag() {
            return "square/" + super.tag();
        }

        private String secret() {
            return "square secret";
        }
    }

    static class Cube extends Square implements Colored {
        Cube(double side) {
            super(side);
        }

        @Override
        public String name() {
            return Colored.super.name() + " " + super.name();
        }

        @Override
        public String describe() {
            return "cube " + super.describe();
        }
    }

    /** No method of its own: the default must be found through the vtable's absence. */
    static abstract class Partly implements Shape {
        String call() {
            return describe() + area();
        }
    }

    static class Whole extends Partly {
        @Override
        public double area() {
            return 9;
        }

        @Override
        public String name() {
            return "whole";
        }
    }

    static String overloaded(Object o) {
        return "object";
    }

    static String overloaded(String s) {
        return "string";
    }

    static String overloaded(int... many) {
        return "ints " + many.length;
    }

    static <T extends Comparable<T>> T max(List<T> list) {
        T best = list.get(0);
        for (T each : list) {
            if (each.compareTo(best) > 0) {
                best = each;
            }
        }
        return best;
    }

    public static void main(String[] args) {
        Shape[] shapes = {new Square(2), new Cube(3), Shape.unit(), new Whole()};
        for (Shape shape : shapes) {
            System.out.println(shape.describe() + " " + (shape instanceof Base) + (shape instanceof Colored) + (shape instanceof Cube));
        }
        System.out.println(((Partly) shapes[3]).call());
        System.out.println(((Base) shapes[0]).reveal());
        Object text = "x";
        System.out.println(overloaded(text) + " " + overloaded("x") + " " + overloaded(1, 2, 3) + " " + overloaded());
        System.out.println(max(List.of(3, 9, 4)) + max(new ArrayList<>(List.of("b", "z", "a"))));
        Object[] objects = {1, "s", 'c', 2.5, new int[] {1}, new String[] {"q"}, new int[1][2], null};
        for (Object object : objects) {
            String kind = object instanceof Number ? "number" : object instanceof CharSequence ? "text" : object instanceof Object[] ? "objects" : object instanceof int[] ? "ints" : object instanceof Comparable ? "comparable" : "else";
            System.out.print(kind + " ");
        }
        System.out.println();
        if (objects[1] instanceof String s && s.length() == 1) {
            System.out.println("pattern " + s);
        }
        System.out.println(objects[5].getClass() + " " + objects[6].getClass().getComponentType() + " " + int[].class.getName());
        Object clone = ((int[]) objects[4]).clone();
        System.out.println(((int[]) clone)[0] + " " + (clone == objects[4]));
    }
}
