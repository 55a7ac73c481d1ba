// SPDX-License-Identifier: Apache-2.0

/** Says what it computed, then waits to be killed. */
final class Endless {
    /** Synchronized: its body never stands in place of a call. */
    private static synchronized int sum(int count) {
        int sum = 0;
        for (int i = 0; i < count; i++) {
            sum += Integer.bitCount(i);
        }
        return sum;
    }

    public static void main(String[] args) throws Exception {
        System.out.println("sum " + sum(1000));
        System.out.flush();
        if (args.length == 0) {
            Thread.sleep(Long.MAX_VALUE);
        }
    }
}
