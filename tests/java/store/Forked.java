// SPDX-License-Identifier: Apache-2.0

/** What a parent and its forked child compile, each for itself. */
final class Forked {
    static int before() {
        return 1;
    }

    /** Synchronized, as the other one is: its body never stands in place of a call. */
    static synchronized int inParent(int count) {
        int product = 1;
        for (int i = 1; i <= count; i++) {
            product = product * 31 + parentStep(i);
        }
        return product;
    }

    private static int parentStep(int i) {
        return i ^ 0x55;
    }

    static synchronized int inChild(int count) {
        int sum = 7;
        for (int i = 1; i <= count; i++) {
            sum = sum * 17 - childStep(i);
        }
        return sum;
    }

    private static int childStep(int i) {
        return Integer.reverse(i) >>> 3;
    }

    public static void main(String[] args) {
        System.out.println(inParent(100) + " " + inChild(100));
    }
}
