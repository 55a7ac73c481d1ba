// SPDX-License-Identifier: Apache-2.0
// What Hostile changes: methods of all shapes that call nothing that reaches out of the process.
import java.util.ArrayList;
import java.util.List;

class Victim implements Comparable<Victim> {
    static int made;
    static Object last;
    int number;
    long wide;
    double real;
    Object reference;
    int[] ints = new int[4];
    Victim[] victims = new Victim[2];

    Victim(int number) {
        this.number = number;
        made++;
        last = this;
    }

    public int compareTo(Victim other) {
        return Integer.compare(number, other.number);
    }

    long arithmetic(int a, long b, float c, double d) {
        int x = a * 31 + (int) c;
        wide = b << a ^ (long) d;
        real = d / c + x;
        return wide % (x | 1) + (a > x ? 1 : 2);
    }

    Object references(Object object, String text) {
        reference = object;
        victims[0] = this;
        if (object instanceof Victim) {
            return ((Victim) object).victims[0].reference;
        }
        if (text == null) {
            return ints;
        }
        return text.length() > number ? text : (Object) victims;
    }

    int arrays(byte[] bytes, char[] chars, long[] longs) {
        ints[number & 3] = bytes[0] + chars[1];
        longs[0] += ints[1];
        boolean[] flags = {true, false, true};
        double[] doubles = {1.5, 2.5};
        doubles[1] *= longs[0];
        return flags[number & 1] ? (int) doubles[1] : chars.length;
    }

    int exceptions(int depth) {
        try {
            return 100 / depth + ints[depth];
        } catch (ArithmeticException e) {
            return -1;
        } catch (ArrayIndexOutOfBoundsException e) {
            return victims[0].number;
        } finally {
            number++;
        }
    }

    static List<Object> calls(Victim victim) {
        List<Object> all = new ArrayList<>();
        all.add(victim.arithmetic(3, 5L, 2.5f, 7.5));
        all.add(victim.references(victim, "text"));
        all.add(victim.references(null, "text"));
        all.add(victim.arrays(new byte[] {1}, new char[] {'a', 'b'}, new long[] {9}));
        all.add(victim.exceptions(2));
        all.add(victim.exceptions(0));
        all.add(victim.compareTo(new Victim(8)));
        synchronized (victim) {
            all.add(victim.exceptions(7));
        }
        return all;
    }

    static Object run() {
        Victim victim = new Victim(5);
        return String.valueOf(calls(victim)) + made + last;
    }
}
