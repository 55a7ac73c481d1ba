// SPDX-License-Identifier: Apache-2.0 Writes the class Computed: constants and call sites that
// javac has no source for. The JDK's own ASM writes it.
import java.nio.file.Files;
import java.nio.file.Path;
import jdk.internal.org.objectweb.asm.ClassWriter;
import jdk.internal.org.objectweb.asm.Handle;
import jdk.internal.org.objectweb.asm.MethodVisitor;
import jdk.internal.org.objectweb.asm.Opcodes;
import jdk.internal.org.objectweb.asm.Type;

class Generate implements Opcodes {
    static final String OWN = "Computed";

    public static void main(String[] args) throws Exception {
        ClassWriter writer = new ClassWriter(ClassWriter.COMPUTE_MAXS);
        writer.visit(V1_8, ACC_PUBLIC | ACC_SUPER, OWN, null, "java/lang/Object", null);
        bootstrap(writer);
        shown(writer);
        MethodVisitor main = method(writer, "main", "([Ljava/lang/String;)V");
        // const-method-handle and const-method-type
        main.visitLdcInsn(new Handle(H_INVOKEVIRTUAL, "java/lang/String", "concat", "(Ljava/lang/String;)Ljava/lang/String;", false));
        main.visitLdcInsn("con");
        main.visitLdcInsn("cat");
        main.visitMethodInsn(INVOKEVIRTUAL, "java/lang/invoke/MethodHandle", "invokeExact",
            "(Ljava/lang/String;Ljava/lang/String;)Ljava/lang/String;", false);
        show(main);
        main.visitLdcInsn(Type.getMethodType("(IJLjava/lang/Object;[D)V"));
        show(main);
        // invoke-custom, with every kind of argument
        Handle bootstrap = new Handle(H_INVOKESTATIC, OWN, "bootstrap",
            "(Ljava/lang/invoke/MethodHandles$Lookup;Ljava/lang/String;Ljava/lang/invoke/MethodType;[Ljava/lang/Object;)Ljava/lang/invoke/CallSite;", false);
        for (int round = 0; round < 2; round++) {
            main.visitLdcInsn("given ");
            main.visitInvokeDynamicInsn("site" + round, "(Ljava/lang/String;)Ljava/lang/Object;", bootstrap, 1, 2L, 3f, 4.0, "five",
                Type.getObjectType("java/util/Map"), Type.getMethodType("(Z)C"),
                new Handle(H_INVOKESTATIC, "java/lang/Integer", "bitCount", "(I)I", false));
            show(main);
        }
        main.visitInsn(RETURN);
        main.visitMaxs(0, 0);
        main.visitEnd();
        writer.visitEnd();
        Files.write(Path.of(args[0], OWN + ".class"), writer.toByteArray());
    }

    static MethodVisitor method(ClassWriter writer, String name, String descriptor) {
        MethodVisitor code = writer.visitMethod(ACC_PUBLIC | ACC_STATIC, name, descriptor, null, null);
        code.visitCode();
        return code;
    }

    static void show(MethodVisitor code) {
        code.visitMethodInsn(INVOKESTATIC, OWN, "show", "(Ljava/lang/Object;)V", false);
    }

    static void shown(ClassWriter writer) {
        MethodVisitor code = method(writer, "show", "(Ljava/lang/Object;)V");
        code.visitFieldInsn(GETSTATIC, "java/lang/System", "out", "Ljava/io/PrintStream;");
        code.visitVarInsn(ALOAD, 0);
        code.visitMethodInsn(INVOKEVIRTUAL, "java/io/PrintStream", "println", "(Ljava/lang/Object;)V", false);
        code.visitInsn(RETURN);
        code.visitMaxs(0, 0);
        code.visitEnd();
    }

    /** Binds String.concat to the text of name and arguments. */
    static void bootstrap(ClassWriter writer) {
        MethodVisitor code = method(writer, "bootstrap",
            "(Ljava/lang/invoke/MethodHandles$Lookup;Ljava/lang/String;Ljava/lang/invoke/MethodType;[Ljava/lang/Object;)Ljava/lang/invoke/CallSite;");
        code.visitTypeInsn(NEW, "java/lang/invoke/ConstantCallSite");
        code.visitInsn(DUP);
        code.visitLdcInsn(new Handle(H_INVOKEVIRTUAL, "java/lang/String", "concat", "(Ljava/lang/String;)Ljava/lang/String;", false));
        code.visitInsn(ICONST_1);
        code.visitInsn(ICONST_1);
        code.visitTypeInsn(ANEWARRAY, "java/lang/Object");
        code.visitInsn(DUP);
        code.visitInsn(ICONST_0);
        code.visitVarInsn(ALOAD, 1);
        code.visitVarInsn(ALOAD, 3);
        code.visitMethodInsn(INVOKESTATIC, "java/util/Arrays", "toString", "([Ljava/lang/Object;)Ljava/lang/String;", false);
        code.visitMethodInsn(INVOKEVIRTUAL, "java/lang/String", "concat", "(Ljava/lang/String;)Ljava/lang/String;", false);
        code.visitInsn(AASTORE);
        code.visitMethodInsn(INVOKESTATIC, "java/lang/invoke/MethodHandles", "insertArguments",
            "(Ljava/lang/invoke/MethodHandle;I[Ljava/lang/Object;)Ljava/lang/invoke/MethodHandle;", false);
        code.visitVarInsn(ALOAD, 2);
        code.visitMethodInsn(INVOKEVIRTUAL, "java/lang/invoke/MethodHandle", "asType",
            "(Ljava/lang/invoke/MethodType;)Ljava/lang/invoke/MethodHandle;", false);
        code.visitMethodInsn(INVOKESPECIAL, "java/lang/invoke/ConstantCallSite", "<init>", "(Ljava/lang/invoke/MethodHandle;)V", false);
        code.visitInsn(ARETURN);
        code.visitMaxs(0, 0);
        code.visitEnd();
    }
}
