// SPDX-License-Identifier: Apache-2.0

/** What becomes of its methods is shown. */
class Dumped {
    static int sum(int[] values, int more) {
        int sum = 0;
        for (int i = 0; i < values.length; i++) {
            sum += values[i] + more;
        }
        return sum;
    }

    static long sum(long one, long other) {
        return one / other;
    }

    public static void main(String[] args) {
        System.out.println(sum(new int[] {1, 2, 3}, 4) + sum(50L, 2L));
    }
}
