// SPDX-License-Identifier: Apache-2.0

/** Largest singular value of an infinite matrix's corner, by the power method. */
final class SpectralNorm {
    private static final int SIDE = 100;
    private static final int ROUNDS = 4;

    static long run() {
        double[] u = new double[SIDE];
        double[] v = new double[SIDE];
        double[] kept = new double[SIDE];
        java.util.Arrays.fill(u, 1);
        for (int round = 0; round < ROUNDS; round++) {
            multiplyBoth(u, kept, v);
            multiplyBoth(v, kept, u);
        }
        double uv = 0;
        double vv = 0;
        for (int i = 0; i < SIDE; i++) {
            uv += u[i] * v[i];
            vv += v[i] * v[i];
        }
        return Double.doubleToLongBits(Math.sqrt(uv / vv));
    }

    private static double element(int i, int j) {
        return 1.0 / ((i + j) * (i + j + 1) / 2 + i + 1);
    }

    private static void multiplyBoth(double[] from, double[] kept, double[] to) {
        for (int i = 0; i < SIDE; i++) {
            double sum = 0;
            for (int j = 0; j < SIDE; j++) {
                sum += element(i, j) * from[j];
            }
            kept[i] = sum;
        }
        for (int i = 0; i < SIDE; i++) {
            double sum = 0;
            for (int j = 0; j < SIDE; j++) {
                sum += element(j, i) * kept[j];
            }
            to[i] = sum;
        }
    }

    private SpectralNorm() {
    }
}
