// SPDX-License-Identifier: Apache-2.0
package org.example.synth;

import java.util.concurrent.atomic.AtomicLong;

/**
 * Keys that sound while they are held: a sine each, which swells and fades so that nothing clicks.
 * Any thread presses; the one that fills takes no memory and no lock.
 */
final class Organ {
    static final int RATE = 48_000;
    /** From the lowest C on; key 33 is a4, 440 Hz. */
    static final int KEYS = 60;
    private static final int A4 = 33;
    private static final double A4_HZ = 440;
    private static final int KEYS_OF_OCTAVE = 12;
    /** Eight keys at once reach full scale; more are clipped. */
    private static final double LEVEL = Short.MAX_VALUE / 8.0;
    /** A swell lasts 5 ms. */
    private static final double STEP = 1.0 / (RATE / 200);

    /** A bit for each key that is held. */
    private final AtomicLong held = new AtomicLong();
    /** Those that were struck since the last fill: each sounds, however short it is held. */
    private final AtomicLong struck = new AtomicLong();
    private final double[] phases = new double[KEYS];
    private final double[] levels = new double[KEYS];
    private final double[] steps = new double[KEYS];

    Organ() {
        for (int key = 0; key < KEYS; key++) {
            double hertz = A4_HZ * Math.pow(2, (key - A4) / (double) KEYS_OF_OCTAVE);
            steps[key] = 2 * Math.PI * hertz / RATE;
        }
    }

    /** Exactly the keys of these bits are held from the next fill on. */
    void hold(long keys) {
        held.set(keys);
    }

    void press(int key) {
        struck.accumulateAndGet(1L << key, (all, one) -> all | one);
        held.accumulateAndGet(1L << key, (all, one) -> all | one);
    }

    void release(int key) {
        held.accumulateAndGet(1L << key, (all, one) -> all & ~one);
    }

    /** The next samples. */
    void fill(short[] out, int count) {
        long keys = held.get() | struck.getAndSet(0);
        for (int i = 0; i < count; i++) {
            double sum = 0;
            for (int key = 0; key < KEYS; key++) {
                boolean isHeld = (keys >>> key & 1) != 0;
                if (isHeld || levels[key] > 0) {
                    sum += next(key, isHeld);
                }
            }
            out[i] = (short) Math.max(Short.MIN_VALUE, Math.min(Short.MAX_VALUE, Math.round(sum * LEVEL)));
        }
    }

    private double next(int key, boolean isHeld) {
        levels[key] = isHeld ? Math.min(1, levels[key] + STEP) : Math.max(0, levels[key] - STEP);
        phases[key] += steps[key];
        if (phases[key] >= 2 * Math.PI) {
            phases[key] -= 2 * Math.PI;
        }
        return levels[key] * Math.sin(phases[key]);
    }
}
