// SPDX-License-Identifier: Apache-2.0

/** Marsaglia's xorshift: the same numbers on every machine. */
final class Random32 {
    private int state;

    Random32(int seed) {
        state = seed;
    }

    int next() {
        state ^= state << 13;
        state ^= state >>> 17;
        state ^= state << 5;
        return state;
    }

    int below(int bound) {
        return (next() >>> 1) % bound;
    }

    double nextDouble() {
        return (next() >>> 8) * 0x1.0p-24;
    }
}
