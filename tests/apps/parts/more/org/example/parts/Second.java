// SPDX-License-Identifier: Apache-2.0
package org.example.parts;

/** Lies in classes2.dex. */
final class Second {
    private Second() {}

    static long sum() {
        long[] numbers = {1, -2, 3, 1L << 40, 5, 6, 7, 8};
        long sum = 0;
        for (long number : numbers) {
            sum += number;
        }
        return sum;
    }
}
