// SPDX-License-Identifier: Apache-2.0

import java.io.ByteArrayOutputStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.zip.Adler32;

/**
 * Large methods in DEX code, whose results are computed here: {@code LargeDex UNITS [SHAPE]…}.
 *
 * <p>With {@code -Dfigures} the first call's time and what it takes of memory go to the standard
 * error.
 */
public final class LargeDex {
    private static final int REGISTERS = 65_535;

    /** What the generated code calls. */
    public static final class Base {
        public static int same(int value) {
            if (value % 5 == 3) {
                throw new IllegalStateException();
            }
            return value * 31 + 7;
        }
    }

    /** Strings, types and the like are few and sorted here by hand. */
    private static final String[] STRINGS = {
        "I", "II", "LGenerated;", "LLargeDex$Base;", "Ljava/lang/Object;", "Ljava/lang/RuntimeException;", "[I", "[Ljava/lang/Object;",
        "run", "same",
    };
    private static final int[] TYPES = {0, 2, 3, 4, 5, 6, 7};
    private static final int INTS = 5;
    private static final int OBJECT = 3;
    private static final int OBJECTS = 6;
    private static final int RUNTIME_EXCEPTION = 4;

    /** One method {@code static int run(int)}: the argument is in the last register. */
    private static final class Code {
        final ByteBuffer units = ByteBuffer.allocate(1 << 24).order(ByteOrder.LITTLE_ENDIAN);
        final List<int[]> tries = new ArrayList<>();
        int registers = REGISTERS;
        final int room;

        Code(int room) {
            this.room = room;
        }

        int at() {
            return units.position() / 2;
        }

        int left() {
            return room - at();
        }

        Code unit(int... all) {
            for (int one : all) {
                units.putShort((short) one);
            }
            return this;
        }

        Code four(int value) {
            return unit(value, value >>> 16);
        }

        /** Needs three units. */
        Code move(int to, int from) {
            return unit(0x03, to, from);
        }

        int argument() {
            return registers - 1;
        }

        void end() {
            unit(0x000f);
        }

        void nop() {
            unit(0);
        }
    }

    private interface Shape {
        int fill(Code it);
    }

    private static final Map<String, Shape> SHAPES = new LinkedHashMap<>();

    static {
        SHAPES.put("registers", it -> {
            int last = it.argument();
            for (int number = 1; it.left() >= 7; number++) {
                int next = number * 3 % (REGISTERS - 10) + 4;
                it.move(next, last);
                last = next;
            }
            it.move(0, last).end();
            return 7;
        });
        SHAPES.put("live", it -> {
            int count = it.room / 12;
            for (int number = 0; number < count; number++) {
                it.move(16 + number * 5 % (REGISTERS - 20), it.argument());
            }
            it.unit(0x0012);
            while (it.left() >= 4 * count + 8) {
                // if-eqz v0, the next but one; v1 = 0
                it.unit(0x0038, 3, 0x0112);
            }
            int expected = 0;
            for (int number = 0; number < count; number++) {
                // v2 = one of them; v0 = v0 + v2
                it.move(2, 16 + number * 5 % (REGISTERS - 20)).unit(0x20b0);
                expected += 7;
            }
            it.end();
            return expected;
        });
        SHAPES.put("calls", it -> {
            it.move(1, it.argument());
            int expected = 7;
            while (it.left() >= 10) {
                // v1 = same(v1); v1 = v1 & 1
                it.unit(0x1071, 1, 0x0001, 0x010a).unit(0x01dd, 0x0101);
                expected = expected * 31 + 7 & 1;
            }
            it.unit(0x010f);
            return expected;
        });
        SHAPES.put("recursion", it -> {
            for (int number = 0; it.left() >= 20; number++) {
                it.move(number * 2 + 16, it.argument());
                if (number % 100 == 99) {
                    // run(itself), then what was kept
                    it.move(1, it.argument()).unit(0x1071, 0, 1, 0x010a).move(1, number * 2 + 14);
                }
            }
            it.move(0, it.argument()).end();
            return -1;
        });
        SHAPES.put("numbers", it -> {
            it.move(1, it.argument());
            int expected = 7;
            while (it.left() >= 8) {
                // add-int/lit8 v1, v1, 3; mul-int/lit8 v1, v1, 5
                it.unit(0x01d8, 0x0301, 0x01da, 0x0501);
                expected = (expected + 3) * 5;
            }
            it.unit(0x010f);
            return expected;
        });
        SHAPES.put("packed", it -> packed(it));
        SHAPES.put("sparse", it -> sparse(it));
        SHAPES.put("fill", it -> fill(it));
        SHAPES.put("tries", it -> tries(it));
        SHAPES.put("objects", it -> {
            // v0 = 4; v1 = new Object[v0]; v2 = 1
            it.unit(0x4012).unit(0x0123, OBJECTS).unit(0x1212);
            int count = 0;
            while (it.left() >= 12) {
                // aput-object v1, v1, v2; aget-object v3, v1, v2
                it.unit(0x014d, 0x0201).unit(0x0346, 0x0201);
                count++;
            }
            it.unit(0x1021).unit(0x000f);
            return 4;
        });
        SHAPES.put("new", it -> {
            while (it.left() >= 12) {
                // v1 = new Object(); v1.<init> is not called: it is not used either
                it.unit(0x0122, OBJECT);
            }
            it.move(0, it.argument()).end();
            return 7;
        });
        SHAPES.put("branches", it -> {
            it.move(1, it.argument());
            int expected = 7;
            while (it.left() >= 10) {
                // if-eqz v1, over; add-int/lit8 v1, v1, 1
                it.unit(0x0138, 4).unit(0x01d8, 0x0101);
                expected++;
            }
            it.unit(0x010f);
            return expected;
        });
    }

    private static int packed(Code it) {
        int count = Math.min(65_535, (it.room - 30) / 3);
        it.move(1, it.argument());
        int at = it.at();
        it.unit(0x012b, 0, 0);
        int body = it.at();
        for (int number = 0; number < count; number++) {
            it.nop();
        }
        it.unit(0x01d8, 0x0901).unit(0x010f);
        if (it.at() % 2 == 1) {
            it.nop();
        }
        int table = it.at();
        it.units.putInt((at + 1) * 2, table - at);
        it.unit(0x0100, count).four(0);
        for (int number = 0; number < count; number++) {
            it.four(body + number - at);
        }
        return 16;
    }

    private static int sparse(Code it) {
        int count = Math.min(65_535, (it.room - 30) / 5);
        it.move(1, it.argument());
        int at = it.at();
        it.unit(0x012c, 0, 0);
        int body = it.at();
        for (int number = 0; number < count; number++) {
            it.nop();
        }
        it.unit(0x01d8, 0x0901).unit(0x010f);
        if (it.at() % 2 == 1) {
            it.nop();
        }
        int table = it.at();
        it.units.putInt((at + 1) * 2, table - at);
        it.unit(0x0200, count);
        for (int number = 0; number < count; number++) {
            it.four(number * 7 - 700);
        }
        for (int number = 0; number < count; number++) {
            it.four(body + number - at);
        }
        return 16;
    }

    private static int fill(Code it) {
        int count = (it.room - 40) / 2;
        // const v0, count; v1 = new int[v0]; fill; v0 = v0 - 1; v0 = v1[v0]
        it.unit(0x0014).four(count).unit(0x0123, INTS);
        int at = it.at();
        it.unit(0x0126, 0, 0).unit(0x00d8, 0xff00).unit(0x0044, 0x0001).unit(0x000f);
        if (it.at() % 2 == 1) {
            it.nop();
        }
        int table = it.at();
        it.units.putInt((at + 1) * 2, table - at);
        it.unit(0x0300, 4).four(count);
        for (int number = 0; number < count; number++) {
            it.four(number * 3);
        }
        return (count - 1) * 3;
    }

    /** Ranges one behind the other: each has a call that may throw, and a handler of its own. */
    private static int tries(Code it) {
        it.move(1, it.argument());
        int expected = 7;
        // The list of handlers has 65,536 bytes at most.
        while (it.left() >= 20 && it.tries.size() < 9_000) {
            int start = it.at();
            // v1 = same(v1); goto; handler: v2 = exception; v1 = v1 + 1
            it.unit(0x1071, 1, 0x0001).unit(0x010a).unit(0x0428);
            it.tries.add(new int[] {start, 3, it.at()});
            it.unit(0x020d).unit(0x01d8, 0x0101);
            expected = expected % 5 == 3 ? expected + 1 : expected * 31 + 7;
        }
        it.unit(0x010f);
        return expected;
    }

    private static void uleb(ByteArrayOutputStream out, int value) {
        int rest = value;
        while (rest >>> 7 != 0) {
            out.write(rest & 0x7f | 0x80);
            rest >>>= 7;
        }
        out.write(rest);
    }

    private static void align(ByteBuffer out) {
        while (out.position() % 4 != 0) {
            out.put((byte) 0);
        }
    }

    private static int[] codeItem(ByteBuffer out, Code code) {
        align(out);
        int start = out.position();
        out.putShort((short) code.registers).putShort((short) 1).putShort((short) 1);
        out.putShort((short) code.tries.size()).putInt(0).putInt(code.at());
        out.put(code.units.array(), 0, code.at() * 2);
        if (!code.tries.isEmpty()) {
            if (code.at() % 2 == 1) {
                out.putShort((short) 0);
            }
            ByteArrayOutputStream handlers = new ByteArrayOutputStream();
            uleb(handlers, code.tries.size());
            for (int[] one : code.tries) {
                if (handlers.size() > 65_535) {
                    throw new IllegalStateException("too many handlers");
                }
                out.putInt(one[0]).putShort((short) one[1]).putShort((short) handlers.size());
                handlers.write(1);
                uleb(handlers, RUNTIME_EXCEPTION);
                uleb(handlers, one[2]);
            }
            out.put(handlers.toByteArray());
        }
        return new int[] {0x2001, 1, start};
    }

    /** The whole file. */
    private static byte[] file(Code code) throws Exception {
        ByteBuffer out = ByteBuffer.allocate(code.at() * 2 + code.tries.size() * 16 + 4096).order(ByteOrder.LITTLE_ENDIAN);
        List<int[]> map = new ArrayList<>();
        int strings = 0x70;
        int types = strings + 4 * STRINGS.length;
        int protos = types + 4 * TYPES.length;
        int methods = protos + 12;
        int classes = methods + 16;
        int data = classes + 32;
        map.add(new int[] {0, 1, 0});
        map.add(new int[] {1, STRINGS.length, strings});
        map.add(new int[] {2, TYPES.length, types});
        map.add(new int[] {3, 1, protos});
        map.add(new int[] {5, 2, methods});
        map.add(new int[] {6, 1, classes});
        out.position(data);
        int[] item = codeItem(out, code);
        map.add(item);
        align(out);
        int list = out.position();
        out.putInt(1).putShort((short) 0);
        map.add(new int[] {0x1001, 1, list});
        map.add(new int[] {0x2002, STRINGS.length, out.position()});
        for (int number = 0; number < STRINGS.length; number++) {
            out.putInt(strings + 4 * number, out.position());
            byte[] text = STRINGS[number].getBytes(StandardCharsets.UTF_8);
            out.put((byte) text.length).put(text).put((byte) 0);
        }
        int members = out.position();
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        for (int value : new int[] {0, 0, 1, 0, 0, 9, item[2]}) {
            uleb(bytes, value);
        }
        out.put(bytes.toByteArray());
        map.add(new int[] {0x2000, 1, members});
        align(out);
        int end = out.position();
        map.add(new int[] {0x1000, 1, end});
        out.putInt(map.size());
        for (int[] entry : map) {
            out.putShort((short) entry[0]).putShort((short) 0).putInt(entry[1]).putInt(entry[2]);
        }
        int size = out.position();
        for (int number = 0; number < TYPES.length; number++) {
            out.putInt(types + 4 * number, TYPES[number]);
        }
        out.putInt(protos, 1).putInt(protos + 4, 0).putInt(protos + 8, list);
        out.putShort(methods, (short) 1).putShort(methods + 2, (short) 0).putInt(methods + 4, 8);
        out.putShort(methods + 8, (short) 2).putShort(methods + 10, (short) 0).putInt(methods + 12, 9);
        int[] definition = {1, 1, OBJECT, 0, -1, 0, members, 0};
        for (int number = 0; number < 8; number++) {
            out.putInt(classes + 4 * number, definition[number]);
        }
        out.position(0);
        out.put("dex\n035\0".getBytes(StandardCharsets.UTF_8));
        int[] header = {
            size, 0x70, 0x12345678, 0, 0, end, STRINGS.length, strings, TYPES.length, types, 1, protos, 0, 0, 2, methods, 1, classes,
            size - data, data,
        };
        for (int number = 0; number < header.length; number++) {
            out.putInt(0x20 + 4 * number, header[number]);
        }
        byte[] whole = java.util.Arrays.copyOf(out.array(), size);
        MessageDigest digest = MessageDigest.getInstance("SHA-1");
        digest.update(whole, 32, size - 32);
        System.arraycopy(digest.digest(), 0, whole, 12, 20);
        Adler32 sum = new Adler32();
        sum.update(whole, 12, size - 12);
        ByteBuffer.wrap(whole).order(ByteOrder.LITTLE_ENDIAN).putInt(8, (int) sum.getValue());
        return whole;
    }

    private static void run(String name, int units) throws Exception {
        Code code = new Code(units);
        int expected = SHAPES.get(name).fill(code);
        byte[] bytes = file(code);
        long memory = Large.peak();
        long started = Large.worked();
        String result;
        try {
            ClassLoader parent = LargeDex.class.getClassLoader();
            Object loader = Class.forName("dalvik.system.InMemoryDexClassLoader")
                .getConstructor(ByteBuffer.class, ClassLoader.class)
                .newInstance(ByteBuffer.wrap(bytes), parent);
            Method run = ((ClassLoader) loader).loadClass("Generated").getMethod("run", int.class);
            int found = (Integer) run.invoke(null, 7);
            result = found == expected ? "as computed" : found + " instead of " + expected;
        } catch (InvocationTargetException failure) {
            result = failure.getCause().toString();
            result = failure.getCause() instanceof StackOverflowError && expected == -1 ? "as computed" : result;
        } catch (Throwable failure) {
            result = failure.toString();
        }
        System.out.println(name + " " + result);
        if (System.getProperty("figures") != null) {
            long ms = (Large.worked() - started) / 1_000_000;
            long mebibytes = (Large.peak() - memory) / 1024;
            System.err.println(name + ": " + ms + " ms, " + mebibytes + " MiB");
        }
    }

    public static void main(String[] arguments) throws Exception {
        int units = Integer.parseInt(arguments[0]);
        List<String> names = List.of(arguments).subList(1, arguments.length);
        for (String name : names.isEmpty() ? SHAPES.keySet() : names) {
            run(name, units);
        }
    }
}
