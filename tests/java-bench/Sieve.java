// SPDX-License-Identifier: Apache-2.0

/** Eratosthenes. */
final class Sieve {
    private static final int LIMIT = 100_000;

    static long run() {
        boolean[] isComposite = new boolean[LIMIT];
        long sum = 0;
        for (int i = 2; i < LIMIT; i++) {
            if (isComposite[i]) {
                continue;
            }
            sum += i;
            for (int j = i + i; j < LIMIT; j += i) {
                isComposite[j] = true;
            }
        }
        return sum;
    }

    private Sieve() {
    }
}
