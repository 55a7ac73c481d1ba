// SPDX-License-Identifier: Apache-2.0

import java.io.BufferedOutputStream;
import java.io.FileOutputStream;
import java.io.FileDescriptor;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;

/**
 * Runs generated programs one after the other, {@code Differ NAME...}, and is what they print and
 * hash with. Nothing here depends on the machine: no identity, no time, no names of hidden classes.
 */
public final class Differ {
    /** What has state of its own that counts. */
    public interface Hashed {
        long hashed(int depth);
    }

    private static final int FRAMES_MAX = 40;
    private static PrintStream out;
    private static volatile Object garbage;

    private Differ() {}

    public static void main(String[] names) throws Exception {
        out = new PrintStream(new BufferedOutputStream(new FileOutputStream(FileDescriptor.out)));
        Thread other = new Thread(Differ::litter);
        other.setDaemon(true);
        other.start();
        for (String name : names) {
            line("== " + name);
            // The part that ends the process is known by the last name.
            out.flush();
            try {
                Class.forName(name).getMethod("run").invoke(null);
            } catch (InvocationTargetException wrapped) {
                line("ended by " + described(wrapped.getCause()));
            }
        }
        line("== all");
        out.flush();
    }

    /** Keeps the collector at work beside the programs. */
    private static void litter() {
        Object[] kept = new Object[16];
        for (int turn = 0; ; turn++) {
            kept[turn & 15] = new Object[] {new byte[20_000], kept[(turn + 1) & 15]};
            if ((turn & 63) == 63) {
                kept = new Object[16];
            }
            garbage = kept;
            try {
                Thread.sleep(0, 200_000);
            } catch (InterruptedException e) {
                return;
            }
        }
    }

    /** So long that the machine may look whether a method wins by new code. */
    public static void pause() throws InterruptedException {
        Thread.sleep(2);
    }

    public static void line(String text) {
        out.print(text);
        out.print('\n');
    }

    /** What one call gave. */
    public static void gave(String what, int turn, long hash) {
        line(what + " " + turn + " gave " + Long.toHexString(hash));
    }

    public static void threw(String what, int turn, Throwable thrown) {
        line(what + " " + turn + " threw " + described(thrown));
    }

    /** Class, message and the frames of generated methods. */
    private static String described(Throwable thrown) {
        StringBuilder text = new StringBuilder(thrown.getClass().getName());
        text.append(" <<").append(message(thrown)).append(">>");
        frames(thrown, text);
        Throwable cause = thrown.getCause();
        return cause == null ? text.toString() : text + " by " + described(cause);
    }

    /** Loaders have other names elsewhere. */
    private static String message(Throwable thrown) {
        String message = thrown.getMessage();
        int end = message == null ? -1 : message.indexOf(" (");
        return thrown instanceof ClassCastException && end >= 0
                ? message.substring(0, end)
                : message;
    }

    private static void frames(Throwable thrown, StringBuilder text) {
        int left = FRAMES_MAX;
        for (StackTraceElement frame : thrown.getStackTrace()) {
            String name = frame.getClassName();
            String method = frame.getMethodName();
            // D8 makes classes and methods of lambdas.
            boolean isMade = method.startsWith("$r8$") || name.matches(".*\\$\\d+");
            if (!name.startsWith("P") || name.contains("$$") || isMade) {
                continue;
            }
            if (left-- == 0) {
                return;
            }
            method = method.startsWith("lambda$") ? "lambda" : method;
            text.append(' ').append(name.substring(name.indexOf('$') + 1)).append('.');
            text.append(method).append(':').append(frame.getLineNumber());
        }
    }

    /** An exception that was caught, as a number. Messages of null references quote bytecode. */
    public static int note(Throwable thrown) {
        StringBuilder text = new StringBuilder(thrown.getClass().getName());
        if (!(thrown instanceof NullPointerException)) {
            text.append(message(thrown));
        }
        frames(thrown, text);
        return text.toString().hashCode();
    }

    /** Strings grow no further. */
    public static String cut(String text) {
        return text == null || text.length() <= 24 ? text : text.substring(0, 24);
    }

    public static long hash(int value) {
        return value;
    }

    public static long hash(long value) {
        return value;
    }

    public static long hash(float value) {
        return Float.floatToIntBits(value);
    }

    public static long hash(double value) {
        return Double.doubleToLongBits(value);
    }

    public static long hash(boolean value) {
        return value ? 1231 : 1237;
    }

    public static long hash(Object value) {
        return hash(value, 3);
    }

    public static long hash(Object value, int depth) {
        if (value == null) {
            return 17;
        }
        if (value instanceof Hashed hashed) {
            return depth == 0 ? 19 : hashed.hashed(depth - 1);
        }
        if (value instanceof Double number) {
            return hash(number.doubleValue());
        }
        if (value instanceof Float number) {
            return hash(number.floatValue());
        }
        if (value instanceof Number || value instanceof String || value instanceof Character
                || value instanceof Boolean) {
            return value.hashCode();
        }
        if (value instanceof Throwable thrown) {
            return note(thrown);
        }
        long sum = value.getClass().getName().hashCode();
        if (value.getClass().isArray()) {
            int length = java.lang.reflect.Array.getLength(value);
            for (int i = 0; i < length && depth > 0; i++) {
                sum = sum * 31 + hash(java.lang.reflect.Array.get(value, i), depth - 1);
            }
        }
        return sum;
    }
}
