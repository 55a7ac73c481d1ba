// SPDX-License-Identifier: Apache-2.0 Stores to fields that a class of 60,000 fields inherits, by
// code that knows the small class alone, and to its own: none is lost.

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.lang.invoke.MethodHandles;
import java.lang.reflect.Field;
import java.util.Random;
import java.util.stream.IntStream;
import sun.misc.Unsafe;

class Wide {
    static final int FIELDS = 60_000;
    static final int THREADS = 100;
    static final int STORES = 200;

    static class Narrow {
        Integer first;
        Integer second;

        void store(int turn) {
            first = turn;
            second = -turn;
        }
    }

    static final Integer[] CONTENTS = IntStream.range(1000, 6000).boxed().toArray(Integer[]::new);

    static Unsafe unsafe;
    static long[] offsets;

    /** A class file: `Child extends Narrow`, with fields of type Object and nothing else. */
    static byte[] child() throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(bytes);
        out.writeInt(0xcafebabe);
        out.writeInt(52);
        out.writeShort(6 + FIELDS);
        String[] names = {"Child", "Wide$Narrow"};
        for (int i = 0; i < 2; i++) {
            out.writeByte(7);
            out.writeShort(3 + i);
        }
        for (String name : names) {
            out.writeByte(1);
            out.writeUTF(name);
        }
        out.writeByte(1);
        out.writeUTF("Ljava/lang/Object;");
        for (int i = 0; i < FIELDS; i++) {
            out.writeByte(1);
            out.writeUTF("f" + i);
        }
        int[] header = {0x21, 1, 2, 0, FIELDS};
        for (int value : header) {
            out.writeShort(value);
        }
        for (int i = 0; i < FIELDS; i++) {
            int[] field = {0, 6 + i, 5, 0};
            for (int value : field) {
                out.writeShort(value);
            }
        }
        out.writeInt(0);
        return bytes.toByteArray();
    }

    /** What lies in the fields of the instance of thread `of`. */
    static Integer content(int of, int field) {
        return CONTENTS[(of * 31 + field) % CONTENTS.length];
    }

    static String run(Class<?> type, int of) throws InstantiationException {
        Narrow narrow = (Narrow) unsafe.allocateInstance(type);
        for (int i = 0; i < FIELDS; i++) {
            unsafe.putObject(narrow, offsets[i], content(of, i));
        }
        Random random = new Random(of);
        for (int turn = 1; turn <= STORES; turn++) {
            narrow.store(1000 * turn);
            int field = random.nextInt(FIELDS);
            unsafe.putObject(narrow, offsets[field], content(of, field));
            Object[] garbage = new Object[100];
            garbage[turn % 100] = narrow;
        }
        for (int i = 0; i < FIELDS; i++) {
            if (content(of, i) != unsafe.getObject(narrow, offsets[i])) {
                return "field " + i + " of thread " + of;
            }
        }
        return narrow.first == 1000 * STORES && narrow.second == -1000 * STORES ? null : "the inherited fields of " + of;
    }

    public static void main(String[] args) throws Exception {
        Field field = Unsafe.class.getDeclaredField("theUnsafe");
        field.setAccessible(true);
        unsafe = (Unsafe) field.get(null);
        Class<?> type = MethodHandles.lookup().defineClass(child());
        Field[] fields = type.getDeclaredFields();
        offsets = new long[FIELDS];
        for (int i = 0; i < FIELDS; i++) {
            offsets[i] = unsafe.objectFieldOffset(fields[i]);
        }
        Thread[] threads = new Thread[THREADS];
        String[] faults = new String[THREADS];
        for (int i = 0; i < THREADS; i++) {
            int of = i;
            threads[i] = new Thread(() -> {
                try {
                    faults[of] = run(type, of);
                } catch (Throwable e) {
                    faults[of] = e.toString();
                }
            });
            threads[i].start();
        }
        int wrong = 0;
        for (int i = 0; i < THREADS; i++) {
            threads[i].join();
            if (faults[i] != null) {
                System.out.println(faults[i]);
                wrong++;
            }
        }
        System.out.println(THREADS + " threads, " + wrong + " wrong");
    }
}
