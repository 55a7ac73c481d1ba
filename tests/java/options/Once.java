// SPDX-License-Identifier: Apache-2.0

/** Initialisers, with a loop and without. */
class Once {
    static final int[] FEW = {3, 5, 7};

    static class Many {
        static final int[] ALL = new int[100];

        static {
            for (int i = 0; i < ALL.length; i++) {
                ALL[i] = i * i;
            }
        }
    }

    public static void main(String[] args) {
        System.out.println(FEW[2] + Many.ALL[99]);
    }
}
