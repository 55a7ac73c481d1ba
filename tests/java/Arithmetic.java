// SPDX-License-Identifier: Apache-2.0
/** Integer and floating-point arithmetic to the letter. */
public class Arithmetic {
    static int[] ints = {0, 1, -1, 7, -7, 31, 32, 33, Integer.MAX_VALUE, Integer.MIN_VALUE, 0x55555555};
    static long[] longs = {0, 1, -1, 7, -7, 63, 64, Long.MAX_VALUE, Long.MIN_VALUE, 0x123456789abcdefL};
    static float[] floats = {0f, -0f, 1.5f, -2.5f, Float.NaN, Float.POSITIVE_INFINITY, Float.MIN_VALUE, 1e20f, 3e9f};
    static double[] doubles = {0, -0.0, 1.5, -2.5, Double.NaN, Double.NEGATIVE_INFINITY, 1e300, 9.3e18, 5e-324};

    public static void main(String[] args) {
        long hash = 17;
        for (int x : ints) {
            for (int y : ints) {
                hash = hash * 31 + (x + y) + (x - y) * 3L + (x * y) * 5L + (x & y) + (x | y) + (x ^ y);
                hash = hash * 31 + (x << y) + (x >> y) + (x >>> y);
                if (y != 0) {
                    hash = hash * 31 + x / y + 7L * (x % y);
                }
                hash = hash * 31 + Integer.compare(x, y) + (x < y ? 1 : 0) + (x >= y ? 2 : 0);
            }
            System.out.println(x + " " + (byte) x + " " + (short) x + " " + (int) (char) x + " " + (float) x + " " + (double) x + " " + -x + " " + ~x);
            System.out.println(Integer.bitCount(x) + " " + Integer.numberOfLeadingZeros(x) + " " + Integer.numberOfTrailingZeros(x) + " " + Integer.reverseBytes(x) + " " + Integer.toHexString(x));
        }
        for (long x : longs) {
            for (long y : longs) {
                hash = hash * 31 + (x + y) + (x - y) * 3 + (x * y) * 5 + (x << y) + (x >> y) + (x >>> y);
                if (y != 0) {
                    hash = hash * 31 + x / y + 7 * (x % y);
                }
                hash = hash * 31 + Long.compare(x, y);
            }
            System.out.println(x + " " + (int) x + " " + (float) x + " " + (double) x + " " + -x + " " + Long.bitCount(x) + " " + Long.numberOfLeadingZeros(x));
        }
        for (float x : floats) {
            System.out.println(x + " " + (int) x + " " + (long) x + " " + (double) x + " " + -x + " " + (x < 1) + (x > 1) + (x == x) + " " + x % 1.25f);
        }
        for (double x : doubles) {
            for (double y : doubles) {
                System.out.print((x < y) + "" + (x <= y) + (x > y) + (x >= y) + (x == y) + " " + Double.compare(x, y) + " " + x % y + ";");
            }
            System.out.println();
            System.out.println(x + " " + (int) x + " " + (long) x + " " + (float) x + " " + Math.sqrt(x) + " " + (char) x);
        }
        System.out.println(Integer.MIN_VALUE / -1 + " " + Integer.MIN_VALUE % -1 + " " + Long.MIN_VALUE / -1 + " " + Long.MIN_VALUE % -1);
        System.out.println(hash);
    }
}
