// SPDX-License-Identifier: Apache-2.0
import javax.realtime.PriorityParameters;
import javax.realtime.RealtimeThread;

/**
 * Calls by an interface whose receivers are of one class while they are counted, and of others
 * later. The first argument is how long they are of one at most, in milliseconds; a byte of input
 * ends it early. The second says which thread calls: {@code ordinary}, {@code realtime}, that one
 * after an ordinary one ({@code after}), or {@code late}, which no one foresees.
 */
public final class Counted {
    interface Shape {
        int area(int scale);

        /** The body of a default method, with a call of its own. */
        default int twice(int scale) {
            return 2 * area(scale);
        }
    }

    record Square(int side) implements Shape {
        @Override
        public int area(int scale) {
            if (side < 0) {
                throw new IllegalStateException("no square of " + side);
            }
            return side * side * scale;
        }
    }

    /** Loaded when code rests on there being squares alone. */
    record Other(int one, int two) implements Shape {
        @Override
        public int area(int scale) {
            return one * two * scale;
        }

        @Override
        public int twice(int scale) {
            return 7;
        }
    }

    private static int step(Shape[] shapes, int scale) {
        int sum = 0;
        for (Shape shape : shapes) {
            sum = sum * 31 + shape.area(scale) + shape.twice(scale);
        }
        return sum;
    }

    private static int expected(int[] areas, int scale) {
        int sum = 0;
        for (int area : areas) {
            sum = sum * 31 + area * scale + (area == 6 ? 7 : 2 * area * scale);
        }
        return sum;
    }

    private static void check(boolean isRight, Object what) {
        if (!isRight) {
            throw new AssertionError(what);
        }
    }

    private static void others() {
        Shape[] mixed = {new Square(2), new Other(2, 3), new Square(3), new Other(2, 3)};
        check(step(mixed, 3) == expected(new int[] {4, 6, 9, 6}, 3), "of two classes");
        try {
            step(new Shape[] {new Square(2), new Square(-1)}, 1);
            check(false, "nothing thrown");
        } catch (IllegalStateException e) {
            StackTraceElement[] frames = e.getStackTrace();
            check(frames[0].getMethodName().equals("area"), frames[0]);
            check(frames[0].getClassName().equals("Counted$Square"), frames[0]);
            check(frames[1].getMethodName().equals("step"), frames[1]);
            check(frames[2].getMethodName().equals("others"), frames[2]);
        }
        try {
            step(new Shape[] {new Square(1), null}, 1);
            check(false, "null was called");
        } catch (NullPointerException e) {
            check(e.getMessage().contains("area(int)"), e.getMessage());
            check(e.getStackTrace()[0].getMethodName().equals("step"), e.getStackTrace()[0]);
        }
    }

    private static void squares(String millis) throws Exception {
        Shape[] squares = {new Square(2), new Square(3), new Square(4)};
        int[] areas = {4, 9, 16};
        long end = System.nanoTime() + Long.parseLong(millis) * 1_000_000;
        for (int scale = 0; System.in.available() == 0 && System.nanoTime() < end; scale++) {
            for (int i = 0; i < 20; i++) {
                check(step(squares, scale) == expected(areas, scale), scale);
            }
            Thread.sleep(1);
        }
    }

    /** What the real-time thread does. */
    static final class Foreseen implements Runnable {
        @Override
        public void run() {
            Shape[] squares = {new Square(2), new Square(5)};
            for (int scale = 0; scale < 2000; scale++) {
                check(step(squares, scale) == expected(new int[] {4, 25}, scale), scale);
            }
        }
    }

    /** The same, loaded when the thread runs. */
    static final class Late implements Runnable {
        @Override
        public void run() {
            Shape[] squares = {new Square(3)};
            check(step(squares, 2) == expected(new int[] {9}, 2), "late");
        }
    }

    private static volatile Runnable work;

    private static void inRealTime(boolean isLate) throws InterruptedException {
        work = isLate ? null : new Foreseen();
        boolean[] isDone = new boolean[1];
        RealtimeThread thread = new RealtimeThread(new PriorityParameters(80)) {
            @Override
            public void run() {
                try {
                    while (work == null) {
                        Thread.sleep(1);
                    }
                } catch (InterruptedException e) {
                    return;
                }
                work.run();
                isDone[0] = true;
            }
        };
        thread.start();
        if (isLate) {
            work = new Late();
        }
        thread.join();
        check(isDone[0], "the real-time thread ended early");
    }

    public static void main(String[] args) throws Exception {
        String who = args.length > 1 ? args[1] : "ordinary";
        if (who.equals("ordinary") || who.equals("after")) {
            squares(args[0]);
        }
        if (who.equals("realtime") || who.equals("after")) {
            inRealTime(false);
        }
        if (who.equals("late")) {
            inRealTime(true);
        }
        others();
        System.out.println("right");
    }
}
