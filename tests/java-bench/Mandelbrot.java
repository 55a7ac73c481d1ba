// SPDX-License-Identifier: Apache-2.0

/** Points of a grid that stay bounded under z := z*z + c. */
final class Mandelbrot {
    private static final int SIDE = 120;
    private static final int STEPS = 60;

    static long run() {
        long sum = 0;
        for (int row = 0; row < SIDE; row++) {
            double ci = 2.0 * row / SIDE - 1.0;
            for (int column = 0; column < SIDE; column++) {
                double cr = 2.0 * column / SIDE - 1.5;
                double zr = 0;
                double zi = 0;
                int step = 0;
                while (step < STEPS && zr * zr + zi * zi <= 4.0) {
                    double next = zr * zr - zi * zi + cr;
                    zi = 2.0 * zr * zi + ci;
                    zr = next;
                    step++;
                }
                sum = sum * 31 + step;
            }
        }
        return sum;
    }

    private Mandelbrot() {
    }
}
