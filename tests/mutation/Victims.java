// SPDX-License-Identifier: Apache-2.0

import java.util.ArrayList;
import java.util.List;

/** Classes for {@code Mutate} to break: a little of everything that bytecode can do. */
final class Victims {
    static class Numbers {
        static int ints(int a, int b) {
            int c = a * 31 + b;
            c ^= c >>> 7;
            return c / (b | 1) - (c % 13) + (a << 3) - -b;
        }

        static long longs(long a, int b) {
            long c = a + 0x123456789L * b;
            return (c >> b) ^ (c >>> 3) & ~a | (int) c;
        }

        static double floats(float a, double b) {
            float c = a * 1.5f - 2;
            double d = c + b / 3 + (float) b;
            return d > c ? d : (long) (d * 100) + (int) c;
        }

        static boolean compares(long a, double b) {
            return a < 5 && b >= 2 || a == (long) b;
        }

        static int narrows(int a) {
            return (byte) a + (short) a + (char) a;
        }
    }

    static class Arrays {
        static int sums(int n) {
            int[] numbers = new int[(n & 7) + 3];
            for (int i = 0; i < numbers.length; i++) {
                numbers[i] = i * i + n;
            }
            int sum = 0;
            for (int number : numbers) {
                sum += number;
            }
            return sum;
        }

        static Object nests() {
            long[][] nested = new long[2][3];
            nested[1][2] = 7;
            byte[] bytes = {1, 2, 3};
            bytes[1] += 5;
            char[] chars = new char[] {'a', 'b'};
            String[] names = {"one", null};
            Object[] objects = names;
            return objects.length + nested[1][2] + bytes[1] + chars[0] + (names[1] == null ? 1 : 0);
        }

        static Object stores(Object value) {
            Object[] objects = new Integer[1];
            objects[0] = value;
            return objects.clone()[0];
        }
    }

    interface Shape {
        double area();

        default String name() {
            return "shape of " + area();
        }
    }

    static class Square implements Shape {
        protected final double side;
        private int asked;

        Square(double side) {
            this.side = side < 0 ? -side : side;
        }

        Square() {
            this(2);
        }

        @Override
        public double area() {
            asked++;
            return side * side;
        }

        static double uses(int n) {
            Shape shape = n > 0 ? new Square(n) : new Square();
            double area = shape.area() + shape.name().length();
            if (shape instanceof Square) {
                area += ((Square) shape).asked;
            }
            return area;
        }
    }

    static class Throws {
        static int count;

        static int catches(int n) {
            try {
                if (n == 0) {
                    throw new IllegalStateException("zero");
                }
                return 10 / (n - 1);
            } catch (ArithmeticException e) {
                return -1;
            } catch (IllegalStateException | NullPointerException e) {
                return e.getMessage().length();
            } finally {
                count++;
            }
        }

        static synchronized int locks(Object lock) {
            int local = 1;
            synchronized (Throws.class) {
                local += count;
            }
            return lock == null ? local : lock.hashCode();
        }
    }

    static class Switches {
        static int dense(int n) {
            switch (n) {
                case 0: return 5;
                case 1: n += 3;
                case 2: return n * 2;
                case 3: break;
                default: return -n;
            }
            return 99;
        }

        static String sparse(int n) {
            switch (n) {
                case -1000: return "low";
                case 0: return "zero";
                case 70000: return "high";
                default: return "other";
            }
        }

        static int loops() {
            int i = 0;
            int sum = 0;
            do {
                if ((i & 1) == 0) {
                    i++;
                    continue;
                }
                sum += i;
                i += 2;
            } while (i < 20);
            return sum;
        }
    }

    static class Uses {
        private static final List<String> NAMES = new ArrayList<>();
        static long total = 3;
        volatile Object field = this;

        static int lists(int n) {
            NAMES.clear();
            for (int i = 0; i < 5; i++) {
                NAMES.add(String.valueOf(i + n));
            }
            total += NAMES.size();
            return String.join(",", NAMES).length();
        }

        static Object fields() {
            Uses one = new Uses();
            Uses other = new Uses();
            one.field = other;
            other.field = total;
            return ((Uses) one.field).field;
        }

        static Class<?> constants() {
            Object text = "text";
            return text.equals("te" + "xt") ? String.class : int[].class;
        }
    }

    /** Fields and locals of all types side by side, so that one is easily taken for another. */
    static class Cells {
        int number = 1;
        long wide = 2;
        double real = 3;
        Object any = "any";
        String text = "text";
        int[] numbers = {4, 5};
        Object[] objects = {this, "six"};
        Cells next;

        Cells(Cells next, String text) {
            this.next = next;
            this.text = text;
        }

        long sum(int depth) {
            long sum = number + wide + (long) real;
            Object found = any;
            if (found instanceof String) {
                String own = (String) found;
                sum += own.length() + text.length();
            } else if (found instanceof int[]) {
                int[] own = (int[]) found;
                sum += own[0];
            }
            for (Object object : objects) {
                sum += object == this ? 1 : 2;
            }
            return depth == 0 || next == null ? sum : sum + next.sum(depth - 1);
        }

        static long chains(int n) {
            Cells first = new Cells(null, "first");
            Cells second = new Cells(first, String.valueOf(n));
            second.any = second.numbers;
            first.objects[1] = second;
            first.numbers = second.numbers.clone();
            first.numbers[n & 1] += n;
            return second.sum(3) + first.numbers[n & 1];
        }

        static Object swaps(Object one, int n) {
            Object other = n > 2 ? new Cells(null, "swap") : (Object) new long[] {n};
            Cells[] cells = {new Cells(null, null), null};
            Object[][] table = {cells, new String[] {"a"}};
            if (other instanceof Cells) {
                cells[1] = (Cells) other;
                cells[0].next = cells[1];
            }
            double d = cells.length * 1.5;
            int i = n;
            one = table[i & 1][0];
            return cells[0].next == other ? cells[0].next.text : String.valueOf(d);
        }
    }

    private Victims() {}
}
