// SPDX-License-Identifier: Apache-2.0
import java.util.Arrays;

/**
 * Loops over arrays: how far they count, what they throw and where, and what they leave behind.
 * Each runs with starts, limits and arrays for which its checks hold, and with such for which they
 * do not.
 */
public class Loops {
    private static final int MAX = Integer.MAX_VALUE;
    private static final int MIN = Integer.MIN_VALUE;
    private static final int[] STARTS = {0, 1, -1, 2, 3, 6, 7, 8, MAX - 1, MAX, MIN, MIN + 1};
    private static final int[] LIMITS = {7, 6, 8, 0, 1, -1, 5, 4, MAX, MAX - 1, MIN, MIN + 1};
    /** Iterations after which a loop ends that would count for long. */
    private static final int COUNT_MAX = 100;

    private int[] held = {5, 6, 7};
    private int count;
    private static int[] shared;
    private static volatile int[] seen = {1, 2, 3};

    interface Body {
        long run(int[] a, int start, int limit);
    }

    /** What a run gave, in one line: a result or what was thrown and where, and the array. */
    static String outcome(Body body, int[] a, int start, int limit) {
        String said;
        try {
            said = Long.toString(body.run(a, start, limit));
        } catch (RuntimeException thrown) {
            StackTraceElement at = thrown.getStackTrace()[0];
            // What a message says of null is another in DEX code.
            String what = thrown instanceof NullPointerException ? "null" : thrown.toString();
            said = what + " in " + at.getMethodName() + ":" + at.getLineNumber();
        }
        return said + " " + Arrays.toString(a);
    }

    static void sweep(String name, Body body) {
        int sum = 0;
        String last = "";
        for (int start : STARTS) {
            for (int limit : LIMITS) {
                for (int length = -1; length < 9; length += 2) {
                    int[] a = length < 0 ? null : new int[length];
                    for (int i = 0; i < length; i++) {
                        a[i] = 3 * i + 1;
                    }
                    String found = outcome(body, a, start, limit);
                    sum = 31 * sum + found.hashCode();
                    if (limit == 7 && (start == 0 || start == 6) && !found.equals(last)) {
                        System.out.println(name + "(" + length + ", " + start + "): " + found);
                        last = found;
                    }
                }
            }
        }
        System.out.println(name + ": " + sum);
    }

    static long up(int[] a, int start, int limit) {
        long sum = 0;
        for (int i = start; i < limit; i++) {
            sum += a[i];
        }
        return sum;
    }

    static long upTo(int[] a, int start, int limit) {
        long sum = 0;
        int n = 0;
        for (int i = start; i <= limit; i++) {
            if (n++ > COUNT_MAX) {
                break;
            }
            sum += i;
            a[i] = (int) sum;
        }
        return sum;
    }

    static long turned(int[] a, int start, int limit) {
        long sum = 0;
        for (int i = start; limit > i; ++i) {
            a[i] += a[i] + i;
        }
        return sum;
    }

    static long unequal(int[] a, int start, int limit) {
        long sum = 0;
        for (int i = start; i != limit; i++) {
            sum = 3 * sum + a[i];
        }
        return sum;
    }

    static long byTwo(int[] a, int start, int limit) {
        long sum = 0;
        for (int i = start; i < limit; i += 2) {
            sum = 3 * sum + a[i];
            a[i] = i;
            if (i >= 0 && i + 1 < a.length) {
                sum += a[i + 1];
            }
        }
        return sum;
    }

    static long bySeven(int[] a, int start, int limit) {
        long sum = 0;
        for (int i = start; i <= limit; i += 7) {
            sum = 3 * sum + a[i];
        }
        return sum;
    }

    static long down(int[] a, int start, int limit) {
        long sum = 0;
        for (int i = limit - 1; i >= start; i--) {
            sum = 3 * sum + a[i];
        }
        return sum;
    }

    static long downBehind(int[] a, int start, int limit) {
        long sum = 0;
        for (int i = limit; i > start; i--) {
            a[i - 1] = (int) (sum = 3 * sum + a[i - 1]);
        }
        return sum;
    }

    static long downByThree(int[] a, int start, int limit) {
        long sum = 0;
        for (int i = limit; i >= start; i -= 3) {
            sum = 3 * sum + a[i];
        }
        return sum;
    }

    static long around(int[] a, int start, int limit) {
        long sum = 0;
        for (int i = start + 1; i < limit - 1; i++) {
            a[i] = a[i - 1] + 2 * a[i] + a[i + 1];
            sum += a[i];
        }
        return sum;
    }

    static long byAny(int[] a, int start, int limit) {
        long sum = 0;
        int step = start + 1;
        int n = 0;
        for (int i = start; i < limit; i += step) {
            sum = 3 * sum + a[i];
            a[i] = n;
            if (n++ > COUNT_MAX) {
                break;
            }
        }
        return sum;
    }

    static long whole(int[] a, int start, int limit) {
        long sum = 0;
        for (int i = 0; i < a.length; i++) {
            sum = 3 * sum + a[i];
            a[i] = start;
        }
        for (int i = a.length; --i >= 0;) {
            sum = 3 * sum + a[i];
        }
        for (int i = a.length - 1; i > 0; i--) {
            a[i] = a[i - 1];
        }
        for (int i = 0; i < a.length - 1; i++) {
            a[i] ^= a[i + 1];
        }
        for (int i = 0; i <= a.length; i++) {
            a[i] = limit;
        }
        return sum;
    }

    static long behind(int[] a, int start, int limit) {
        long sum = 0;
        int i = start;
        while (i++ < limit) {
            sum = 3 * sum + a[i];
        }
        return sum;
    }

    static long before(int[] a, int start, int limit) {
        long sum = 0;
        int i = start;
        int n = 0;
        do {
            sum = 3 * sum + a[i];
        } while (++i < limit && n++ < COUNT_MAX);
        return sum;
    }

    static long left(int[] a, int start, int limit) {
        long sum = 0;
        for (int i = start; i < limit; i++) {
            if (a[i] == 10) {
                continue;
            }
            sum = 3 * sum + a[i];
            if (sum > 1000) {
                return -sum;
            }
        }
        return sum;
    }

    static long caught(int[] a, int start, int limit) {
        long sum = 0;
        int n = 0;
        for (int i = start; i < limit && n < COUNT_MAX; i++) {
            try {
                sum = 3 * sum + a[i];
                a[i] /= i - 2;
            } catch (ArithmeticException thrown) {
                sum += 1000;
            } catch (ArrayIndexOutOfBoundsException thrown) {
                sum -= thrown.getMessage().length();
                n++;
            }
        }
        return sum;
    }

    /** Null, bounds and division, in this order. */
    static long ordered(int[] a, int start, int limit) {
        int[] other = start == 6 ? null : new int[5];
        long sum = 0;
        for (int i = start; i < limit; i++) {
            sum += a[i] / (i - 4) + other[i];
            a[i] = -1;
        }
        return sum;
    }

    /** The second array is not there, and only sometimes looked at. */
    static long rarely(int[] a, int start, int limit) {
        int[] other = limit == 7 ? null : a;
        long sum = 0;
        for (int i = start; i < limit; i++) {
            if (a[i] > 16) {
                sum += other[i - 1];
            }
            sum += a[i];
        }
        return sum;
    }

    /** The array is another from the third iteration on. */
    static long changed(int[] a, int start, int limit) {
        int[] b = a;
        long sum = 0;
        for (int i = start; i < limit; i++) {
            sum = 3 * sum + b[i];
            if (i == 3) {
                b = new int[4];
            }
        }
        return sum;
    }

    /** The limit is in the array, and written by the loop. */
    static long limited(int[] a, int start, int limit) {
        long sum = 0;
        for (int i = start; i < a[1]; i++) {
            a[i] = limit - i;
            sum = 3 * sum + i;
        }
        return sum;
    }

    /** The limit is in one of two arrays that may be the same. */
    static long aliased(int[] a, int start, int limit) {
        int[] b = start == 0 ? a : new int[] {3, 4, 5};
        long sum = 0;
        for (int i = 1; i < b[2]; i++) {
            a[i] = 0;
            sum += b[1];
        }
        return sum;
    }

    /** The limit stays, in an array of another kind than what is written. */
    static long apart(int[] a, int start, int limit) {
        long[] out = new long[4];
        long sum = 0;
        for (int i = 0; i < a[start]; i++) {
            out[i] = a[limit - 1];
            sum += out[i];
        }
        return sum;
    }

    static long nested(int[] a, int start, int limit) {
        int[][] rows = new int[4][];
        for (int i = 0; i < 3; i++) {
            rows[i] = new int[i + 3];
        }
        long sum = 0;
        for (int i = start; i < limit; i++) {
            for (int j = 0; j < rows[i].length; j++) {
                rows[i][j] = a[j] + i;
                sum = 3 * sum + rows[i][j];
            }
        }
        return sum;
    }

    static long product(int[] a, int start, int limit) {
        int[][] left = {a, {1, 2, 3}, {4, 5, 6}};
        int[][] right = {{1, 0, 2}, {0, 3, 1}, a};
        int[][] out = new int[3][3];
        for (int i = 0; i < 3; i++) {
            for (int j = 0; j < 3; j++) {
                for (int k = 0; k < limit - 4; k++) {
                    out[i][j] += left[i][k] * right[k][j];
                }
            }
        }
        return Arrays.deepHashCode(out);
    }

    static long kinds(int[] a, int start, int limit) {
        byte[] bytes = new byte[7];
        boolean[] flags = new boolean[7];
        char[] chars = new char[7];
        short[] shorts = new short[7];
        float[] floats = new float[7];
        double[] doubles = new double[7];
        Object[] objects = new Object[7];
        for (int i = start; i < limit; i++) {
            bytes[i] = (byte) (200 + i);
            flags[i] = bytes[i] % 2 == 0;
            chars[i] = (char) (bytes[i] + 1);
            shorts[i] = (short) chars[i];
            floats[i] = shorts[i] / 2f;
            doubles[i] = floats[i] * 1.5;
            objects[i] = i % 2 == 0 ? objects : null;
            a[i] = (int) doubles[i] + (flags[i] ? 1 : 0) + (objects[i] == null ? 0 : 10);
        }
        return 0;
    }

    static long stored(int[] a, int start, int limit) {
        Object[] strings = new String[8];
        for (int i = start; i < limit; i++) {
            strings[i] = i < 5 ? "s" : (Object) a;
        }
        return strings.length;
    }

    /** Starts, in a loop that does not run, with what is not there. */
    static long never(int[] a, int start, int limit) {
        int[] none = null;
        long sum = 0;
        for (int i = limit; i < start && i < 0; i++) {
            sum += none[i];
        }
        for (int i = 0; i < 0; i++) {
            sum += none[i] + a[i];
        }
        return sum;
    }

    long fields(int[] a, int start, int limit) {
        long sum = 0;
        count = 3;
        held = a;
        for (int i = start; i < count; i++) {
            sum += held[i];
        }
        for (int i = 0; i < held.length; i++) {
            sum = 3 * sum + held[i];
            if (i == 2) {
                held = new int[] {1, 2, 3, 4};
            }
        }
        for (int i = 0; i < held.length; i++) {
            count += held[i];
        }
        shared = a;
        for (int i = 0; i < shared.length; i++) {
            shared[i] += count;
        }
        for (int i = 0; i < seen.length; i++) {
            sum += seen[i];
            seen = new int[3 - i];
        }
        seen = new int[] {1, 2, 3};
        return sum + count;
    }

    long called(int[] a, int start, int limit) {
        long sum = 0;
        held = a;
        for (int i = 0; i < held.length; i++) {
            sum = 3 * sum + held[i];
            shorten(i);
        }
        for (int i = start; i < limit; i++) {
            sum = 3 * sum + Math.abs(a[i] - 10);
        }
        return sum;
    }

    private void shorten(int at) {
        if (at == 1) {
            held = new int[] {9, 9, 9};
        }
    }

    static long switched(int[] a, int start, int limit) {
        long sum = 0;
        loop:
        for (int i = start; i < limit; i++) {
            switch (a[i] & 7) {
                case 1:
                    sum++;
                    continue;
                case 2:
                    a[i] = 5;
                    break;
                case 6:
                    break loop;
                default:
                    sum = 3 * sum + a[i];
            }
            sum += 7;
        }
        return sum;
    }

    /** Two counters, one of them in steps that are not always made. */
    static long packed(int[] a, int start, int limit) {
        int to = start;
        for (int from = start; from < limit; from++) {
            if ((a[from] & 1) == 0) {
                a[to++] = a[from];
            }
        }
        int low = start;
        int high = limit - 1;
        while (low < high) {
            int kept = a[low];
            a[low++] = a[high];
            a[high--] = kept;
        }
        return to;
    }

    /** What the loop counted to is used behind it. */
    static long after(int[] a, int start, int limit) {
        int i = start;
        int last = -1;
        for (; i < limit && i < 20; i++) {
            last = a[i];
            a[i] = last * i;
        }
        return 1000L * i + last;
    }

    static long wrapped(int[] a, int start, int limit) {
        long sum = 0;
        int n = 0;
        for (int i = MAX - 2; i > 0; i++) {
            sum += i;
            a[n++] = i;
        }
        for (int i = MAX - 1, j = 0; i >= MAX - 3; i--) {
            sum += a[i - (MAX - 3)];
        }
        for (int i = 1; i > 0; i *= 16) {
            a[i & 3] += i;
        }
        for (byte b = 120; b > 0; b++) {
            a[b - 120]++;
        }
        return sum;
    }

    static long longs(int[] a, int start, int limit) {
        long sum = 0;
        for (long i = start; i < limit; i++) {
            sum = 3 * sum + a[(int) i];
        }
        return sum;
    }

    public static void main(String[] args) {
        Loops own = new Loops();
        sweep("up", Loops::up);
        sweep("upTo", Loops::upTo);
        sweep("turned", Loops::turned);
        sweep("unequal", Loops::unequal);
        sweep("byTwo", Loops::byTwo);
        sweep("bySeven", Loops::bySeven);
        sweep("down", Loops::down);
        sweep("downBehind", Loops::downBehind);
        sweep("downByThree", Loops::downByThree);
        sweep("around", Loops::around);
        sweep("byAny", Loops::byAny);
        sweep("whole", Loops::whole);
        sweep("behind", Loops::behind);
        sweep("before", Loops::before);
        sweep("left", Loops::left);
        sweep("caught", Loops::caught);
        sweep("ordered", Loops::ordered);
        sweep("rarely", Loops::rarely);
        sweep("changed", Loops::changed);
        sweep("limited", Loops::limited);
        sweep("aliased", Loops::aliased);
        sweep("apart", Loops::apart);
        sweep("nested", Loops::nested);
        sweep("product", Loops::product);
        sweep("kinds", Loops::kinds);
        sweep("stored", Loops::stored);
        sweep("never", Loops::never);
        sweep("fields", own::fields);
        sweep("called", own::called);
        sweep("switched", Loops::switched);
        sweep("packed", Loops::packed);
        sweep("after", Loops::after);
        sweep("wrapped", Loops::wrapped);
        sweep("longs", Loops::longs);
    }
}
