// SPDX-License-Identifier: Apache-2.0
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;
import java.util.function.IntSupplier;

/** Objects that only one method sees, and others that are seen after all. */
public class Scalars {
    record Point(double x, double y) {
        Point plus(Point other) {
            return new Point(x + other.x, y + other.y);
        }

        Point times(double factor) {
            return new Point(x * factor, y * factor);
        }
    }

    /** A field of each kind. */
    static final class Kinds {
        boolean truth;
        byte small;
        char letter;
        short shorter;
        int number;
        long wide;
        float fraction;
        double precise;
        String text;
        Kinds next;
        volatile int shared;

        String all() {
            return truth + " " + small + " " + (int) letter + " " + shorter + " " + number + " " + wide
                + " " + fraction + " " + precise + " " + text + " " + (next == null);
        }
    }

    static double walk(int steps) {
        Point step = new Point(0.5, -0.25);
        double sum = 0;
        for (int i = 0; i < steps; i++) {
            Point at = new Point(i, -i).plus(step).times(2);
            sum += at.x() * 3 + at.y();
        }
        return sum;
    }

    static long kinds(int value) {
        Kinds kinds = new Kinds();
        long sum = kinds.number + kinds.wide + kinds.small + (kinds.truth ? 1 : 0) + kinds.letter;
        kinds.truth = (value & 1) != 0;
        kinds.small = (byte) value;
        kinds.letter = (char) (value * 31);
        kinds.shorter = (short) (value * 77);
        kinds.number = value;
        kinds.wide = (long) value << 33;
        kinds.fraction = value / 3f;
        kinds.precise = value / 7.0;
        sum += (kinds.truth ? 5 : 9) + kinds.small + kinds.letter + kinds.shorter + kinds.number;
        return sum + kinds.wide + (long) kinds.fraction + Double.doubleToLongBits(kinds.precise);
    }

    static String seen(int value) {
        Kinds kinds = new Kinds();
        kinds.small = (byte) value;
        kinds.text = "t" + value;
        kinds.number = value;
        return kinds.all();
    }

    /** Fields that one way writes and another does not, within loops and around them. */
    static int ways(int[] values) {
        Kinds kinds = new Kinds();
        for (int value : values) {
            if (value > 5) {
                kinds.number += value;
            } else if (value < 0) {
                kinds.wide -= value;
                continue;
            }
            for (int i = 0; i < (value & 3); i++) {
                kinds.shorter++;
                if (kinds.shorter > 100) {
                    kinds.shorter = -100;
                }
            }
        }
        return kinds.number * 31 + (int) kinds.wide * 7 + kinds.shorter;
    }

    /** Another object each time, and the last one is looked at behind the loop. */
    static int remade(int count) {
        Kinds last = null;
        int sum = 0;
        for (int i = 0; i < count; i++) {
            Kinds kinds = new Kinds();
            sum += kinds.number;
            kinds.number = i;
            if (i % 3 == 0) {
                last = kinds;
            }
            sum += kinds.number * 2;
        }
        return sum + (last == null ? -1 : last.number);
    }

    static int nested(int value) {
        Kinds outer = new Kinds();
        Kinds inner = new Kinds();
        inner.number = value;
        outer.next = inner;
        outer.next.number++;
        inner.wide = outer.next.number;
        Kinds same = outer.next;
        int sum = same == inner ? 1000 : 2000;
        outer.next = outer;
        return sum + inner.number + (int) same.wide + (outer.next.next == outer ? 1 : 2);
    }

    static int identity(Object other, int value) {
        Kinds kinds = new Kinds();
        kinds.number = value;
        Object same = kinds;
        int sum = same == kinds ? 1 : 0;
        sum += same == other ? 2 : 0;
        sum += same == null ? 4 : 0;
        sum += same instanceof Kinds ? 8 : 0;
        sum += same instanceof Runnable ? 16 : 0;
        sum += ((Kinds) same).number;
        sum += same.getClass() == Kinds.class ? 32 : 0;
        try {
            Object point = (Point) same;
            sum += point == null ? 0 : 64;
        } catch (ClassCastException expected) {
            sum += 128;
        }
        return sum;
    }

    /** Tests of an object's class, where nothing else looks at it. */
    static int tested(int value) {
        Kinds kinds = new Kinds();
        kinds.number = value;
        Object same = kinds;
        int sum = same instanceof Kinds ? 1 : 0;
        sum += same instanceof Point ? 2 : 0;
        sum += same instanceof Runnable ? 4 : 0;
        Object point = new Point(value, 1);
        sum += point instanceof Record ? 8 : 0;
        sum += point instanceof Point p && p.x() == value ? 16 : 0;
        return sum * 100 + kinds.number;
    }

    static int classes(int value) {
        Kinds kinds = new Kinds();
        Point point = new Point(value, 2);
        kinds.number = value;
        int sum = kinds.getClass() == Kinds.class ? 1 : 0;
        return sum + (point.getClass() == (Object) Kinds.class ? 2 : 4) + kinds.number;
    }

    static int merged(boolean which, Kinds given) {
        Kinds own = new Kinds();
        own.number = 3;
        Kinds chosen = which ? own : given;
        chosen.number += 10;
        return own.number * 100 + given.number;
    }

    /** What was written before an exception is there in its handler, and nothing else. */
    static int caught(int[] values, int at) {
        Kinds kinds = new Kinds();
        try {
            kinds.number = 1;
            kinds.text = "one";
            kinds.number += values[at];
            kinds.text = "two";
            kinds.number += 100 / values[at + 1];
            kinds.text = "three";
        } catch (ArrayIndexOutOfBoundsException e) {
            kinds.number += 1000;
        } catch (ArithmeticException e) {
            kinds.number += 2000;
        } finally {
            kinds.wide = kinds.number + kinds.text.length();
        }
        return (int) kinds.wide;
    }

    static int locked(int value) {
        Kinds kinds = new Kinds();
        int sum = 0;
        synchronized (kinds) {
            kinds.number = value;
            synchronized (kinds) {
                kinds.number++;
                sum += Thread.holdsLock(Scalars.class) ? 1 : 0;
            }
            try {
                sum += 10 / (value % 3);
            } catch (ArithmeticException e) {
                kinds.number += 50;
            }
        }
        return sum + kinds.number;
    }

    static int lockedAndSeen(int value) {
        Kinds kinds = new Kinds();
        synchronized (kinds) {
            kinds.number = Thread.holdsLock(kinds) ? value : -value;
        }
        return kinds.number;
    }

    /** References that only a value's fields hold, while other objects come and go. */
    static int held(int count) {
        Kinds kinds = new Kinds();
        int sum = 0;
        for (int i = 0; i < count; i++) {
            kinds.text = new String("held " + i);
            kinds.next = i % 2 == 0 ? new Kinds() : kinds.next;
            churn(i);
            if (kinds.next != null) {
                kinds.next.number += i;
                keep(kinds.next);
                sum += kinds.next.number;
            }
            sum += kinds.text.length() + kinds.text.charAt(kinds.text.length() - 1);
        }
        return sum;
    }

    static Object[] garbage = new Object[64];
    static Kinds kept;

    static void churn(int seed) {
        for (int i = 0; i < 20; i++) {
            garbage[(seed + i) & 63] = new int[50 + i];
        }
    }

    static void keep(Kinds kinds) {
        kept = kinds;
    }

    static int loop(int size) {
        List<Integer> list = new ArrayList<>();
        for (int i = 0; i < size; i++) {
            list.add(i * 3);
        }
        int sum = 0;
        for (int value : list) {
            sum += value;
        }
        Iterator<Integer> odd = list.iterator();
        while (odd.hasNext()) {
            if (odd.next() % 2 == 1) {
                odd.remove();
            }
        }
        for (int round = 0; round < 3; round++) {
            for (Integer value : list) {
                sum ^= value + round;
            }
        }
        return sum + list.size();
    }

    static int broken() {
        List<String> list = new ArrayList<>(Arrays.asList("a", "b", "c"));
        int sum = 0;
        try {
            for (String text : list) {
                sum += text.length();
                list.add(text);
            }
        } catch (java.util.ConcurrentModificationException e) {
            sum += 100;
        }
        return sum;
    }

    static int optional(String text) {
        return Optional.ofNullable(text).map(String::length).filter(it -> it > 2).orElse(-1);
    }

    static final class Counter {
        private int count;

        Counter add(int number) {
            count += number;
            return this;
        }

        int count() {
            return count;
        }
    }

    static int chained(int number) {
        return new Counter().add(number).add(2).add(number * number).count();
    }

    static int captured(int number) {
        Counter counter = new Counter().add(number);
        IntSupplier supplier = () -> counter.add(1).count();
        return supplier.getAsInt() * 100 + supplier.getAsInt();
    }

    static int shared(int number) {
        Kinds kinds = new Kinds();
        kinds.shared = number;
        kinds.number = kinds.shared + 1;
        return kinds.number + kinds.shared;
    }

    static long fields(int round) {
        // Many objects at once, each the other's.
        Point a = new Point(round, 1);
        Point b = new Point(a.y, a.x);
        Point c = new Point(b.x + a.x, b.y + a.y);
        Point d = a.plus(b).plus(c).times(0.5);
        a = b;
        b = c;
        return Double.doubleToLongBits(a.x + b.y * 3 + c.x * 5 + d.y * 7);
    }

    public static void main(String[] args) {
        int rounds = args.length > 0 ? Integer.parseInt(args[0]) : 300;
        long sum = 0;
        Kinds given = new Kinds();
        for (int i = 0; i < rounds; i++) {
            sum = sum * 31 + Double.doubleToLongBits(walk(i & 15));
            sum = sum * 31 + kinds(i * 7919);
            sum = sum * 31 + seen(i).hashCode();
            sum = sum * 31 + ways(new int[] {i, -i, 3, i & 7, 9, 2, i * 3});
            sum = sum * 31 + remade(i & 15);
            sum = sum * 31 + nested(i);
            sum = sum * 31 + identity(i % 2 == 0 ? given : null, i);
            sum = sum * 31 + tested(i) + classes(i);
            sum = sum * 31 + merged(i % 3 == 0, given);
            sum = sum * 31 + caught(new int[] {i, i % 5, i % 7}, i % 4);
            sum = sum * 31 + locked(i) + lockedAndSeen(i);
            sum = sum * 31 + held(i & 31);
            sum = sum * 31 + loop(i & 31) + broken();
            sum = sum * 31 + optional(i % 3 == 0 ? null : "text".substring(i % 4));
            sum = sum * 31 + chained(i) + captured(i);
            sum = sum * 31 + shared(i) + fields(i);
        }
        System.out.println(sum);
        System.out.println(given.number + " " + kept.number);
        System.out.println(seen(300) + ", " + walk(10) + ", " + ways(new int[] {7, -2, 3}));
        System.out.println(remade(7) + " " + nested(5) + " " + identity(null, 1) + " " + caught(new int[] {4}, 0)
            + " " + caught(new int[] {4, 0}, 0) + " " + caught(new int[] {4, 2}, 0));
        System.out.println(locked(3) + " " + lockedAndSeen(4) + " " + held(9) + " " + loop(9) + " " + broken());
    }
}
