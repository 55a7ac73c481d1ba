// SPDX-License-Identifier: Apache-2.0

/** Successive over-relaxation on a square grid. */
final class Sor {
    private static final int SIDE = 100;
    private static final int ROUNDS = 10;
    private static final double OMEGA = 1.25;

    static long run() {
        Random32 random = new Random32(11);
        double[][] grid = new double[SIDE][SIDE];
        for (double[] row : grid) {
            for (int j = 0; j < SIDE; j++) {
                row[j] = random.nextDouble();
            }
        }
        for (int round = 0; round < ROUNDS; round++) {
            relax(grid);
        }
        return Double.doubleToLongBits(grid[SIDE / 2][SIDE / 2]);
    }

    private static void relax(double[][] grid) {
        double quarter = OMEGA * 0.25;
        double rest = 1.0 - OMEGA;
        for (int i = 1; i < SIDE - 1; i++) {
            double[] above = grid[i - 1];
            double[] row = grid[i];
            double[] below = grid[i + 1];
            for (int j = 1; j < SIDE - 1; j++) {
                row[j] = quarter * (above[j] + below[j] + row[j - 1] + row[j + 1]) + rest * row[j];
            }
        }
    }

    private Sor() {
    }
}
