// SPDX-License-Identifier: Apache-2.0

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.lang.ref.WeakReference;
import java.lang.reflect.Field;
import sun.misc.Unsafe;

/**
 * Static fields lie in the class object: what handles, reflection and Unsafe say of them, and what
 * collections leave.
 */
public class Statics {
    static final int FIELDS = 3000;

    static class Few {
        static int number = 5;
        static byte small = -1;
        static volatile long wide = 1L << 40;
        static double real = 0.5;
        static String text = "a";
        static final Object FIXED = "b";
    }

    static class Many {
        static Object r0, r1, r2, r3, r4, r5, r6, r7, r8, r9, r10, r11, r12, r13, r14, r15, r16, r17, r18, r19, r20, r21, r22, r23, r24, r25, r26, r27, r28, r29, r30, r31, r32, r33, r34, r35, r36, r37, r38, r39;
        static final Object[] HELD = new Object[100];
    }

    private static Unsafe unsafe() throws Exception {
        Field field = Unsafe.class.getDeclaredField("theUnsafe");
        field.setAccessible(true);
        return (Unsafe) field.get(null);
    }

    private static void describe() throws Exception {
        MethodHandles.Lookup lookup = MethodHandles.lookup();
        for (Field field : Few.class.getDeclaredFields()) {
            VarHandle handle = lookup.findStaticVarHandle(Few.class, field.getName(), field.getType());
            System.out.println(handle.describeConstable().orElseThrow() + " " + handle.get());
        }
        VarHandle text = lookup.findStaticVarHandle(Few.class, "text", String.class);
        System.out.println(text.getAndSet("c") + " " + text.compareAndSet("c", "d") + " " + Few.text);
        Unsafe unsafe = unsafe();
        Field number = Few.class.getDeclaredField("number");
        Object base = unsafe.staticFieldBase(number);
        System.out.println(base + " " + (base == Few.class) + " " + base.getClass() + " " + (base.hashCode() == Few.class.hashCode()));
        unsafe.putInt(base, unsafe.staticFieldOffset(number), 7);
        Field string = Few.class.getDeclaredField("text");
        unsafe.putObject(unsafe.staticFieldBase(string), unsafe.staticFieldOffset(string), new String("e"));
        synchronized (base) {
            System.gc();
        }
        System.out.println(Few.number + " " + Few.small + " " + Few.wide + " " + Few.real + " " + Few.text + " " + Few.FIXED);
    }

    /**
     * More references than one word of the log covers, and fields of all class objects beside them.
     */
    private static void many() throws Exception {
        Field[] fields = Many.class.getDeclaredFields();
        for (int round = 0; round < 20; round++) {
            for (int i = 0; i < 40; i++) {
                fields[i].set(null, new int[] {round, i});
                Many.HELD[i] = new byte[1000];
            }
            Many.r0 = new int[] {round, 0};
            Many.r39 = new int[] {round, 39};
            // What reflection keeps in the class object itself.
            if (Many.class.getDeclaredFields().length != 41 || Many.class.getEnumConstants() != null) throw new AssertionError();
            if (round % 5 == 0) System.gc();
        }
        int sum = 0;
        for (int i = 0; i < 40; i++) {
            int[] found = (int[]) fields[i].get(null);
            if (found[0] != 19 || found[1] != i) throw new AssertionError(i);
            sum += found[1];
        }
        WeakReference<Object> gone = new WeakReference<>(Many.r7);
        Many.r7 = null;
        System.gc();
        System.out.println(sum + " " + (gone.get() == null));
    }

    private static byte[] large() throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(bytes);
        out.writeInt(0xcafebabe);
        out.writeInt(52);
        out.writeShort(6 + FIELDS);
        text(out, "Large");
        out.writeByte(7);
        out.writeShort(1);
        text(out, "java/lang/Object");
        out.writeByte(7);
        out.writeShort(3);
        text(out, "Ljava/lang/Object;");
        for (int i = 0; i < FIELDS; i++) text(out, "f" + i);
        out.writeShort(0x21);
        out.writeShort(2);
        out.writeShort(4);
        out.writeShort(0);
        out.writeShort(FIELDS);
        for (int i = 0; i < FIELDS; i++) {
            out.writeShort(9);
            out.writeShort(6 + i);
            out.writeShort(5);
            out.writeShort(0);
        }
        out.writeInt(0);
        return bytes.toByteArray();
    }

    private static void text(DataOutputStream out, String text) throws IOException {
        out.writeByte(1);
        out.writeUTF(text);
    }

    public static void main(String[] args) throws Exception {
        describe();
        many();
        Class<?> large = MethodHandles.lookup().defineClass(large());
        Field[] fields = large.getDeclaredFields();
        for (int round = 0; round < 3; round++) {
            for (Field field : fields) field.set(null, new StringBuilder(field.getName()).append(round));
            System.gc();
        }
        for (Field field : fields) {
            if (!field.get(null).toString().equals(field.getName() + 2)) throw new AssertionError(field);
        }
        System.out.println(large + " " + fields.length);
    }
}
