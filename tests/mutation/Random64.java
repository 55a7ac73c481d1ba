// SPDX-License-Identifier: Apache-2.0

/** Splitmix64: the same numbers on every machine. */
final class Random64 {
    private long state;

    Random64(long seed) {
        state = seed;
    }

    int below(int bound) {
        long z = state += 0x9e3779b97f4a7c15L;
        z = (z ^ (z >>> 30)) * 0xbf58476d1ce4e5b9L;
        z = (z ^ (z >>> 27)) * 0x94d049bb133111ebL;
        return (int) Math.floorMod(z ^ (z >>> 31), (long) bound);
    }
}
