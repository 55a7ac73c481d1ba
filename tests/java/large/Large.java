// SPDX-License-Identifier: Apache-2.0

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The largest methods that a class file can have, one for each kind of instruction: {@code Large
 * [SHAPE]…}.
 *
 * <p>Classes are of version 49, which needs no stack maps. With {@code -Dfigures} the processor
 * time of the first call and what it takes of memory go to the standard error.
 */
public final class Large {
    /** The most that a class file can have, unless {@code -Dbytes} says less. */
    private static final int CODE_BYTES_MAX = Integer.getInteger("bytes", 65_535);

    /** What the generated code uses. */
    public static class Base implements Comparable<Object> {
        public int number = 1;
        public long wide = 3;
        public Object next = this;
        public static int count;
        public static Object last = "none";

        public static int same(int value) {
            return value * 31 + 7;
        }

        public int add(int value) {
            return value + number;
        }

        public static int fail(int value) {
            if (value == 3) {
                throw new IllegalStateException("three");
            }
            return value;
        }

        public static void collect() {
            System.gc();
        }

        @Override
        public int compareTo(Object other) {
            return number++ & 7;
        }
    }

    /** Final and small, so that nothing but its making is in the way. */
    public static final class Thing {}

    /** Bytes of a class with one method. */
    private static final class Builder {
        private final Map<String, Integer> numbers = new LinkedHashMap<>();
        private final ByteArrayOutputStream poolBytes = new ByteArrayOutputStream();
        private final DataOutputStream pool = new DataOutputStream(poolBytes);
        private int poolCount = 1;
        private final byte[] code = new byte[1 << 17];
        int at;
        int locals = 16;
        int stack = 16;
        private final ByteArrayOutputStream handlerBytes = new ByteArrayOutputStream();
        private final DataOutputStream handlers = new DataOutputStream(handlerBytes);
        private int handlerCount;

        int room() {
            return CODE_BYTES_MAX - at;
        }

        private int constant(String key, int tag, int... parts) throws IOException {
            Integer known = numbers.get(key);
            if (known != null) {
                return known;
            }
            pool.writeByte(tag);
            for (int part : parts) {
                pool.writeShort(part);
            }
            numbers.put(key, poolCount);
            return poolCount++;
        }

        int utf8(String text) throws IOException {
            Integer known = numbers.get("u" + text);
            if (known != null) {
                return known;
            }
            pool.writeByte(1);
            pool.writeUTF(text);
            numbers.put("u" + text, poolCount);
            return poolCount++;
        }

        int type(String name) throws IOException {
            return constant("c" + name, 7, utf8(name));
        }

        int string(String text) throws IOException {
            return constant("s" + text, 8, utf8(text));
        }

        int member(int tag, String owner, String name, String descriptor) throws IOException {
            int both = constant("n" + name + descriptor, 12, utf8(name), utf8(descriptor));
            return constant(tag + owner + "." + name + descriptor, tag, type(owner), both);
        }

        Builder op(int... bytes) {
            for (int one : bytes) {
                code[at++] = (byte) one;
            }
            return this;
        }

        Builder wide(int opcode, int operand) {
            return op(opcode, operand >> 8, operand);
        }

        Builder four(int value) {
            return op(value >> 24, value >> 16, value >> 8, value);
        }

        void handler(int start, int end, int target, String type) throws IOException {
            int[] parts = {start, end, target, type == null ? 0 : type(type)};
            for (int part : parts) {
                handlers.writeShort(part);
            }
            handlerCount++;
        }

        byte[] finish() throws IOException {
            if (at > CODE_BYTES_MAX) {
                throw new IOException("too long: " + at);
            }
            int own = type("Generated");
            int parent = type("java/lang/Object");
            int name = utf8("run");
            int descriptor = utf8(DESCRIPTOR);
            int codeName = utf8("Code");
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            DataOutputStream out = new DataOutputStream(bytes);
            out.writeInt(0xcafebabe);
            out.writeInt(49);
            out.writeShort(poolCount);
            poolBytes.writeTo(out);
            for (int part : new int[] {0x21, own, parent, 0, 0, 1, 9, name, descriptor, 1, codeName}) {
                out.writeShort(part);
            }
            out.writeInt(12 + at + 8 * handlerCount);
            out.writeShort(stack);
            out.writeShort(locals);
            out.writeInt(at);
            out.write(code, 0, at);
            out.writeShort(handlerCount);
            handlerBytes.writeTo(out);
            out.writeShort(0);
            out.writeShort(0);
            return bytes.toByteArray();
        }
    }

    /**
     * Fills the code; local 0 is an array of objects, 1 a {@link Base}, 2 a number, which is
     * returned.
     */
    private interface Shape {
        void fill(Builder it) throws IOException;
    }

    private static final String DESCRIPTOR = "(Ljava/lang/Object;Ljava/lang/Object;I)I";
    private static final Map<String, Shape> SHAPES = new LinkedHashMap<>();
    private static final String BASE = "Large$Base";

    private static void end(Builder it) {
        it.op(0x1c, 0xac);
    }

    /** The same again and again, then the end. */
    private static Shape repeat(int bytes, Shape body) {
        return it -> {
            while (it.room() >= bytes + 2) {
                body.fill(it);
            }
            end(it);
        };
    }

    private static void cast(Builder it, int local, String type) throws IOException {
        it.op(0x2a + local).wide(0xc0, it.type(type)).op(0x4b + local);
    }

    static {
        SHAPES.put("aastore", it -> {
            cast(it, 0, "[Ljava/lang/Object;");
            for (int count = 0; it.room() >= 6; count++) {
                it.op(0x2a, 0x03 + count % 6, 0x2b, 0x53);
            }
            end(it);
        });
        SHAPES.put("aaload", it -> {
            cast(it, 0, "[Ljava/lang/Object;");
            for (int count = 0; it.room() >= 6; count++) {
                it.op(0x2a, 0x03 + count % 6, 0x32, 0x4c);
            }
            end(it);
        });
        SHAPES.put("new", repeat(4, it -> it.wide(0xbb, it.type("Large$Thing")).op(0x57)));
        SHAPES.put("newinit", repeat(8, it -> it.wide(0xbb, it.type(BASE)).op(0x59)
                .wide(0xb7, it.member(10, BASE, "<init>", "()V")).op(0x4c)));
        SHAPES.put("newarray", repeat(5, it -> it.op(0x04, 0xbc, 10, 0xbe, 0x57)));
        SHAPES.put("anewarray", repeat(6, it -> it.op(0x05).wide(0xbd, it.type(BASE)).op(0xbe, 0x57)));
        SHAPES.put("multianewarray", repeat(7, it -> it.op(0x04, 0x05).wide(0xc5, it.type("[[I")).op(2, 0x57)));
        SHAPES.put("invokestatic", repeat(5, it -> it.op(0x1c)
                .wide(0xb8, it.member(10, BASE, "same", "(I)I")).op(0x3d)));
        SHAPES.put("invokevirtual", it -> {
            cast(it, 1, BASE);
            repeat(6, more -> more.op(0x2b, 0x1c).wide(0xb6, it.member(10, BASE, "add", "(I)I")).op(0x3d)).fill(it);
        });
        SHAPES.put("invokeinterface", it -> {
            cast(it, 1, BASE);
            int method = it.member(11, "java/lang/Comparable", "compareTo", "(Ljava/lang/Object;)I");
            repeat(10, more -> more.op(0x1c, 0x2b, 0x2b).wide(0xb9, method).op(2, 0, 0x60, 0x3d)).fill(it);
        });
        SHAPES.put("fields", it -> {
            cast(it, 1, BASE);
            int field = it.member(9, BASE, "number", "I");
            repeat(10, more -> more.op(0x2b, 0x59).wide(0xb4, field).op(0x04, 0x60).wide(0xb5, field)).fill(it);
        });
        SHAPES.put("references", it -> {
            cast(it, 1, BASE);
            int field = it.member(9, BASE, "next", "Ljava/lang/Object;");
            repeat(8, more -> more.op(0x2b, 0x2b).wide(0xb4, field).wide(0xb5, field)).fill(it);
        });
        SHAPES.put("statics", repeat(8, it -> it.wide(0xb2, it.member(9, BASE, "count", "I")).op(0x04, 0x60)
                .wide(0xb3, it.member(9, BASE, "count", "I"))));
        SHAPES.put("strings", it -> {
            for (int count = 0; it.room() >= 6; count++) {
                it.wide(0x13, it.string("text " + count % 15_000)).op(0x4c);
            }
            end(it);
        });
        SHAPES.put("checkcast", repeat(5, it -> it.op(0x2b).wide(0xc0, it.type(BASE)).op(0x4c)));
        SHAPES.put("instanceof", repeat(7, it -> it.op(0x2b).wide(0xc1, it.type(BASE)).op(0x1c, 0x60, 0x3d)));
        SHAPES.put("branches", repeat(7, it -> it.op(0x1c).wide(0x99, 6).op(0x84, 2, 1)));
        SHAPES.put("gotos", repeat(3, it -> it.wide(0xa7, 3)));
        SHAPES.put("loops", repeat(11, it -> it.op(0x84, 2, 1, 0x1c, 0x06, 0x70).wide(0x9a, -6)));
        SHAPES.put("tableswitch", it -> table(it, part(13_000), false));
        SHAPES.put("tableswitch-few", it -> table(it, part(16_000), true));
        SHAPES.put("lookupswitch", Large::lookup);
        SHAPES.put("handler", it -> handler(it, 240));
        SHAPES.put("tries", Large::tries);
        SHAPES.put("nested-tries", Large::nestedTries);
        SHAPES.put("monitors", Large::monitors);
        SHAPES.put("sequential-monitors", repeat(4, it -> it.op(0x2b, 0xc2, 0x2b, 0xc3)));
        SHAPES.put("longs", it -> {
            it.op(0x0a, 0x42);
            while (it.room() >= 16) {
                it.op(0x21, 0x0a, 0x61, 0x42, 0x21, 0x1c, 0x85, 0x69, 0x42);
            }
            it.op(0x21, 0x88, 0x3d);
            end(it);
        });
        SHAPES.put("doubles", it -> {
            it.op(0x0f, 0x4a);
            while (it.room() >= 16) {
                it.op(0x29, 0x0f, 0x63, 0x4a, 0x29, 0x1c, 0x87, 0x67, 0x4a);
            }
            it.op(0x29, 0x8e, 0x3d);
            end(it);
        });
        SHAPES.put("divisions", repeat(7, it -> it.op(0x11, 0x7f, 0x17, 0x1c, 0x6c, 0x05, 0x60, 0x3d)));
        SHAPES.put("remainders", it -> {
            it.op(0x0f, 0x4a);
            while (it.room() >= 16) {
                it.op(0x29, 0x0f, 0x73, 0x0f, 0x63, 0x4a);
            }
            it.op(0x29, 0x8e, 0x3d);
            end(it);
        });
        SHAPES.put("shuffles", it -> {
            it.stack = 60_000;
            it.op(0x04, 0x05, 0x06, 0x07);
            while (it.room() >= 10) {
                it.op(0x5e, 0x58);
            }
            it.op(0x60, 0x60, 0x60, 0x3d);
            end(it);
        });
        SHAPES.put("deep", it -> {
            it.stack = 33_000;
            for (int count = 0; count < part(32_000); count++) {
                it.op(0x03 + count % 6);
            }
            for (int count = 0; count < part(32_000) - 1; count++) {
                it.op(count % 2 == 0 ? 0x60 : 0x82);
            }
            it.op(0x3d);
            end(it);
        });
        SHAPES.put("deep-branches", it -> {
            it.stack = 20_100;
            for (int count = 0; count < part(20_000); count++) {
                it.op(0x04);
            }
            while (it.room() >= part(20_000) + 20) {
                it.op(0x1c).wide(0x99, 3);
            }
            for (int count = 0; count < part(20_000) - 1; count++) {
                it.op(0x60);
            }
            it.op(0x3d);
            end(it);
        });
        SHAPES.put("locals", it -> manyLocals(it, part(5_000)));
        SHAPES.put("subroutines", it -> {
            int calls = part(3_000);
            for (int count = 0; count < calls; count++) {
                it.wide(0xa8, 3 * calls + 2 - it.at);
            }
            end(it);
            it.op(0x3a, 4, 0x84, 2, 3, 0xa9, 4);
        });
        SHAPES.put("throws", Large::failing);
        SHAPES.put("kept", Large::kept);
        SHAPES.put("recursion", it -> {
            it.op(0x2a, 0x2b, 0x1c).wide(0xb8, it.member(10, "Generated", "run", DESCRIPTOR)).op(0x3d);
            repeat(7, more -> more.op(0x1c).wide(0x99, 6).op(0x84, 2, 1)).fill(it);
        });
    }

    /** As much of a count as there is of the code. */
    private static int part(int count) {
        return (int) ((long) count * CODE_BYTES_MAX / 65_535);
    }

    /** Objects that local variables alone keep, while the collector runs. */
    private static void kept(Builder it) throws IOException {
        it.locals = 250;
        int constructor = it.member(10, BASE, "<init>", "()V");
        int number = it.member(9, BASE, "number", "I");
        int count = 0;
        for (; it.room() >= 240 * 10 + 40; count++) {
            it.wide(0xbb, it.type(BASE)).op(0x59).wide(0xb7, constructor).op(0x3a, 3 + count % 240);
            if (count % 500 == 499) {
                it.wide(0xb8, it.member(10, BASE, "collect", "()V"));
            }
        }
        for (int local = 3; local < 3 + Math.min(count, 240); local++) {
            it.op(0x1c, 0x19, local).wide(0xb4, number).op(0x60, 0x3d);
        }
        end(it);
    }

    private static void table(Builder it, int count, boolean hasFewTargets) {
        int start = it.at;
        it.op(0x1c);
        int at = it.at;
        it.op(0xaa);
        while (it.at % 4 != 0) {
            it.op(0);
        }
        int code = it.at + 12 + 4 * count;
        it.four(code - at).four(0).four(count - 1);
        for (int number = 0; number < count; number++) {
            it.four(code - at + (hasFewTargets ? number % 100 : number));
        }
        int rest = hasFewTargets ? 100 : count;
        for (int number = 0; number < rest; number++) {
            it.op(0);
        }
        it.op(0x84, 2, 1);
        end(it);
        assert start == 0;
    }

    private static void lookup(Builder it) {
        int count = part(7_000);
        it.op(0x1c);
        int at = it.at;
        it.op(0xab);
        while (it.at % 4 != 0) {
            it.op(0);
        }
        int code = it.at + 8 + 8 * count;
        it.four(code - at).four(count);
        for (int number = 0; number < count; number++) {
            it.four(number * 7 - 9_000).four(code - at + number);
        }
        for (int number = 0; number < count; number++) {
            it.op(0);
        }
        it.op(0x84, 2, 1);
        end(it);
    }

    /** One handler for all calls, which needs as many local variables. */
    private static void handler(Builder it, int count) throws IOException {
        it.locals = count + 3;
        for (int local = 3; local < count + 3; local++) {
            it.op(0x11, local >> 8, local, 0x36, local);
        }
        int start = it.at;
        int method = it.member(10, BASE, "fail", "(I)I");
        for (int local = 3; it.room() >= 3 * count + 40; local = local == count + 2 ? 3 : local + 1) {
            it.op(0x15, local).wide(0xb8, method).op(0x36, local);
        }
        int end = it.at;
        end(it);
        it.handler(start, end, it.at, null);
        it.op(0x57);
        for (int local = 3; local < count + 3; local++) {
            it.op(0x15, local, 0x1c, 0x60, 0x3d);
            if (it.room() < 12) {
                break;
            }
        }
        end(it);
    }

    /** As many ranges as there is room for, one behind the other. */
    private static void tries(Builder it) throws IOException {
        int method = it.member(10, BASE, "fail", "(I)I");
        while (it.room() >= 20) {
            int start = it.at;
            it.op(0x03 + it.at % 6).wide(0xb8, method).op(0x1c, 0x60, 0x3d);
            int end = it.at;
            it.wide(0xa7, 7);
            it.handler(start, end, it.at, "java/lang/RuntimeException");
            it.op(0x57, 0x84, 2, 1);
        }
        end(it);
    }

    /** Ranges in ranges: the innermost call has all handlers. */
    private static void nestedTries(Builder it) throws IOException {
        int count = part(1_000);
        int method = it.member(10, BASE, "fail", "(I)I");
        for (int number = 0; number < count; number++) {
            it.op(0x1c).wide(0xb8, method).op(0x3d);
        }
        int end = it.at;
        end(it);
        int target = it.at;
        for (int number = count - 1; number >= 0; number--) {
            it.handler(number * 5, end, it.at, "java/lang/ArithmeticException");
            it.handler(number * 5, end, it.at, "java/lang/IllegalStateException");
            it.op(0x57, 0x84, 2, 1);
            end(it);
        }
        assert target > end;
    }

    private static void monitors(Builder it) {
        int count = part(16_000);
        for (int number = 0; number < count; number++) {
            it.op(0x2b, 0xc2);
        }
        for (int number = 0; number < count; number++) {
            it.op(0x2b, 0xc3);
        }
        end(it);
    }

    private static void manyLocals(Builder it, int count) {
        it.locals = 65_535;
        for (int number = 0; number < count; number++) {
            it.op(0x1c, 0xc4, 0x36, number * 13 >> 8, number * 13 + 3);
        }
        while (it.room() >= 30) {
            int number = it.at % count * 13 + 3;
            if (number > 65_000 || (number & ~0xff) == 0) {
                number = 259 + 3;
            }
            it.op(0x1c).wide(0x99, 6).op(0x84, 2, 1);
        }
        end(it);
    }

    /** Every call throws, and is caught by the handler of its own range. */
    private static void failing(Builder it) throws IOException {
        int method = it.member(10, BASE, "fail", "(I)I");
        while (it.room() >= 20) {
            int start = it.at;
            it.op(0x06).wide(0xb8, method).op(0x3d);
            it.handler(start, it.at, it.at + 3, "java/lang/IllegalStateException");
            // Over the handler, which forgets the exception and counts.
            it.wide(0xa7, 7).op(0x57, 0x84, 2, 1);
        }
        end(it);
    }

    private static final class Loader extends ClassLoader {
        Class<?> define(byte[] bytes) {
            return defineClass("Generated", bytes, 0, bytes.length);
        }
    }

    /** The process's peak so far, in KiB. */
    static long peak() throws IOException {
        for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
            if (line.startsWith("VmHWM")) {
                return Long.parseLong(line.replaceAll("[^0-9]", ""));
            }
        }
        return 0;
    }

    /** This thread's processor time in nanoseconds. */
    static long worked() throws IOException {
        return Long.parseLong(Files.readString(Path.of("/proc/thread-self/schedstat")).split(" ")[0]);
    }

    private static void run(String name) throws Exception {
        Builder builder = new Builder();
        SHAPES.get(name).fill(builder);
        byte[] bytes = builder.finish();
        long memory = peak();
        long started = worked();
        String result;
        try {
            var method = new Loader().define(bytes).getMethod("run", Object.class, Object.class, int.class);
            Object[] array = new Object[6];
            Base base = new Base();
            array[0] = base;
            array[1] = base;
            array[2] = base;
            array[3] = base;
            array[4] = base;
            array[5] = base;
            result = method.invoke(null, array, base, 1) + " " + base.number;
        } catch (InvocationTargetException failure) {
            Throwable cause = failure.getCause();
            result = cause + " " + cause.getStackTrace().length;
        } catch (Throwable failure) {
            result = failure.toString();
        }
        System.out.println(name + " " + result);
        if (System.getProperty("figures") != null) {
            long ms = (worked() - started) / 1_000_000;
            long mebibytes = (peak() - memory) / 1024;
            System.err.println(name + ": " + ms + " ms, " + mebibytes + " MiB");
        }
    }

    public static void main(String[] names) throws Exception {
        for (String name : names.length > 0 ? names : SHAPES.keySet().toArray(new String[0])) {
            run(name);
        }
    }
}
