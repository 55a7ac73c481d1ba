// SPDX-License-Identifier: Apache-2.0
import java.util.List;

/** What a NullPointerException says. */
public class Nulls {
    static class Node {
        Node next;
        int value;
        int[] numbers;
        String[][] names;
        static Node root;

        Node next() {
            return next;
        }

        void link(Node node, long wide, String text) {
            next = node;
        }
    }

    static void say(Runnable action) {
        try {
            action.run();
            System.out.println("nothing thrown");
        } catch (NullPointerException e) {
            System.out.println(e.getMessage());
        }
    }

    static int parameters(Node a, long b, Node c, boolean first) {
        return first ? a.value : c.next.value;
    }

    /** A parameter that was written is none any more, but for what comes before it in the code. */
    static int written(int[] numbers, int[][] rows, int turns) {
        int sum = 0;
        while (sum < turns) {
            sum += rows[sum].length;
            rows = null;
        }
        try {
            numbers = null;
            sum += numbers.length;
        } catch (NullPointerException e) {
            System.out.println(e.getMessage());
            sum += numbers[turns];
        }
        return sum;
    }

    void own(Object[] array, int i) {
        array[i].toString();
    }

    static void byHand() {
        throw new NullPointerException();
    }

    public static void main(String[] args) {
        Node node = new Node();
        Object[] objects = new Object[4];
        say(() -> System.out.println(node.next.value));
        say(() -> node.next.value = 3);
        say(() -> System.out.println(node.next().next().value));
        say(() -> node.next().link(null, 1L, "x"));
        say(() -> System.out.println(node.numbers[2]));
        say(() -> node.numbers[node.value + 1] = 2);
        say(() -> System.out.println(node.numbers.length));
        say(() -> System.out.println(node.names[0][1]));
        say(() -> System.out.println(Node.root.next));
        say(() -> Node.root.numbers[0]++);
        say(() -> parameters(null, 2, node, true));
        say(() -> parameters(null, 2, node, false));
        say(() -> written(null, new int[1][], 1));
        say(() -> written(null, new int[1][4], 5));
        say(() -> written(null, null, 0));
        say(() -> new Nulls().own(objects, 2));
        say(() -> new Nulls().own(null, 2));
        say(() -> System.out.println(((String) objects[3]).length()));
        say(() -> {
            synchronized (objects[1]) {
                System.out.println("in");
            }
        });
        say(() -> {
            throw (RuntimeException) objects[0];
        });
        say(() -> {
            int i = (Integer) objects[0];
        });
        say(() -> {
            double[] doubles = null;
            doubles[0] = 1.5;
        });
        say(() -> {
            byte[] bytes = null;
            long sum = 5;
            sum += bytes[1];
        });
        say(() -> {
            String text = args.length == 0 ? null : "x";
            text.isEmpty();
        });
        say(() -> List.of("a", null));
        say(Nulls::byHand);
        Node last = null;
        last.next();
    }
}
