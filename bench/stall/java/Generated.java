// SPDX-License-Identifier: Apache-2.0

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;

/** Class files made here, in the form of Java 5, which needs no stack maps. */
final class Generated extends ClassLoader {
    private static final int PUBLIC_STATIC = 0x0009;
    private static final int CLASS_FLAGS = 0x0031;
    private static final int LOCALS = 3;
    private static final int STACK = 4;
    private static final int STATEMENT_BYTES = 6;
    /** Of what huge methods are called with. */
    static final int ARRAY_LENGTH = 64;
    private static int next;

    private final String name;
    private final byte[] bytes;

    private Generated(String name, byte[] bytes) {
        super(Generated.class.getClassLoader());
        this.name = name;
        this.bytes = bytes;
    }

    /**
     * A class with one method {@code run} of about so many bytes: an array is stored into itself
     * again and again.
     */
    static Class<?> huge(int codeBytes) throws IOException, ClassNotFoundException {
        ByteArrayOutputStream code = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(code);
        while (out.size() < codeBytes - STATEMENT_BYTES) {
            out.writeByte(0x2a); // aload_0
            out.writeByte(0x11); // sipush
            out.writeShort(out.size() / STATEMENT_BYTES % ARRAY_LENGTH);
            out.writeByte(0x2a);
            out.writeByte(0x53); // aastore
        }
        out.writeShort(0x1bac); // iload_1, ireturn
        return make(1, "([Ljava/lang/Object;I)I", code.toByteArray());
    }

    /** A class with so many small methods, each of which loops and stores. */
    static Class<?> plain(int methods) throws IOException, ClassNotFoundException {
        ByteArrayOutputStream code = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(code);
        out.writeShort(0x1b3d); // iload_1, istore_2
        int loop = out.size();
        out.writeByte(0x2a); // aload_0
        out.writeByte(0x1c); // iload_2
        out.writeShort(0x103f); // bipush 63
        out.writeByte(0x7e); // iand
        out.writeShort(0x1c4f); // iload_2, iastore
        out.writeByte(0x84); // iinc
        out.writeShort(0x02ff); // local 2 by -1
        out.writeByte(0x1c);
        int branch = out.size();
        out.writeByte(0x9d); // ifgt
        out.writeShort(loop - branch);
        out.writeShort(0x1cac); // iload_2, ireturn
        return make(methods, "([II)I", code.toByteArray());
    }

    private static Class<?> make(int methods, String descriptor, byte[] code) throws IOException, ClassNotFoundException {
        String name = "Generated" + number();
        Generated loader = new Generated(name, file(name, methods, descriptor, code));
        return loader.loadClass(name);
    }

    private static synchronized int number() {
        return next++;
    }

    @Override
    protected Class<?> findClass(String wanted) throws ClassNotFoundException {
        if (!wanted.equals(name)) {
            throw new ClassNotFoundException(wanted);
        }
        return defineClass(name, bytes, 0, bytes.length);
    }

    private static byte[] file(String name, int methods, String descriptor, byte[] code) throws IOException {
        ByteArrayOutputStream file = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(file);
        out.writeInt(0xcafebabe);
        out.writeInt(49);
        // Constants 1 to 6, then the methods' names.
        out.writeShort(7 + methods);
        text(out, name);
        classOf(out, 1);
        text(out, "java/lang/Object");
        classOf(out, 3);
        text(out, "Code");
        text(out, descriptor);
        for (int method = 0; method < methods; method++) {
            text(out, method == 0 ? "run" : "run" + method);
        }
        out.writeShort(CLASS_FLAGS);
        out.writeShort(2);
        out.writeShort(4);
        out.writeShort(0);
        out.writeShort(0);
        out.writeShort(methods);
        for (int method = 0; method < methods; method++) {
            out.writeShort(PUBLIC_STATIC);
            out.writeShort(7 + method);
            out.writeShort(6);
            out.writeShort(1);
            out.writeShort(5);
            out.writeInt(12 + code.length);
            out.writeShort(STACK);
            out.writeShort(LOCALS);
            out.writeInt(code.length);
            out.write(code);
            out.writeInt(0);
        }
        out.writeShort(0);
        return file.toByteArray();
    }

    private static void text(DataOutputStream out, String text) throws IOException {
        out.writeByte(1);
        out.writeUTF(text);
    }

    private static void classOf(DataOutputStream out, int name) throws IOException {
        out.writeByte(7);
        out.writeShort(name);
    }
}
