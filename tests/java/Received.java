// SPDX-License-Identifier: Apache-2.0
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedList;
import java.util.List;
import java.util.Map;

/** Calls by an interface, or of overridden methods, whose receiver's class is known or likely. */
public class Received {
    interface Shape {
        int sides();

        default int twice() {
            return 2 * sides();
        }
    }

    static class Square implements Shape {
        int times;

        @Override
        public int sides() {
            times++;
            return 4;
        }
    }

    static class Odd extends Square {
        @Override
        public int sides() {
            return super.sides() + 1;
        }

        @Override
        public int twice() {
            return 7;
        }
    }

    /** Its fields hold what the constructor makes, until somebody stores something else. */
    static class Holder {
        static List<Integer> shared = new ArrayList<>();
        List<Integer> list = new ArrayList<>();
        Shape shape = new Square();
        Map<String, Integer> map;
        Square one;

        Holder(boolean isTree) {
            map = isTree ? new java.util.TreeMap<>() : new HashMap<>();
            one = new Odd();
        }

        List<Integer> list() {
            return list;
        }
    }

    static int sum(Holder holder) {
        int sum = 0;
        for (int element : holder.list) {
            sum = sum * 31 + element;
        }
        for (int element : holder.list()) {
            sum = sum * 31 + element;
        }
        return sum + holder.list.size();
    }

    static int shapes(Holder holder) {
        int sum = 0;
        for (int i = 0; i < 3; i++) {
            sum = sum * 10 + holder.shape.sides() + holder.shape.twice() + holder.one.sides();
        }
        return sum;
    }

    /** The variable holds objects of two classes, by turns. */
    static int byTurns(int rounds) {
        Shape shape = new Square();
        int sum = 0;
        for (int i = 0; i < rounds; i++) {
            sum = sum * 3 + shape.sides() + shape.twice();
            if (i % 2 == 0) {
                shape = new Odd();
            } else {
                shape = new Square();
            }
        }
        return sum;
    }

    static Shape made(boolean isOdd) {
        return isOdd ? new Odd() : new Square();
    }

    static Square square() {
        return new Square();
    }

    static int results() {
        int sum = 0;
        for (int i = 0; i < 4; i++) {
            Square square = square();
            sum = sum * 5 + made(i % 2 == 0).sides() + square.sides() + square.twice() + square.times;
        }
        return sum;
    }

    /** What a handler finds in a variable may be either object. */
    static int caught(int at) {
        Shape shape = new Square();
        try {
            int one = 12 / (at - 1);
            shape = new Odd();
            int two = 12 / (at - 2);
            return one + two;
        } catch (ArithmeticException thrown) {
            return shape.sides() * 10 + shape.twice();
        }
    }

    static int emptied(List<Integer> list) {
        Iterator<Integer> each = list.iterator();
        int sum = 0;
        while (each.hasNext()) {
            int element = each.next();
            if (element % 2 == 0) {
                each.remove();
            }
            sum += element;
        }
        return sum * 100 + list.size();
    }

    static void changed(Holder holder) {
        for (int element : holder.list) {
            if (element == 2) {
                holder.list.add(9);
            }
        }
    }

    static int counted(Holder holder, String... words) {
        for (String word : words) {
            Integer known = holder.map.get(word);
            holder.map.put(word, known == null ? 1 : known + 1);
        }
        int sum = 0;
        for (Map.Entry<String, Integer> entry : holder.map.entrySet()) {
            sum += entry.getKey().length() * 100 + entry.getValue();
        }
        return sum;
    }

    static void attempt(String what, Runnable body) {
        try {
            body.run();
            System.out.println(what + ": nothing thrown");
        } catch (RuntimeException thrown) {
            System.out.println(what + ": " + thrown.getClass().getName());
            for (StackTraceElement element : thrown.getStackTrace()) {
                // D8 makes classes of lambdas.
                boolean isOwn = element.getClassName().equals("Received");
                if (isOwn && !element.getMethodName().startsWith("lambda")
                        || element.getClassName().startsWith("java.util.ArrayList")) {
                    System.out.println("  " + element.getClassName() + "." + element.getMethodName());
                }
            }
        }
    }

    static void round(Holder holder) {
        System.out.println(sum(holder) + " " + shapes(holder) + " " + byTurns(5) + " " + results());
        System.out.println(caught(1) + " " + caught(2) + " " + caught(3));
        System.out.println(counted(holder, "a", "bc", "a", "def"));
        int shared = 0;
        for (int element : Holder.shared) {
            shared = shared * 7 + element;
        }
        System.out.println(shared);
    }

    public static void main(String[] args) {
        Holder holder = new Holder(false);
        holder.list.addAll(List.of(1, 2, 3, 4));
        Holder.shared.addAll(List.of(5, 6));
        for (int i = 0; i < 3; i++) {
            round(holder);
        }
        attempt("changed", () -> changed(holder));
        attempt("past the end", () -> {
            Iterator<Integer> each = holder.list.iterator();
            while (true) {
                each.next();
            }
        });
        System.out.println(emptied(holder.list) + " " + emptied(new LinkedList<>(List.of(2, 3, 4))));
        // Other classes than the constructors make.
        holder.list = new LinkedList<>(List.of(7, 8));
        holder.shape = new Odd();
        holder.one = new Square();
        Holder.shared = Arrays.asList(3, 2);
        round(holder);
        holder.list = List.of(1);
        holder.shape = () -> 9;
        Holder.shared = new ArrayList<>(List.of(1, 1)) {
            @Override
            public Iterator<Integer> iterator() {
                return List.of(8, 8, 8).iterator();
            }
        };
        round(holder);
        round(new Holder(true));
        holder.list = null;
        attempt("no list", () -> sum(holder));
        holder.shape = null;
        attempt("no shape", () -> shapes(holder));
        Collection<Integer> all = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            all.add(i % 7);
        }
        int hash = 0;
        for (int i = 0; i < 50; i++) {
            hash = hash * 31 + all.hashCode() + all.size() + (all.contains(i) ? 1 : 0);
        }
        System.out.println(hash);
    }
}
