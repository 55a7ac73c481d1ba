// SPDX-License-Identifier: Apache-2.0

import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.StringJoiner;
import java.util.TreeMap;
import java.util.stream.Stream;

/**
 * Changes class files, loads what comes out, and says how that went: {@code Mutate DIRECTORY SEED
 * FIRST COUNT}.
 *
 * <p>Each case is made of its seed and number alone. One line per case: its number, the class, what
 * was changed, and {@code accepted} with what its static methods gave, or {@code refused} with the
 * error. A case that does not come to an end ends the process, after its line.
 */
public final class Mutate {
    /** Where the parts of a class file lie. */
    private static final class Layout {
        final byte[] bytes;
        final List<Integer> constants = new ArrayList<>();
        final int accessAt;
        final List<Integer> memberAccess = new ArrayList<>();
        final List<Integer> codes = new ArrayList<>();
        private int at = 8;

        Layout(byte[] bytes) {
            this.bytes = bytes;
            int count = u2();
            constants.add(-1);
            while (constants.size() < count) {
                int start = at;
                constants.add(start);
                int tag = bytes[at++];
                switch (tag) {
                    case 1 -> {
                        int length = u2();
                        at += length;
                    }
                    case 3, 4, 9, 10, 11, 12, 17, 18 -> at += 4;
                    case 5, 6 -> {
                        at += 8;
                        constants.add(-1);
                    }
                    case 15 -> at += 3;
                    default -> at += 2;
                }
            }
            accessAt = at;
            at += 6;
            int interfaces = u2();
            at += 2 * interfaces;
            for (int kind = 0; kind < 2; kind++) {
                for (int members = u2(); members > 0; members--) {
                    memberAccess.add(at);
                    at += 6;
                    attributes();
                }
            }
        }

        private void attributes() {
            for (int count = u2(); count > 0; count--) {
                String name = utf8(u2());
                int length = u4();
                if (name.equals("Code")) {
                    codes.add(at);
                }
                at += length;
            }
        }

        String utf8(int index) {
            int start = constants.get(index);
            return new String(bytes, start + 3, u2At(start + 1));
        }

        int u2At(int place) {
            return (bytes[place] & 255) << 8 | bytes[place + 1] & 255;
        }

        int u4At(int place) {
            return u2At(place) << 16 | u2At(place + 2);
        }

        private int u2() {
            at += 2;
            return u2At(at - 2);
        }

        private int u4() {
            at += 4;
            return u4At(at - 4);
        }

        /**
         * Offsets of the instructions of the code whose attribute's content begins at {@code code}.
         */
        List<Integer> instructions(int code) {
            List<Integer> found = new ArrayList<>();
            int start = code + 8;
            int end = start + u4At(code + 4);
            for (int pc = start; pc < end; pc += length(pc, start)) {
                found.add(pc);
            }
            return found;
        }

        private int length(int pc, int start) {
            int opcode = bytes[pc] & 255;
            int aligned = pc + 4 - (pc - start) % 4;
            return switch (opcode) {
                case 0xaa -> aligned - pc + 12 + 4 * (u4At(aligned + 8) - u4At(aligned + 4) + 1);
                case 0xab -> aligned - pc + 8 + 8 * u4At(aligned + 4);
                default -> LENGTHS.charAt(opcode) - '0';
            };
        }
    }

    /** Bytes of each instruction; switches have their own rule, `wide` is in no victim. */
    private static final String LENGTHS = "1".repeat(16) + "23233" + "22222" + "1".repeat(28) + "22222"
        + "1".repeat(73) + "3" + "1".repeat(20) + "3".repeat(16) + "2" + "00" + "111111" + "3333333" + "55" + "3" + "2"
        + "3" + "11" + "33" + "11" + "4" + "4" + "33" + "55" + "1".repeat(54);

    private static final String[] KINDS = {
        "opcode", "operand", "constant", "branch", "limits", "text", "flags", "handlers", "pool", "nop", "byte", "two",
    };
    private static final int MAJOR_AT = 7;
    private static final byte JAVA_6 = 50;
    private static final int CASES_PER_COLLECTION = 32;
    /** The process's exit code. */
    private static final int ENDED_EARLY = 3;

    private final Random64 random;
    private final byte[] bytes;
    private final Layout layout;

    private Mutate(byte[] bytes, Random64 random) {
        this.random = random;
        this.bytes = bytes.clone();
        layout = new Layout(this.bytes);
    }

    private <T> T any(List<T> list) {
        return list.get(random.below(list.size()));
    }

    private void put2(int place, int value) {
        bytes[place] = (byte) (value >> 8);
        bytes[place + 1] = (byte) value;
    }

    private boolean change(String kind) {
        int code = any(layout.codes);
        int pc = any(layout.instructions(code));
        int opcode = bytes[pc] & 255;
        int length = layout.length(pc, code + 8);
        switch (kind) {
            case "opcode" -> {
                int other = random.below(0xca);
                boolean isSwitch = opcode == 0xaa || opcode == 0xab || other == 0xaa || other == 0xab;
                if (isSwitch || LENGTHS.charAt(other) - '0' != length) {
                    return false;
                }
                bytes[pc] = (byte) other;
            }
            case "operand" -> {
                if (length != 2 && opcode != 0x84) {
                    return false;
                }
                bytes[pc + 1] = (byte) (random.below(4) == 0 ? random.below(256) : random.below(8));
            }
            case "constant" -> {
                boolean isConstant = length >= 3 && (opcode == 0x13 || opcode == 0x14 || opcode >= 0xb2 && opcode <= 0xc5);
                if (!isConstant) {
                    return false;
                }
                put2(pc + 1, random.below(layout.constants.size()));
            }
            case "branch" -> {
                boolean isBranch = opcode >= 0x99 && opcode <= 0xa7 || opcode == 0xc6 || opcode == 0xc7;
                if (!isBranch) {
                    return false;
                }
                int target = random.below(8) == 0 ? pc + random.below(64) - 32 : any(layout.instructions(code));
                put2(pc + 1, target - pc);
            }
            case "limits" -> put2(code + 2 * random.below(2), random.below(8));
            case "text" -> {
                int constant = any(layout.constants);
                if (constant < 0 || bytes[constant] != 1 || layout.u2At(constant + 1) == 0) {
                    return false;
                }
                int place = constant + 3 + random.below(layout.u2At(constant + 1));
                bytes[place] = (byte) "()[;/IJDFLVZBCS<>.aA\0".charAt(random.below(21));
            }
            case "flags" -> {
                int place = random.below(4) == 0 ? layout.accessAt : any(layout.memberAccess);
                put2(place, layout.u2At(place) ^ 1 << random.below(16));
            }
            case "handlers" -> {
                int table = code + 8 + layout.u4At(code + 4);
                int count = layout.u2At(table);
                if (count == 0) {
                    return false;
                }
                int field = random.below(4);
                int value = field < 3 ? any(layout.instructions(code)) - code - 8 : random.below(layout.constants.size());
                put2(table + 2 + 8 * random.below(count) + 2 * field, value);
            }
            case "pool" -> {
                int constant = any(layout.constants);
                if (constant < 0) {
                    return false;
                }
                if (random.below(4) == 0) {
                    bytes[constant] = (byte) random.below(21);
                } else if (bytes[constant] > 6) {
                    put2(constant + 1 + 2 * random.below(bytes[constant] < 9 ? 1 : 2), random.below(layout.constants.size()));
                } else {
                    return false;
                }
            }
            case "nop" -> Arrays.fill(bytes, pc, pc + length, (byte) 0);
            case "byte" -> bytes[8 + random.below(bytes.length - 8)] = (byte) random.below(256);
            default -> {
                return change(KINDS[random.below(KINDS.length - 1)]) && change(KINDS[random.below(KINDS.length - 1)]);
            }
        }
        return true;
    }

    /** Defines the changed class, and the other victims as they were. */
    private static final class Loader extends ClassLoader {
        private final Map<String, byte[]> originals;

        Loader(Map<String, byte[]> originals) {
            super(ClassLoader.getPlatformClassLoader());
            this.originals = originals;
        }

        Class<?> define(byte[] bytes) {
            return defineClass(null, bytes, 0, bytes.length);
        }

        @Override
        protected Class<?> findClass(String name) throws ClassNotFoundException {
            byte[] original = originals.get(name);
            if (original == null) {
                throw new ClassNotFoundException(name);
            }
            return define(original);
        }
    }

    private static String load(byte[] bytes, Map<String, byte[]> originals) {
        try {
            Class<?> type = new Loader(originals).define(bytes);
            Class.forName(type.getName(), true, type.getClassLoader());
            return "accepted " + calls(type);
        } catch (Throwable e) {
            return (e instanceof LinkageError ? "refused " : "threw ") + e.getClass().getName()
                + (Boolean.getBoolean("verbose") ? ": " + String.valueOf(e.getMessage()).lines().limit(4).toList() : "");
        }
    }

    private static String calls(Class<?> type) {
        StringJoiner results = new StringJoiner(" ");
        Method[] methods = type.getDeclaredMethods();
        Arrays.sort(methods, (one, other) -> one.toString().compareTo(other.toString()));
        for (Method method : methods) {
            if (Modifier.isStatic(method.getModifiers())) {
                results.add(call(method));
            }
        }
        return results.toString();
    }

    private static String call(Method method) {
        Class<?>[] types = method.getParameterTypes();
        Object[] arguments = new Object[types.length];
        for (int i = 0; i < types.length; i++) {
            arguments[i] = types[i] == int.class ? (Object) 3 : types[i] == long.class ? (Object) 5L
                : types[i] == float.class ? (Object) 2.5f : types[i] == double.class ? (Object) 0.75 : null;
        }
        try {
            method.setAccessible(true);
            Object result = method.invoke(null, arguments);
            boolean isPlain = result == null || result instanceof Number || result instanceof String;
            return isPlain ? String.valueOf(result).replace(' ', '_') : result.getClass().getName();
        } catch (InvocationTargetException e) {
            return e.getCause().getClass().getSimpleName();
        } catch (IllegalArgumentException e) {
            return "arguments";
        } catch (Throwable e) {
            return e.getClass().getSimpleName();
        }
    }

    private static Map<String, byte[]> originals(Path directory) throws IOException {
        try (Stream<Path> files = Files.list(directory)) {
            Map<String, byte[]> originals = new TreeMap<>();
            for (Path path : files.toList()) {
                String file = path.getFileName().toString();
                if (file.startsWith("Victims") && file.endsWith(".class")) {
                    originals.put(file.substring(0, file.length() - ".class".length()), Files.readAllBytes(path));
                }
            }
            return originals;
        }
    }

    public static void main(String[] args) throws Exception {
        try {
            run(args);
        } catch (OutOfMemoryError e) {
            // What a case left in its statics is there for good where classes are: a new process
            // has room.
            Runtime.getRuntime().halt(ENDED_EARLY);
        }
    }

    private static void run(String[] args) throws Exception {
        Map<String, byte[]> originals = originals(Path.of(args[0]));
        // The class around them has no code worth changing.
        List<byte[]> victims = originals.entrySet().stream()
            .filter(it -> it.getKey().contains("$")).map(Map.Entry::getValue).toList();
        long seed = Long.parseLong(args[1]);
        int first = Integer.parseInt(args[2]);
        int count = Integer.parseInt(args[3]);
        PrintStream out = System.out;
        // A case may find its way to standard output.
        System.setOut(new PrintStream(OutputStream.nullOutputStream()));
        for (int number = first; number < first + count; number++) {
            Random64 random = new Random64(seed * 1_000_003 + number);
            int victim = random.below(victims.size());
            String kind;
            Mutate mutate;
            do {
                kind = KINDS[random.below(KINDS.length)];
                mutate = new Mutate(victims.get(victim), random);
            } while (!changes(mutate, kind));
            String[] outcome = {"loops"};
            byte[] bytes = mutate.bytes;
            if (number % 2 == 1) {
                // Before Java 7 no stack map is needed, so more changed code gets as far as to run.
                bytes[MAJOR_AT] = JAVA_6;
            }
            if (args.length > 4) {
                Files.write(Path.of(args[4]), bytes);
            }
            Thread thread = new Thread(() -> outcome[0] = load(bytes, originals));
            thread.setDaemon(true);
            thread.start();
            thread.join(2_000);
            out.println(number + " " + victim + " " + kind + " " + outcome[0]);
            out.flush();
            // What it left in its statics may fill the heap for good, where classes are for good.
            if (thread.isAlive() || outcome[0].contains("OutOfMemoryError")) {
                System.exit(ENDED_EARLY);
            }
            if (number % CASES_PER_COLLECTION == 0) {
                // Code that wrote where it may not is more likely to be found.
                System.gc();
            }
        }
        System.exit(0);
    }

    /** A first change may make a second one miss what it looks for. */
    private static boolean changes(Mutate mutate, String kind) {
        try {
            return mutate.change(kind);
        } catch (IndexOutOfBoundsException e) {
            return false;
        }
    }
}
