// SPDX-License-Identifier: Apache-2.0
package org.example.panel;

/**
 * What the task says to the window and the window to the task, without a lock: each place is
 * written by one thread. The task writes a reading, then how many there are, which is volatile; the
 * window reads in the other order, far behind where the task writes next.
 */
final class Readings {
    /** Four seconds at 1 kHz. */
    private static final int PLACES = 4096;
    private static final double FINE = 1000;

    private final int[] values = new int[PLACES];
    private final int[] outputs = new int[PLACES];
    private volatile long count;
    private volatile int setPoint = 50;

    /** By the task alone. */
    void add(double value, double output) {
        long now = count;
        int place = (int) (now % PLACES);
        values[place] = (int) (value * FINE);
        outputs[place] = (int) (output * FINE);
        count = now + 1;
    }

    /** By the window alone. */
    void setSetPoint(int wanted) {
        setPoint = wanted;
    }

    int setPoint() {
        return setPoint;
    }

    long count() {
        return count;
    }

    /** The controlled value so many readings ago; zero for what is too old or never was. */
    double value(long ago) {
        return of(values, ago);
    }

    /** What the task has put out. */
    double output(long ago) {
        return of(outputs, ago);
    }

    private double of(int[] places, long ago) {
        long index = count - 1 - ago;
        boolean isKept = index >= 0 && ago < PLACES / 2;
        return isKept ? places[(int) (index % PLACES)] / FINE : 0;
    }
}
