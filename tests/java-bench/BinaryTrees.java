// SPDX-License-Identifier: Apache-2.0

/** Many small trees beside one that lives long. */
final class BinaryTrees {
    private static final int DEPTH = 10;

    private static final class Tree {
        final Tree left;
        final Tree right;

        Tree(Tree left, Tree right) {
            this.left = left;
            this.right = right;
        }

        static Tree of(int depth) {
            return depth == 0 ? new Tree(null, null) : new Tree(of(depth - 1), of(depth - 1));
        }

        int count() {
            return left == null ? 1 : 1 + left.count() + right.count();
        }
    }

    static long run() {
        Tree lasting = Tree.of(DEPTH);
        long sum = 0;
        for (int depth = 4; depth <= DEPTH; depth += 2) {
            int rounds = 1 << (DEPTH - depth);
            for (int round = 0; round < rounds; round++) {
                sum += Tree.of(depth).count() * (long) depth;
            }
        }
        return sum + lasting.count();
    }

    private BinaryTrees() {
    }
}
