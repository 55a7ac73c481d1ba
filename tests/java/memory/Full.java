// SPDX-License-Identifier: Apache-2.0 Classes without end, in metadata or code that is soon full:
// an error that the program sees, and it goes on.

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;

class Full {
    static final int METHODS = 20;
    static final int CLASSES_MAX = 100_000;

    /** A class with some methods that are never called, and {@code run}, which is. */
    static byte[] make() throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(bytes);
        out.writeInt(0xcafebabe);
        out.writeInt(52);
        out.writeShort(8 + METHODS);
        text(out, "Made");
        out.writeByte(7);
        out.writeShort(1);
        text(out, "java/lang/Object");
        out.writeByte(7);
        out.writeShort(3);
        text(out, "Code");
        text(out, "()I");
        text(out, "run");
        for (int i = 0; i < METHODS; i++) text(out, "unused" + i);
        out.writeShort(0x21);
        out.writeShort(2);
        out.writeShort(4);
        out.writeShort(0);
        out.writeShort(0);
        out.writeShort(1 + METHODS);
        for (int i = 0; i <= METHODS; i++) {
            out.writeShort(9);
            out.writeShort(7 + i);
            out.writeShort(6);
            out.writeShort(1);
            out.writeShort(5);
            out.writeInt(14);
            out.writeShort(1);
            out.writeShort(0);
            out.writeInt(2);
            // iconst_1, ireturn
            out.writeShort(0x04ac);
            out.writeShort(0);
            out.writeShort(0);
        }
        out.writeShort(0);
        return bytes.toByteArray();
    }

    static void text(DataOutputStream out, String text) throws IOException {
        out.writeByte(1);
        out.writeUTF(text);
    }

    /** The library may have wrapped it. Synchronized, as `say` is: one body that all calls run. */
    static synchronized String root(Throwable thrown) {
        while (!(thrown instanceof OutOfMemoryError) && thrown.getCause() != null) thrown = thrown.getCause();
        return thrown.getMessage();
    }

    static synchronized void say(String what, boolean is) {
        System.out.println(what.concat(is ? " true" : " false"));
    }

    public static void main(String[] args) throws Throwable {
        // Once before: where classes are refused, nothing new can be said.
        say(root(new Error(new OutOfMemoryError("begun"))), true);
        byte[] bytes = make();
        MethodHandles.Lookup lookup = MethodHandles.lookup();
        MethodType type = MethodType.methodType(int.class);
        int sum = 0;
        String refusal = "none";
        for (int i = 0; i < CLASSES_MAX; i++) {
            try {
                MethodHandles.Lookup made = lookup.defineHiddenClass(bytes, true);
                MethodHandle run = made.findStatic(made.lookupClass(), "run", type);
                sum += (int) run.invokeExact();
            } catch (Throwable e) {
                refusal = root(e);
                break;
            }
        }
        say(refusal, sum > 100);
    }
}
