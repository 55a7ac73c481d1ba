// SPDX-License-Identifier: Apache-2.0
package takt.tools;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.stream.Stream;
import jdk.internal.org.objectweb.asm.ClassReader;
import jdk.internal.org.objectweb.asm.ClassVisitor;
import jdk.internal.org.objectweb.asm.MethodVisitor;
import jdk.internal.org.objectweb.asm.Opcodes;

/**
 * {@code NativeMethods PART…}: every native method that a class path declares, as {@code CLASS NAME
 * DESCRIPTOR}, sorted. A class of an earlier part hides one of a later part, as it does when a
 * program runs. The JDK's own packages are left out: the JDK has them first.
 */
public final class NativeMethods {
    private NativeMethods() {}

    public static void main(String[] parts) throws IOException {
        Map<String, List<String>> classes = new TreeMap<>();
        for (String part : parts) {
            Path path = Path.of(part);
            if (Files.isDirectory(path)) {
                folder(path, classes);
            } else {
                jar(path, classes);
            }
        }
        StringBuilder text = new StringBuilder();
        classes.values().forEach(lines -> lines.forEach(line -> text.append(line).append('\n')));
        System.out.print(text);
    }

    private static void folder(Path folder, Map<String, List<String>> classes) throws IOException {
        try (Stream<Path> files = Files.walk(folder)) {
            for (Path file : (Iterable<Path>) files::iterator) {
                if (file.toString().endsWith(".class")) {
                    read(Files.readAllBytes(file), classes);
                }
            }
        }
    }

    private static void jar(Path path, Map<String, List<String>> classes) throws IOException {
        try (JarFile jar = new JarFile(path.toFile())) {
            for (JarEntry entry : (Iterable<JarEntry>) jar.stream()::iterator) {
                String name = entry.getName();
                if (name.endsWith(".class") && !name.matches("(java|javax|sun|jdk)/.*")) {
                    try (InputStream bytes = jar.getInputStream(entry)) {
                        read(bytes.readAllBytes(), classes);
                    }
                }
            }
        }
    }

    private static void read(byte[] bytes, Map<String, List<String>> classes) {
        ClassReader reader = new ClassReader(bytes);
        String owner = reader.getClassName();
        if (classes.containsKey(owner)) {
            return;
        }
        List<String> lines = new ArrayList<>();
        reader.accept(new ClassVisitor(Opcodes.ASM8) {
            @Override
            public MethodVisitor visitMethod(int access, String name, String descriptor, String signature,
                    String[] exceptions) {
                if ((access & Opcodes.ACC_NATIVE) != 0) {
                    lines.add(owner + " " + name + " " + descriptor);
                }
                return null;
            }

            /**
             * A part of sealed classes that this reader does not go into unless it is overridden.
             */
            @Override
            @SuppressWarnings("deprecation")
            public void visitPermittedSubclassExperimental(String subclass) {}
        }, ClassReader.SKIP_CODE | ClassReader.SKIP_DEBUG | ClassReader.SKIP_FRAMES);
        classes.put(owner, lines);
    }
}
