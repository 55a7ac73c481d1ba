// SPDX-License-Identifier: Apache-2.0

/** What is read from fields that other names, calls and threads write in between. */
public class Fields {
    private int number;
    private byte small;
    private boolean flag;
    private char letter;
    private short few;
    private long wide;
    private float single;
    private double twice;
    private volatile int seen;
    private Fields next;
    private int[] numbers = {1, 2, 3};
    private static int shared;
    private static Fields first;
    private static volatile int turn;

    interface Act {
        void on(Fields fields);
    }

    static class Other extends Fields {
        private int own = 7;

        @Override
        void change(int by) {
            own += by;
            add(2 * by);
        }

        int own() {
            return own;
        }
    }

    void add(int by) {
        number += by;
    }

    void change(int by) {
        number -= by;
    }

    int get() {
        return number;
    }

    Fields set(int to) {
        number = to;
        return this;
    }

    /** Long enough to be no straight body, and with a branch. */
    int mix(Fields other) {
        if (other.number > 10) {
            other.number = number;
            number = 10;
        } else {
            number++;
        }
        return number + other.number;
    }

    static String aliased(Fields a, Fields b) {
        int one = a.number;
        b.number = one + 1;
        int two = a.number;
        a.number = two + 5;
        int three = b.number;
        b.next = a;
        a.next = b;
        return one + " " + two + " " + three + " " + (b.next == a) + " " + (a.next.next == a);
    }

    String narrow(int value) {
        small = (byte) value;
        letter = (char) value;
        few = (short) value;
        flag = (value & 2) != 0;
        String said = small + " " + (int) letter + " " + few + " " + flag;
        small += 100;
        letter += 65_000;
        few += 30_000;
        return said + " " + small + " " + (int) letter + " " + few;
    }

    String wide(long value) {
        wide = value;
        single = value;
        twice = value;
        wide += wide;
        single *= single;
        twice /= wide;
        return wide + " " + single + " " + twice;
    }

    String called(Fields other) {
        int before = number;
        change(3);
        int behind = number;
        other.change(4);
        int last = number;
        set(20).add(1);
        int set = number;
        int mixed = mix(other);
        return before + " " + behind + " " + last + " " + set + " " + mixed + " " + number + " " + other.number
                + " " + get();
    }

    String acted(Act act) {
        number = 5;
        numbers[0] = number;
        act.on(this);
        int behind = number;
        number++;
        act.on(this);
        return behind + " " + number + " " + numbers[0] + " " + numbers.length;
    }

    static String statics(Fields a) {
        shared = 3;
        first = a;
        a.number = shared;
        first.number++;
        bump();
        shared += first.number;
        first = new Fields();
        return shared + " " + a.number + " " + first.number + " " + first.next;
    }

    static void bump() {
        shared *= 10;
        first.number *= 2;
    }

    String swapped() {
        int kept = numbers[0];
        numbers[0] = numbers[2];
        numbers[2] = kept;
        int[] old = numbers;
        numbers = new int[] {numbers[0], 8};
        numbers[1] += old[1];
        return numbers[0] + " " + numbers[1] + " " + old[2] + " " + numbers.length;
    }

    String branches(int way) {
        number = way;
        if (next != null) {
            next.number = way + 1;
            if (next.next != null) {
                next.next.number++;
                next = next.next;
            }
            number += next.number;
        } else if (number > 2) {
            next = new Fields();
            next.number = number;
        }
        return number + " " + (next == null ? "none" : next.number + " " + (next.next == null));
    }

    String thrown(int at) {
        number = 1;
        try {
            number = 2;
            numbers[at] = 9;
            number = 3;
            next.number = 4;
            number = 5;
        } catch (ArrayIndexOutOfBoundsException | NullPointerException thrown) {
            // What a message says of null is another in DEX code.
            return number + " " + (thrown instanceof NullPointerException ? "null" : thrown.getMessage());
        }
        return number + " " + next.number;
    }

    synchronized String locked(Fields other) {
        number = 1;
        synchronized (other) {
            other.number += number;
        }
        return number + " " + other.number;
    }

    /** Who waits for the other thread sees what it wrote before. */
    static String threads() throws InterruptedException {
        Fields fields = new Fields();
        Thread other = new Thread(() -> {
            for (int i = 1; i <= 200; i++) {
                while (turn != 2 * i - 1) {
                    Thread.onSpinWait();
                }
                fields.number += i;
                fields.next = fields.next == null ? new Fields() : null;
                turn = 2 * i;
            }
        });
        other.start();
        int sum = 0;
        for (int i = 1; i <= 200; i++) {
            int before = fields.number;
            turn = 2 * i - 1;
            while (turn != 2 * i) {
                Thread.onSpinWait();
            }
            sum += fields.number - before;
            fields.seen = fields.number;
        }
        other.join();
        return sum + " " + fields.number + " " + fields.seen + " " + fields.next;
    }

    public static void main(String[] args) throws InterruptedException {
        for (int i = 0; i < 3; i++) {
            Fields a = new Fields();
            Fields b = new Other();
            System.out.println(aliased(a, b) + " / " + aliased(a, a) + " / " + aliased(b, b));
            System.out.println(a.narrow(131 + 40_000 * i) + " / " + b.narrow(-1 - i));
            System.out.println(a.wide(3 + i) + " / " + b.wide(-1L << 40 + i));
            System.out.println(a.called(b) + " / " + b.called(a) + " / " + a.called(a) + " / " + b.called(b));
            System.out.println(a.acted(it -> it.number *= 3) + " / " + b.acted(it -> it.numbers = new int[4]));
            System.out.println(statics(a) + " / " + statics(b));
            System.out.println(a.swapped() + " / " + b.swapped());
            System.out.println(a.branches(i) + " / " + b.branches(3) + " / " + new Fields().branches(2 + i));
            System.out.println(a.thrown(0) + " / " + a.thrown(5) + " / " + new Fields().thrown(i + 1));
            System.out.println(a.locked(b) + " / " + b.locked(b) + " / " + ((Other) b).own());
        }
        System.out.println(threads());
    }
}
