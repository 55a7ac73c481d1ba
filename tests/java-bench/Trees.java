// SPDX-License-Identifier: Apache-2.0
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Short-lived trees of 2,047 nodes beside others that stay. */
final class Trees {
    private static final int DEPTH = 10;
    private static final int NODES = (2 << DEPTH) - 1;
    /** Two references and an int behind a header. */
    private static final long NODE_BYTES = 24;

    private static final class Node {
        final Node left;
        final Node right;
        final int value;

        Node(Node left, Node right, int value) {
            this.left = left;
            this.right = right;
            this.value = value;
        }
    }

    private Trees() {}

    private static Node make(int depth) {
        return depth == 0 ? new Node(null, null, 1)
                : new Node(make(depth - 1), make(depth - 1), depth);
    }

    private static int sum(Node node) {
        return node == null ? 0 : node.value + sum(node.left) + sum(node.right);
    }

    /** Megabytes that die, and megabytes that stay. Prints a sum, and the process's most memory in
     * KiB. */
    public static void main(String[] words) throws IOException {
        long dying = Long.parseLong(words[0]) * 1_000_000;
        long staying = Long.parseLong(words[1]) * 1_000_000;
        Node[] alive = new Node[(int) (staying / (NODES * NODE_BYTES))];
        for (int i = 0; i < alive.length; i++) {
            alive[i] = make(DEPTH);
        }
        long sum = 0;
        for (long i = dying / (NODES * NODE_BYTES); i > 0; i--) {
            sum += sum(make(DEPTH));
        }
        for (Node tree : alive) {
            sum += sum(tree);
        }
        String most = null;
        for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
            if (line.startsWith("VmHWM:")) {
                most = line.replaceAll("[^0-9]", "");
            }
        }
        System.out.println(sum + " " + most);
    }
}
