// SPDX-License-Identifier: Apache-2.0

/** Branches on comparisons, division by constants, and small methods that may be inlined. */
final class Branches {
    static class Point {
        private int x;
        private double y;

        Point(int x, double y) {
            this.x = x;
            this.y = y;
        }

        final int x() {
            return x;
        }

        final double scaled() {
            return y * 2 + x / 3;
        }

        final Point move(int by) {
            return new Point(x + by, y);
        }
    }

    static final class Named extends Point {
        final String name;

        Named(String name, int x) {
            super(x, 0.5);
            this.name = name;
        }
    }

    static String compare(double a, double b) {
        return (a < b ? "<" : "-") + (a <= b ? "<=" : "-") + (a > b ? ">" : "-") + (a >= b ? ">=" : "-")
                + (a == b ? "==" : "-") + (a != b ? "!=" : "-") + (!(a < b) ? "!<" : "-") + (!(a >= b) ? "!>=" : "-");
    }

    static String compare(float a, float b) {
        return (a < b ? "<" : "-") + (a <= b ? "<=" : "-") + (a > b ? ">" : "-") + (a >= b ? ">=" : "-")
                + (a == b ? "==" : "-") + (a != b ? "!=" : "-") + (!(a > b) ? "!>" : "-") + (!(a <= b) ? "!<=" : "-");
    }

    static String compare(long a, long b) {
        return (a < b ? "<" : "-") + (a <= b ? "<=" : "-") + (a > b ? ">" : "-") + (a >= b ? ">=" : "-")
                + (a == b ? "==" : "-") + (a != b ? "!=" : "-");
    }

    static String divide(int a, long b) {
        return a / 1 + " " + a / 7 + " " + a % 7 + " " + a / -1 + " " + a % -1 + " " + a / -3 + " " + a / 64 + " " + a % 64
                + " " + a / Integer.MIN_VALUE + " " + b / 10 + " " + b % -10 + " " + b / -1 + " " + b % Long.MIN_VALUE;
    }

    static int nullOf(Point point) {
        return point.x();
    }

    static int sum(Point first, Point second) {
        int sum = 0;
        if (first != null) {
            sum += first.x();
        }
        if (second == null) {
            return sum;
        }
        return sum + second.x() + (int) second.scaled();
    }

    public static void main(String[] args) {
        double[] doubles = {0, -0.0, 1, Double.NaN, Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY};
        for (double a : doubles) {
            for (double b : doubles) {
                System.out.println(a + " " + b + " " + compare(a, b) + " " + compare((float) a, (float) b) + " "
                        + compare((long) a, (long) b));
            }
        }
        for (int a : new int[] {0, 1, -1, 6, -13, 1000, Integer.MAX_VALUE, Integer.MIN_VALUE}) {
            System.out.println(divide(a, a * 4_294_967_296L + 5));
        }
        System.out.println(divide(Integer.MIN_VALUE, Long.MIN_VALUE));
        Point point = new Point(10, 1.5);
        for (int i = 0; i < 3; i++) {
            point = point.move(i);
        }
        Named named = new Named("n", 7);
        System.out.println(point.x() + " " + point.scaled() + " " + named.name + named.x() + " " + sum(point, named)
                + " " + sum(null, point) + " " + sum(named, null));
        try {
            nullOf(null);
        } catch (NullPointerException e) {
            System.out.println("null at " + e.getStackTrace()[0]);
        }
        try {
            System.out.println(1 / (args.length - args.length));
        } catch (ArithmeticException e) {
            System.out.println(e.getMessage());
        }
        new Point(1, 2).move(3);
    }
}
