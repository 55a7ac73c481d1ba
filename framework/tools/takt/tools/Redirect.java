// SPDX-License-Identifier: Apache-2.0
package takt.tools;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.jar.JarFile;
import jdk.internal.org.objectweb.asm.ClassReader;
import jdk.internal.org.objectweb.asm.ClassVisitor;
import jdk.internal.org.objectweb.asm.ClassWriter;
import jdk.internal.org.objectweb.asm.MethodVisitor;
import jdk.internal.org.objectweb.asm.Opcodes;
import jdk.internal.org.objectweb.asm.commons.ClassRemapper;
import jdk.internal.org.objectweb.asm.commons.Remapper;

/**
 * Some of AOSP's classes call members that Android's java.* has and the JDK's has not. This makes
 * copies of those classes, at build time, in which such a call goes to a static method of {@code
 * takt.framework.Libcore} instead; an object's method gets the object as its first argument. A
 * class that the JDK lacks becomes one of {@code takt.framework}.
 *
 * <p>{@code Redirect JAR RULES OUT}; a rule is a line {@code CLASS OWNER NAME DESCRIPTOR}, or
 * {@code CLASS MISSING} for a class of takt.framework by the same last name. A rule that ends in
 * {@code this} is for calls in an object's methods: the object itself is the last argument.
 */
public final class Redirect {
    private static final String TARGET = "takt/framework/Libcore";
    private static final String THIS = " this";

    private Redirect() {}

    /**
     * Writes the changed classes below OUT. A rule that meets nothing is an error: the jar has
     * changed.
     */
    public static void main(String[] arguments) throws IOException {
        Map<String, Set<String>> rules = new LinkedHashMap<>();
        for (String line : Files.readAllLines(Path.of(arguments[1]))) {
            if (!line.isBlank() && !line.startsWith("#")) {
                String[] words = line.split(" ", 2);
                rules.computeIfAbsent(words[0], it -> new HashSet<>()).add(words[1]);
            }
        }
        try (JarFile jar = new JarFile(arguments[0])) {
            for (Map.Entry<String, Set<String>> rule : rules.entrySet()) {
                String entry = rule.getKey() + ".class";
                Path file = Path.of(arguments[2], entry);
                Files.createDirectories(file.getParent());
                try (InputStream bytes = jar.getInputStream(jar.getEntry(entry))) {
                    Files.write(file, changed(bytes.readAllBytes(), rule.getValue()));
                }
            }
        }
    }

    private static byte[] changed(byte[] bytes, Set<String> members) {
        ClassReader reader = new ClassReader(bytes);
        ClassWriter writer = new ClassWriter(0);
        Set<String> unmet = new HashSet<>(members);
        reader.accept(new ClassVisitor(Opcodes.ASM8, types(writer, members, unmet)) {
            @Override
            public MethodVisitor visitMethod(int access, String name, String descriptor, String signature,
                    String[] exceptions) {
                MethodVisitor next = super.visitMethod(access, name, descriptor, signature, exceptions);
                return new Calls(next, reader.getClassName(), members, unmet);
            }
        }, 0);
        if (!unmet.isEmpty()) {
            throw new IllegalStateException(reader.getClassName() + " does not call " + unmet);
        }
        return writer.toByteArray();
    }

    /** Missing classes by ours. */
    private static ClassVisitor types(ClassVisitor next, Set<String> members, Set<String> unmet) {
        return new ClassRemapper(next, new Remapper() {
            @Override
            public String map(String type) {
                if (!members.contains(type)) {
                    return type;
                }
                unmet.remove(type);
                return "takt/framework" + type.substring(type.lastIndexOf('/'));
            }
        });
    }

    /** One method's calls. */
    private static final class Calls extends MethodVisitor {
        private final String self;
        private final Set<String> members;
        private final Set<String> unmet;

        Calls(MethodVisitor next, String self, Set<String> members, Set<String> unmet) {
            super(Opcodes.ASM8, next);
            this.self = self;
            this.members = members;
            this.unmet = unmet;
        }

        @Override
        public void visitMethodInsn(int opcode, String owner, String name, String descriptor, boolean isInterface) {
            String member = owner + " " + name + " " + descriptor;
            boolean takesSelf = members.contains(member + THIS);
            if (!takesSelf && !members.contains(member)) {
                super.visitMethodInsn(opcode, owner, name, descriptor, isInterface);
                return;
            }
            unmet.remove(takesSelf ? member + THIS : member);
            boolean hasObject = opcode != Opcodes.INVOKESTATIC;
            String arguments = hasObject ? "(L" + owner + ";" + descriptor.substring(1) : descriptor;
            if (takesSelf) {
                super.visitVarInsn(Opcodes.ALOAD, 0);
                arguments = arguments.replace(")", "L" + self + ";)");
            }
            super.visitMethodInsn(Opcodes.INVOKESTATIC, TARGET, name, arguments, false);
        }

        /** With the object itself, where it is an argument. */
        @Override
        public void visitMaxs(int stack, int locals) {
            super.visitMaxs(stack + 1, locals);
        }
    }
}
