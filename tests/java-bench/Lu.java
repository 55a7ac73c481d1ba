// SPDX-License-Identifier: Apache-2.0

/** Factors a matrix with partial pivoting. */
final class Lu {
    private static final int SIDE = 60;

    static long run() {
        Random32 random = new Random32(7);
        double[][] a = new double[SIDE][SIDE];
        for (double[] row : a) {
            for (int j = 0; j < SIDE; j++) {
                row[j] = random.nextDouble();
            }
        }
        int[] pivots = new int[SIDE];
        factor(a, pivots);
        double sum = 0;
        for (int i = 0; i < SIDE; i++) {
            sum += a[i][i] * (pivots[i] + 1);
        }
        return Double.doubleToLongBits(sum);
    }

    private static void factor(double[][] a, int[] pivots) {
        for (int j = 0; j < SIDE; j++) {
            int pivot = j;
            for (int i = j + 1; i < SIDE; i++) {
                if (Math.abs(a[i][j]) > Math.abs(a[pivot][j])) {
                    pivot = i;
                }
            }
            pivots[j] = pivot;
            double[] row = a[pivot];
            a[pivot] = a[j];
            a[j] = row;
            double factor = 1 / row[j];
            for (int i = j + 1; i < SIDE; i++) {
                a[i][j] *= factor;
            }
            for (int i = j + 1; i < SIDE; i++) {
                double[] target = a[i];
                double scale = target[j];
                for (int k = j + 1; k < SIDE; k++) {
                    target[k] -= scale * row[k];
                }
            }
        }
    }

    private Lu() {
    }
}
