// SPDX-License-Identifier: Apache-2.0

/** A sparse matrix in compressed rows times a vector. */
final class Sparse {
    private static final int SIDE = 1_000;
    private static final int PER_ROW = 5;
    private static final int ROUNDS = 20;

    static long run() {
        Random32 random = new Random32(5);
        double[] values = new double[SIDE * PER_ROW];
        int[] columns = new int[SIDE * PER_ROW];
        int[] starts = new int[SIDE + 1];
        for (int row = 0; row < SIDE; row++) {
            starts[row + 1] = starts[row] + PER_ROW;
            for (int k = starts[row]; k < starts[row + 1]; k++) {
                columns[k] = random.below(SIDE);
                values[k] = random.nextDouble();
            }
        }
        double[] x = new double[SIDE];
        double[] y = new double[SIDE];
        java.util.Arrays.fill(x, 0.5);
        for (int round = 0; round < ROUNDS; round++) {
            multiply(y, values, columns, starts, x);
        }
        double sum = 0;
        for (double value : y) {
            sum += value;
        }
        return Double.doubleToLongBits(sum);
    }

    private static void multiply(double[] y, double[] values, int[] columns, int[] starts, double[] x) {
        for (int row = 0; row < SIDE; row++) {
            double sum = y[row];
            for (int k = starts[row]; k < starts[row + 1]; k++) {
                sum += x[columns[k]] * values[k];
            }
            y[row] = sum;
        }
    }

    private Sparse() {
    }
}
