// SPDX-License-Identifier: Apache-2.0
import java.util.ArrayList;
import java.util.List;

/** Objects between `new` and the end of their constructor, and what their fields hold by then. */
public class Made {
    static class Node {
        Node left;
        Node right;
        int number;
        long wide;
        volatile Node shared;

        Node(Node left, Node right) {
            this.left = left;
            this.right = right;
        }

        Node(int number) {
            this.left = null;
            this.number = number;
            this.number = 0;
            this.wide = 0L;
        }

        int count() {
            int sum = number;
            sum += left == null ? 1 : left.count();
            return right == null ? sum : sum + right.count();
        }
    }

    /** Zero is stored after another name of the object was used for something else. */
    static class Holder {
        Node held;
    }

    static int otherName() {
        Holder holder = new Holder();
        Node node = new Node(null, null);
        holder.held = node;
        Node same = holder.held;
        same.number = 5;
        same.left = node;
        node.number = 0;
        node.left = null;
        return same.number + (same.left == null ? 10 : 20);
    }

    static void fill(Node node) {
        node.number = 7;
        node.right = node;
    }

    static int afterCall() {
        Node node = new Node(3);
        fill(node);
        node.number = 0;
        node.right = null;
        return node.number + (node.right == null ? 100 : 200);
    }

    static int written;

    static int note(int number) {
        written = written * 10 + number;
        return number;
    }

    static class Noted {
        static {
            note(9);
        }

        final int sum;

        Noted(int one, int other) {
            sum = note(one) * 100 + note(other);
        }
    }

    static class Refusing extends Node {
        Refusing(int number) {
            super(number);
            if (number < 0) {
                throw new IllegalArgumentException("number " + number);
            }
        }
    }

    static int fail(int number) {
        if (number > 0) {
            throw new IllegalStateException("argument " + number);
        }
        return number;
    }

    static String failing(int number) {
        try {
            return "made " + new Refusing(fail(number)).number;
        } catch (IllegalStateException | IllegalArgumentException e) {
            StackTraceElement top = e.getStackTrace()[0];
            return e.getMessage() + " in " + top.getMethodName() + ":" + top.getLineNumber();
        }
    }

    static Node tree(int depth) {
        return depth == 0 ? new Node(null, null) : new Node(tree(depth - 1), tree(depth - 1));
    }

    /** A loop keeps the object of the round before. */
    static int rounds(int count) {
        Node before = null;
        int sum = 0;
        for (int i = 0; i < count; i++) {
            Node now = new Node(before, new Node(new Node(i), null));
            now.number = i;
            if (before != null && before.number != i - 1) {
                throw new AssertionError("round " + i);
            }
            before = i % 50 == 0 ? null : now;
            sum += now.right.left.number + now.number;
        }
        return sum + (before == null ? 0 : before.count());
    }

    static int shared() {
        Node node = new Node(1);
        node.shared = null;
        node.shared = node;
        node.shared = null;
        return node.shared == null ? 1 : 2;
    }

    /** What is stored while garbage is collected is there afterwards. */
    static int kept() {
        List<Node> all = new ArrayList<>();
        int sum = 0;
        for (int i = 0; i < 60_000; i++) {
            Node left = new Node(i);
            Node right = new Node(left, tree(2));
            Node node = new Node(right, new Node(tree(1), left));
            node.left.number = i;
            all.add(node);
            if (all.size() > 2_000) {
                all = new ArrayList<>(all.subList(1_000, all.size()));
            }
        }
        for (Node node : all) {
            if (node.left.left != node.right.right) {
                throw new AssertionError("two names of one");
            }
            sum = sum * 31 + node.count();
        }
        return sum;
    }

    public static void main(String[] args) {
        for (int i = 0; i < 3; i++) {
            System.out.println(otherName() + " " + afterCall() + " " + shared());
            written = 0;
            System.out.println(new Noted(note(1), note(2)).sum + " " + written);
            System.out.println(failing(1) + ", " + failing(-1) + ", " + failing(0));
            System.out.println(tree(9).count() + " " + rounds(1_000) + " " + kept());
        }
    }
}
