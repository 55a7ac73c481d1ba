// SPDX-License-Identifier: Apache-2.0

import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;

/**
 * Classes whose code was changed after javac, all of which verify: locks that are not given back
 * where they were taken, and writes to fields that became final.
 */
public class Structured {
    private static final int MONITOR_ENTER = 0xc2;
    private static final int MONITOR_EXIT = 0xc3;
    private static final int POP = 0x57;
    private static final int FINAL = 0x10;
    private static final byte JAVA_8 = 52;

    static class Plain {
        static int run(Object lock) {
            int sum = 1;
            synchronized (lock) {
                sum += lock.toString().length();
            }
            return sum;
        }
    }

    static class Throwing {
        static int run(Object lock) {
            synchronized (lock) {
                return (Integer) lock;
            }
        }
    }

    static class Handled {
        static String run(Object lock) {
            try {
                synchronized (lock) {
                    lock.toString();
                }
                return "returned";
            } catch (IllegalMonitorStateException e) {
                return "caught, holds " + Thread.holdsLock(lock);
            }
        }
    }

    static class Loops {
        static int run(Object lock) {
            int sum = 0;
            for (int i = 0; i < 1000; i++) {
                synchronized (lock) {
                    sum += i;
                }
            }
            for (int i = 0; i < 1000; i++) {
                synchronized (lock) {
                    sum -= i;
                }
            }
            return sum;
        }
    }

    static class Own {
        synchronized int own(int n) {
            synchronized (this) {
                n++;
            }
            return n;
        }

        static int run(Object lock) {
            Own own = new Own();
            try {
                return own.own(1);
            } finally {
                System.out.print(Thread.holdsLock(own) + " ");
            }
        }
    }

    static class Two {
        static String run(Object lock) {
            String text = "two";
            synchronized (text) {
                synchronized (lock) {
                    text.length();
                }
            }
            return text;
        }
    }

    static class Fields {
        int number = 1;
        static int total = 2;
        Object any;

        Fields() {
            any = "any";
        }

        Fields(int total) {
            Fields.total = total;
        }

        static String run(Object lock) {
            Fields fields = new Fields();
            String outcome = "";
            for (int turn = 0; turn < 2; turn++) {
                outcome += attempt(() -> fields.number = 5) + attempt(() -> fields.own(6)) + attempt(() -> total = 7)
                    + attempt(() -> new Fields(8)) + attempt(() -> Other.write(fields)) + attempt(() -> Other.write(9));
            }
            return outcome + fields.number + total + fields.any;
        }

        void own(int number) {
            this.number = number;
        }

        static String attempt(Runnable act) {
            try {
                act.run();
                return "written\n";
            } catch (IllegalAccessError e) {
                return e.getMessage() + "\n";
            }
        }
    }

    static class Other {
        static void write(Fields fields) {
            fields.any = null;
        }

        static void write(int total) {
            Fields.total = total;
        }
    }

    /** Defines the changed class, and Other beside it; everything else comes from its parent. */
    static class Changed extends ClassLoader {
        private final String name;
        private final byte[] bytes;

        Changed(Class<?> type, byte[] bytes) {
            super(Structured.class.getClassLoader());
            name = type.getName();
            this.bytes = bytes;
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            Class<?> loaded = findLoadedClass(name);
            if (loaded != null || !name.equals(this.name) && !name.endsWith("$Other")) {
                return loaded != null ? loaded : super.loadClass(name, resolve);
            }
            byte[] code = name.equals(this.name) ? bytes : read(Other.class);
            return defineClass(name, code, 0, code.length);
        }
    }

    static byte[] read(Class<?> type) {
        String file = type.getName().replace('.', '/') + ".class";
        try (InputStream in = type.getClassLoader().getResourceAsStream(file)) {
            return in.readAllBytes();
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    /** Where javac put an operation on a monitor: behind a local's load or store. */
    static List<Integer> places(byte[] code, int operation) {
        int first = operation == MONITOR_ENTER ? 0x4b : 0x2a;
        int wide = operation == MONITOR_ENTER ? 0x3a : 0x19;
        List<Integer> places = new ArrayList<>();
        for (int at = 3; at < code.length; at++) {
            int before = code[at - 1] & 0xff;
            boolean isShort = before >= first && before < first + 4;
            boolean isWide = (code[at - 2] & 0xff) == wide && before < 8;
            if ((code[at] & 0xff) == operation && (isShort || isWide)) {
                places.add(at);
            }
        }
        return places;
    }

    /** With the {@code which}th such operation made another one. */
    static byte[] with(byte[] code, int operation, int which, int other) {
        byte[] changed = code.clone();
        changed[places(code, operation).get(which)] = (byte) other;
        return changed;
    }

    /** With all fields final. */
    static byte[] withFinalFields(byte[] code) {
        byte[] changed = code.clone();
        int at = 10;
        for (int count = u2(code, 8) - 1; count > 0; count--) {
            int tag = code[at++];
            at += switch (tag) {
                case 1 -> 2 + u2(code, at);
                case 7, 8, 16, 19, 20 -> 2;
                case 15 -> 3;
                default -> 4;
            };
        }
        at += 8 + 2 * u2(code, at + 6);
        for (int count = u2(code, at - 2 + 2); count > 0; count--) {
            changed[at + 3] |= FINAL;
            at += 8;
        }
        return changed;
    }

    static int u2(byte[] code, int at) {
        return (code[at] & 0xff) << 8 | code[at + 1] & 0xff;
    }

    static void run(String what, Class<?> type, byte[] bytes, boolean isHeld) throws Exception {
        Method run = new Changed(type, bytes).loadClass(type.getName()).getDeclaredMethod("run", Object.class);
        run.setAccessible(true);
        for (int turn = 0; turn < 3; turn++) {
            Object lock = new Object() {
                @Override
                public String toString() {
                    return "lock";
                }
            };
            String outcome;
            if (isHeld) {
                synchronized (lock) {
                    outcome = call(run, lock) + ", inside " + Thread.holdsLock(lock);
                }
            } else {
                outcome = call(run, lock);
            }
            Thread other = new Thread(() -> {
                synchronized (lock) {
                    System.out.print("free ");
                }
            });
            System.out.print(what + ": " + outcome + ", after " + Thread.holdsLock(lock) + " ");
            other.start();
            other.join();
            System.out.println();
        }
    }

    static String call(Method run, Object lock) throws Exception {
        try {
            return String.valueOf(run.invoke(null, lock));
        } catch (InvocationTargetException e) {
            return e.getCause().getClass() + " " + (e.getCause() instanceof IllegalMonitorStateException ? e.getCause().getMessage() : "");
        }
    }

    public static void main(String[] args) throws Exception {
        byte[] plain = read(Plain.class);
        run("as it was", Plain.class, plain, false);
        run("left", Plain.class, with(plain, MONITOR_EXIT, 0, POP), false);
        run("left, held outside", Plain.class, with(plain, MONITOR_EXIT, 0, POP), true);
        run("taken twice", Plain.class, with(plain, MONITOR_EXIT, 0, MONITOR_ENTER), false);
        // javac's handlers cover themselves: one that may not give back what it has would go round
        // for ever.
        byte[] untaken = with(with(plain, MONITOR_EXIT, 1, POP), MONITOR_ENTER, 0, POP);
        run("another's", Plain.class, untaken, true);
        run("nobody's", Plain.class, untaken, false);
        byte[] throwing = read(Throwing.class);
        run("thrown", Throwing.class, throwing, false);
        run("left by a throw", Throwing.class, with(throwing, MONITOR_EXIT, 1, POP), false);
        byte[] handled = read(Handled.class);
        run("handled", Handled.class, with(handled, MONITOR_EXIT, 0, POP), false);
        byte[] loops = read(Loops.class);
        run("two loops", Loops.class, with(with(loops, MONITOR_EXIT, 0, POP), MONITOR_ENTER, 1, POP), false);
        run("one loop", Loops.class, with(loops, MONITOR_EXIT, 0, POP), false);
        byte[] own = read(Own.class);
        run("own", Own.class, with(with(own, MONITOR_EXIT, 1, POP), MONITOR_ENTER, 0, POP), false);
        run("own, left", Own.class, with(own, MONITOR_EXIT, 0, POP), false);
        byte[] two = read(Two.class);
        run("inner", Two.class, with(two, MONITOR_EXIT, 0, POP), false);
        byte[] fields = withFinalFields(read(Fields.class));
        run("final", Fields.class, fields, false);
        fields[7] = JAVA_8;
        run("final, before Java 9", Fields.class, fields, false);
    }
}
