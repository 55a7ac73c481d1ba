// SPDX-License-Identifier: Apache-2.0

/** All ways to place queens on a board, with arrays for columns and diagonals. */
final class Queens {
    private static final int SIDE = 8;

    private final boolean[] column = new boolean[SIDE];
    private final boolean[] rising = new boolean[2 * SIDE];
    private final boolean[] falling = new boolean[2 * SIDE];
    private final int[] placed = new int[SIDE];
    private long sum;

    static long run() {
        Queens queens = new Queens();
        queens.place(0);
        return queens.sum;
    }

    private void place(int row) {
        if (row == SIDE) {
            long board = 0;
            for (int at : placed) {
                board = board * SIDE + at;
            }
            sum += board;
            return;
        }
        for (int at = 0; at < SIDE; at++) {
            if (isFree(row, at)) {
                set(row, at, true);
                placed[row] = at;
                place(row + 1);
                set(row, at, false);
            }
        }
    }

    private boolean isFree(int row, int at) {
        return !column[at] && !rising[row + at] && !falling[row - at + SIDE];
    }

    private void set(int row, int at, boolean taken) {
        column[at] = taken;
        rising[row + at] = taken;
        falling[row - at + SIDE] = taken;
    }
}
