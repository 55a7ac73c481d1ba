// SPDX-License-Identifier: Apache-2.0
import java.lang.invoke.MethodHandles;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/** What is seen of methods whose bodies may stand in place of their calls. */
public class Inlined {
    private static final Object LOCK = new Object();
    private static final int[] NUMBERS = {3, 1, 4, 1, 5};
    private static String nothing;
    private static volatile boolean isSpinning;
    private static volatile boolean isOver;

    /** All of a trace in this file, lines and all. */
    static void show(String what, Throwable thrown) {
        System.out.println(what + ": " + thrown);
        for (StackTraceElement element : thrown.getStackTrace()) {
            System.out.println("  " + element);
        }
        if (thrown.getCause() != null) {
            show("cause", thrown.getCause());
        }
    }

    interface Body {
        void run() throws Exception;
    }

    static void attempt(String what, Body body) {
        try {
            body.run();
            System.out.println(what + ": nothing thrown");
        } catch (Throwable thrown) {
            show(what, thrown);
        }
    }

    static void check(boolean isRight) {
        if (!isRight) {
            throw new IllegalStateException("not right");
        }
    }

    static int divided(int by) {
        return 12 / by;
    }

    static int element(int index) {
        return NUMBERS[index];
    }

    static int length(String text) {
        return text.length();
    }

    static Integer cast(Object object) {
        return (Integer) object;
    }

    static int[] made(int length) {
        return new int[length];
    }

    static void store(Object[] array, Object value) {
        array[0] = value;
    }

    static int outer(int by) {
        int first = middle(by);
        return first + 1;
    }

    static int middle(int by) {

        return inner(by) + 2;
    }

    static int inner(int by) {
        if (by > 100) {
            return 7;
        }
        return divided(by);
    }

    static void throwing() {
        attempt("check", () -> check(false));
        attempt("divided", () -> divided(0));
        attempt("three deep", () -> outer(0));
        attempt("element", () -> element(9));
        attempt("negative", () -> element(-1));
        attempt("cast", () -> cast("text"));
        attempt("made", () -> made(-5));
        attempt("store", () -> store(new String[1], 5));
        attempt("length", () -> length(null));
        attempt("a field's", () -> length(nothing));
        attempt("fine", () -> check(outer(3) + outer(500) == 17 && length("four") == 4));
    }

    /** Variables that a handler reads, set before, in and behind the call. */
    static String handled(int by) {
        int state = 1;
        int result = 50;
        try {
            state = 2;
            result = outer(by);
            state = 3;
            result += element(by);
            state = 4;
        } catch (ArithmeticException e) {
            return "arithmetic " + state + " " + result + " " + e.getStackTrace()[0].getLineNumber();
        } catch (ArrayIndexOutOfBoundsException e) {
            return "bounds " + state + " " + result + " " + e.getMessage();
        } finally {
            state += 10;
            System.out.print("[" + state + "] ");
        }
        return "through " + state + " " + result;
    }

    static int caught(int by) {
        try {
            return divided(by);
        } catch (ArithmeticException e) {
            return -1;
        }
    }

    static int again(int by) {
        try {
            return divided(by);
        } catch (ArithmeticException e) {
            throw new IllegalArgumentException("by " + by, e);
        }
    }

    static int cleaned(List<String> said, int by) {
        try {
            return divided(by);
        } finally {
            said.add("cleaned " + by);
        }
    }

    static void catching() {
        for (int by : new int[] {3, 0, 9, 2}) {
            System.out.println(handled(by));
        }
        System.out.println(caught(0) + " " + caught(6));
        attempt("again", () -> again(0));
        List<String> said = new ArrayList<>();
        attempt("cleaned", () -> cleaned(said, cleaned(said, 12) - 1));
        System.out.println(said);
    }

    static class Shape {
        final int side;
        private final int[] all = new int[2];

        Shape(int side) {
            if (side < 0) {
                throw new IllegalArgumentException("side " + side);
            }
            this.side = side;
            all[side & 1] = side;
        }

        int area() {
            if (side == 13) {
                throw new UnsupportedOperationException("thirteen");
            }
            return side * side;
        }

        final int doubled() {
            return all[side & 1] + area();
        }

        Shape same(Shape other) {
            return other.side == side ? this : other;
        }
    }

    static class Round extends Shape {
        Round(int side) {
            super(side);
        }

        @Override
        int area() {
            if (side == 14) {
                throw new UnsupportedOperationException("fourteen");
            }
            return 3 * super.area();
        }
    }

    static int areas(Shape[] shapes) {
        int sum = 0;
        for (Shape shape : shapes) {
            sum += shape.area();
        }
        return sum;
    }

    static String places(Shape shape) {
        try {
            return "area " + shape.area();
        } catch (UnsupportedOperationException e) {
            StackTraceElement[] trace = e.getStackTrace();
            return trace[0] + " " + trace[1];
        }
    }

    /** The likely callee, then others. */
    static void guessing() {
        Shape[] shapes = {new Shape(2), new Shape(3)};
        System.out.println(areas(shapes) + " " + shapes[0].doubled() + " " + places(shapes[1]));
        attempt("thirteen", () -> areas(new Shape[] {new Shape(13)}));
        System.out.println(places(new Shape(13)));
        // The class comes only now.
        Shape[] mixed = {new Shape(2), new Round(3), new Shape(4)};
        System.out.println(areas(mixed) + " " + mixed[1].doubled() + " " + places(mixed[1]));
        System.out.println(places(new Round(14)) + " " + places(new Round(13)));
        attempt("fourteen", () -> areas(new Shape[] {new Shape(1), new Round(14)}));
        attempt("no shape", () -> areas(new Shape[] {null}));
        attempt("no other", () -> mixed[0].same(null));
        attempt("a constructor", () -> new Round(-1));
        System.out.println(mixed[0].same(mixed[0]) == mixed[0]);
    }

    static class Own extends RuntimeException {
        private static final long serialVersionUID = 1;
        final int code;

        Own(int code) {
            super(code == 0 ? "nothing" : "code " + code);
            this.code = code;
        }
    }

    static Own own(int code) {
        return new Own(code);
    }

    static int shorter(int left) {
        return left == 0 ? 0 : longer(left - 1) + 1;
    }

    static int longer(int left) {
        return left == 0 ? 0 : shorter(left - 1) + 1;
    }

    /** Each frame of the two calls the other one. */
    static void overflowing() {
        try {
            System.out.println(shorter(Integer.MAX_VALUE));
        } catch (StackOverflowError e) {
            StackTraceElement[] trace = e.getStackTrace();
            boolean alternates = trace.length == 1024;
            for (int i = 1; i < trace.length; i++) {
                alternates &= !trace[i].getMethodName().equals(trace[i - 1].getMethodName());
            }
            System.out.println("overflow " + alternates);
        }
        System.out.println(shorter(1000));
    }

    static List<String> walked() {
        return StackWalker.getInstance().walk(frames -> frames
                .map(frame -> frame.getMethodName() + ":" + frame.getLineNumber())
                .collect(Collectors.toList()));
    }

    static List<String> between() {
        return walked();
    }

    static Class<?> caller() {
        return StackWalker.getInstance(StackWalker.Option.RETAIN_CLASS_REFERENCE).getCallerClass();
    }

    static class Other {
        static Class<?> caller() {
            return Inlined.caller();
        }

        static Class<?> looker() {
            return MethodHandles.lookup().lookupClass();
        }

        static Class<?> sought() throws ClassNotFoundException {
            return Class.forName("Inlined$Shape");
        }

        static StackTraceElement[] trace() {
            return Thread.currentThread().getStackTrace();
        }
    }

    static void walking() throws Exception {
        System.out.println(between());
        System.out.println(caller() + " " + Other.caller() + " " + Other.looker() + " " + Other.sought());
        for (StackTraceElement element : Other.trace()) {
            System.out.println("  " + element);
        }
        show("own", own(5));
        attempt("thrown", () -> { throw own(0); });
    }

    static long spun(long sum) {
        isSpinning = true;
        while (!isOver) {
            sum++;
        }
        return sum;
    }

    static void spinning() {
        check(spun(1) > 0);
    }

    /** The frames of a thread that runs in a loop of an inlined body. */
    static void watching() throws InterruptedException {
        Thread thread = new Thread(Inlined::spinning);
        thread.start();
        while (!isSpinning) {
            Thread.onSpinWait();
        }
        StackTraceElement[] trace = thread.getStackTrace();
        isOver = true;
        thread.join();
        for (StackTraceElement element : trace) {
            System.out.println("  " + element.getMethodName());
        }
    }

    static class Link {
        final Link next;
        final byte[] ballast;

        Link(Link next, int bytes) {
            this.next = next;
            this.ballast = new byte[bytes];
        }
    }

    static Link linked(Link last, int count) {
        for (int i = 0; i < count; i++) {
            last = new Link(last, 100);
        }
        return last;
    }

    static int counted(Link link) {
        int count = 0;
        for (; link != null; link = link.next) {
            count += link.ballast.length;
        }
        return count;
    }

    /** References that live in callers across collections in callees. */
    static int kept(int rounds) {
        Link held = linked(null, 100);
        int sum = 0;
        for (int i = 0; i < rounds; i++) {
            Link more = linked(held, 200);
            sum += counted(more) - counted(held);
        }
        return sum + counted(held);
    }

    static double mixed(int small, long wide, float single, double most) {
        small += 2;
        wide *= small;
        return most * wide + single;
    }

    static long chosen(int which, long one, long other) {
        switch (which) {
            case 1:
                return one;
            case 2:
                return other;
            case 7:
                return one + other;
            default:
                return -1;
        }
    }

    static Supplier<String> supplier() {
        return () -> "always the same";
    }

    static void locked() {
        synchronized (LOCK) {
            divided(0);
        }
    }

    static class Late {
        static int made = say();

        static int say() {
            System.out.println("late");
            return 5;
        }

        static int twice() {
            return made * 2;
        }
    }

    static void values() {
        System.out.println(mixed(1, 2, 3, 4) + " " + mixed(-2, 5, 1.5f, 1e10));
        for (int which : new int[] {1, 2, 7, 9}) {
            System.out.print(chosen(which, which, 1L << 40) + " ");
        }
        System.out.println(supplier() == supplier());
        attempt("locked", Inlined::locked);
        System.out.println(Thread.holdsLock(LOCK));
        System.out.println("before");
        System.out.println(Late.twice() + Late.twice());
    }

    /** Its body stands in itself once: lines of every second frame are those of an inlined one. */
    static int down(int left) {
        if (left == 0) {
            return divided(0);
        }
        return left % 2 == 0
                ? down(left - 1) + 1
                : down(left - 1) + 2;
    }

    /** Each call has variables and a handler of its own. */
    static String unwound(int left) {
        int own = left * 10;
        try {
            check(left > 0);
            own++;
            return unwound(left - 1) + " " + own;
        } catch (IllegalStateException e) {
            own++;
            if (left < 3) {
                throw e;
            }
            return "caught in " + left + ", " + own;
        } finally {
            System.out.print("[" + left + " " + own + "] ");
        }
    }

    static int nodes(int depth) {
        return depth == 0 ? 1 : nodes(depth - 1) + nodes(depth - 1) + 1;
    }

    static int endless(int depth) {
        return endless(depth + 1) + 1;
    }

    static void recursion() {
        attempt("recursion", () -> down(5));
        System.out.println(unwound(6));
        System.out.println(nodes(12));
        try {
            endless(0);
        } catch (StackOverflowError e) {
            StackTraceElement[] trace = e.getStackTrace();
            System.out.println(trace.length + " " + trace[0] + " " + trace[trace.length - 1]);
        }
    }

    public static void main(String[] arguments) throws Exception {
        throwing();
        catching();
        recursion();
        guessing();
        overflowing();
        walking();
        watching();
        System.out.println(kept(500));
        values();
    }
}
