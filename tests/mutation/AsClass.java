// SPDX-License-Identifier: Apache-2.0

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.Map;

/** A class of a {@link Universe} as a class file of Java 7. */
final class AsClass {
    /** HotSpot has one verifier from here on; for older files the error of a second one counts. */
    private static final int JAVA_7 = 51;
    private static final int PUBLIC = 0x1;
    private static final int STATIC = 0x8;
    private static final int SUPER = 0x20;
    private static final int INTERFACE = 0x600;

    private final Universe universe;
    private final Universe.Type type;
    private final Map<String, Integer> places = new LinkedHashMap<>();
    private final ByteArrayOutputStream poolBytes = new ByteArrayOutputStream();
    private final DataOutputStream pool = new DataOutputStream(poolBytes);

    private AsClass(Universe universe, Universe.Type type) {
        this.universe = universe;
        this.type = type;
    }

    static byte[] of(Universe universe, String name) throws IOException {
        return new AsClass(universe, universe.types.get(name)).write();
    }

    private int utf8(String text) throws IOException {
        if (!places.containsKey(text)) {
            pool.writeByte(1);
            pool.writeUTF(text);
            places.put(text, places.size() + 1);
        }
        return places.get(text);
    }

    private int pair(int tag, String key, int first, int second) throws IOException {
        if (!places.containsKey(key)) {
            pool.writeByte(tag);
            pool.writeShort(first);
            if (second != 0) {
                pool.writeShort(second);
            }
            places.put(key, places.size() + 1);
        }
        return places.get(key);
    }

    private int classAt(String name) throws IOException {
        return pair(7, "class " + name, utf8(name), 0);
    }

    private int member(int tag, String holder, String name, String descriptor) throws IOException {
        int both = pair(12, "name " + name + descriptor, utf8(name), utf8(descriptor));
        return pair(tag, "member " + holder + " " + name + descriptor, classAt(holder), both);
    }

    private static String descriptor(String name) {
        return "L" + name + ";";
    }

    private byte[] write() throws IOException {
        ByteArrayOutputStream restBytes = new ByteArrayOutputStream();
        DataOutputStream rest = new DataOutputStream(restBytes);
        rest.writeShort(PUBLIC | (type.isInterface() ? INTERFACE : SUPER));
        rest.writeShort(classAt(type.name()));
        rest.writeShort(classAt(type.parent()));
        rest.writeShort(type.interfaces().size());
        for (String each : type.interfaces()) {
            rest.writeShort(classAt(each));
        }
        rest.writeShort(type.isInterface() ? 0 : 1);
        if (!type.isInterface()) {
            rest.writeShort(PUBLIC);
            rest.writeShort(utf8("f"));
            rest.writeShort(utf8(descriptor(type.fieldType())));
            rest.writeShort(0);
        }
        methods(rest);
        rest.writeShort(0);
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(bytes);
        out.writeInt(0xcafebabe);
        out.writeInt(JAVA_7);
        out.writeShort(places.size() + 1);
        poolBytes.writeTo(out);
        restBytes.writeTo(out);
        return bytes.toByteArray();
    }

    private void methods(DataOutputStream out) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream methods = new DataOutputStream(bytes);
        int count = 0;
        if (!type.isInterface()) {
            count++;
            ByteArrayOutputStream code = new ByteArrayOutputStream();
            DataOutputStream steps = new DataOutputStream(code);
            steps.write(0x2a);
            steps.write(0xb7);
            steps.writeShort(member(10, type.parent(), "<init>", "()V"));
            steps.write(0xb1);
            method(methods, PUBLIC, "<init>", "()V", code.toByteArray());
        }
        if (type.name().equals(Universe.TEST)) {
            for (String each : universe.code.stream().filter(it -> it.kind() == Universe.Kind.PASS)
                .map(Universe.Step::type).distinct().toList()) {
                count++;
                method(methods, PUBLIC | STATIC, "take", "(" + descriptor(each) + ")V", new byte[] {(byte) 0xb1});
            }
            count++;
            String signature = "(" + descriptor(universe.argument()) + ")" + descriptor(universe.result());
            method(methods, PUBLIC | STATIC, "run", signature, code());
        }
        out.writeShort(count);
        bytes.writeTo(out);
    }

    private void method(DataOutputStream out, int access, String name, String descriptor, byte[] code) throws IOException {
        out.writeShort(access);
        out.writeShort(utf8(name));
        out.writeShort(utf8(descriptor));
        out.writeShort(1);
        out.writeShort(utf8("Code"));
        out.writeInt(12 + code.length);
        out.writeShort(3);
        out.writeShort(2);
        out.writeInt(code.length);
        out.write(code);
        out.writeInt(0);
    }

    private byte[] code() throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(bytes);
        for (Universe.Step step : universe.code) {
            switch (step.kind()) {
                case NEW -> {
                    out.write(0xbb);
                    out.writeShort(classAt(step.type()));
                    out.write(0x59);
                    out.write(0xb7);
                    out.writeShort(member(10, step.type(), "<init>", "()V"));
                }
                case NULL -> out.write(0x01);
                case ARGUMENT -> out.write(0x2a);
                case FIELD -> {
                    out.write(0xb4);
                    out.writeShort(member(9, step.type(), "f", descriptor(universe.types.get(step.type()).fieldType())));
                }
                case PASS -> {
                    out.write(0x59);
                    out.write(0xb8);
                    out.writeShort(member(10, Universe.TEST, "take", "(" + descriptor(step.type()) + ")V"));
                }
                case CAST -> {
                    out.write(0xc0);
                    out.writeShort(classAt(step.type()));
                }
                default -> out.write(0xb0);
            }
        }
        return bytes.toByteArray();
    }
}
