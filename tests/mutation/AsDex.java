// SPDX-License-Identifier: Apache-2.0

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.zip.Adler32;

/**
 * A {@link Universe} as a DEX file, by the format's description: version 035, one file for all
 * classes.
 */
final class AsDex {
    private static final int HEADER_BYTES = 0x70;
    private static final int PUBLIC = 0x1;
    private static final int STATIC = 0x8;
    private static final int INTERFACE = 0x600;
    private static final int CONSTRUCTOR = 0x10000;

    private record Proto(String result, String parameter) {
    }

    private record Member(String holder, String name, Proto proto, String fieldType) {
    }

    private record Body(int registers, int ins, List<Integer> units) {
    }

    private final Universe universe;
    private final TreeSet<String> strings = new TreeSet<>();
    private final List<String> stringList;
    private final List<String> types;
    private final List<Proto> protos;
    private final List<Member> fields = new ArrayList<>();
    private final List<Member> methods = new ArrayList<>();
    private final ByteBuffer out = ByteBuffer.allocate(1 << 16).order(ByteOrder.LITTLE_ENDIAN);
    private final List<int[]> map = new ArrayList<>();

    private AsDex(Universe universe) {
        this.universe = universe;
        TreeSet<String> typeSet = new TreeSet<>(List.of("V", descriptor(Universe.OBJECT)));
        for (Universe.Type type : universe.types.values()) {
            typeSet.add(descriptor(type.name()));
            typeSet.add(descriptor(type.fieldType()));
        }
        for (Universe.Step step : universe.code) {
            typeSet.add(descriptor(step.type()));
        }
        types = new ArrayList<>(typeSet);
        TreeSet<Proto> protoSet = new TreeSet<>(Comparator.comparing((Proto it) -> types.indexOf(it.result))
            .thenComparing(it -> it.parameter == null ? -1 : types.indexOf(it.parameter)));
        members(protoSet);
        protos = new ArrayList<>(protoSet);
        strings.addAll(types);
        strings.addAll(List.of("f", "<init>", "run", "take", "VL", "LL"));
        stringList = new ArrayList<>(strings);
        Comparator<Member> byName = Comparator.comparing((Member it) -> types.indexOf(it.holder))
            .thenComparing(it -> stringList.indexOf(it.name));
        fields.sort(byName);
        methods.sort(byName.thenComparing(it -> protos.indexOf(it.proto)));
    }

    static byte[] of(Universe universe) throws Exception {
        return new AsDex(universe).write();
    }

    private static String descriptor(String name) {
        return "L" + name + ";";
    }

    private void members(TreeSet<Proto> protoSet) {
        Proto plain = new Proto("V", null);
        methods.add(new Member(descriptor(Universe.OBJECT), "<init>", plain, null));
        for (Universe.Type type : universe.types.values()) {
            String holder = descriptor(type.name());
            // An interface may be named as a superclass.
            methods.add(new Member(holder, "<init>", plain, null));
            fields.add(new Member(holder, "f", null, descriptor(type.fieldType())));
        }
        String test = descriptor(Universe.TEST);
        for (Universe.Step step : universe.code) {
            Member take = new Member(test, "take", new Proto("V", descriptor(step.type())), null);
            if (step.kind() == Universe.Kind.PASS && !methods.contains(take)) {
                methods.add(take);
            }
        }
        methods.add(new Member(test, "run", new Proto(descriptor(universe.result()), descriptor(universe.argument())), null));
        methods.forEach(it -> protoSet.add(it.proto));
    }

    private int method(String holder, String name) {
        for (int i = 0; i < methods.size(); i++) {
            if (methods.get(i).holder.equals(holder) && methods.get(i).name.equals(name)) {
                return i;
            }
        }
        throw new AssertionError(holder + name);
    }

    private Body body(Member method) {
        List<Integer> units = new ArrayList<>();
        if (method.name.equals("take")) {
            units.add(0x0e);
            return new Body(1, 1, units);
        }
        if (method.name.equals("<init>")) {
            String name = method.holder.substring(1, method.holder.length() - 1);
            units.addAll(List.of(0x1070, method(descriptor(universe.types.get(name).parent()), "<init>"), 0, 0x0e));
            return new Body(1, 1, units);
        }
        for (Universe.Step step : universe.code) {
            int type = types.indexOf(descriptor(step.type()));
            switch (step.kind()) {
                case NEW -> units.addAll(List.of(0x22, type, 0x1070, method(descriptor(step.type()), "<init>"), 0));
                case NULL -> units.add(0x12);
                case ARGUMENT -> units.add(0x1007);
                case FIELD -> units.addAll(List.of(0x54, field(step.type())));
                case PASS -> units.addAll(List.of(0x1071, take(step.type()), 0));
                case CAST -> units.addAll(List.of(0x1f, type));
                default -> units.add(0x11);
            }
        }
        return new Body(2, 1, units);
    }

    private int field(String name) {
        return fields.indexOf(new Member(descriptor(name), "f", null, descriptor(universe.types.get(name).fieldType())));
    }

    private int take(String name) {
        return methods.indexOf(new Member(descriptor(Universe.TEST), "take", new Proto("V", descriptor(name)), null));
    }

    private void align() {
        while (out.position() % 4 != 0) {
            out.put((byte) 0);
        }
    }

    private void leb(int value) {
        int rest = value;
        while (rest >= 0x80) {
            out.put((byte) (rest & 0x7f | 0x80));
            rest >>>= 7;
        }
        out.put((byte) rest);
    }

    private void section(int kind, int count, int start) {
        if (count > 0) {
            map.add(new int[] {kind, count, start});
        }
    }

    private byte[] write() throws Exception {
        List<Universe.Type> classes = new ArrayList<>(universe.types.values());
        int stringIds = HEADER_BYTES;
        int typeIds = stringIds + 4 * stringList.size();
        int protoIds = typeIds + 4 * types.size();
        int fieldIds = protoIds + 12 * protos.size();
        int methodIds = fieldIds + 8 * fields.size();
        int classDefs = methodIds + 8 * methods.size();
        int data = classDefs + 32 * classes.size();
        section(0, 1, 0);
        section(1, stringList.size(), stringIds);
        section(2, types.size(), typeIds);
        section(3, protos.size(), protoIds);
        section(4, fields.size(), fieldIds);
        section(5, methods.size(), methodIds);
        section(6, classes.size(), classDefs);
        out.position(data);
        TreeMap<String, Integer> lists = lists(classes);
        List<Integer> codes = codes();
        List<Integer> classData = classData(classes, codes);
        int stringData = out.position();
        section(0x2002, stringList.size(), stringData);
        for (int i = 0; i < stringList.size(); i++) {
            out.putInt(stringIds + 4 * i, out.position());
            leb(stringList.get(i).length());
            out.put(stringList.get(i).getBytes(StandardCharsets.US_ASCII)).put((byte) 0);
        }
        align();
        int mapAt = out.position();
        section(0x1000, 1, mapAt);
        out.putInt(map.size());
        for (int[] each : map) {
            out.putShort((short) each[0]).putShort((short) 0).putInt(each[1]).putInt(each[2]);
        }
        int end = out.position();
        out.position(typeIds);
        types.forEach(it -> out.putInt(stringList.indexOf(it)));
        for (Proto proto : protos) {
            out.putInt(stringList.indexOf(shorty(proto))).putInt(types.indexOf(proto.result));
            out.putInt(proto.parameter == null ? 0 : lists.get(proto.parameter));
        }
        for (Member field : fields) {
            out.putShort((short) types.indexOf(field.holder)).putShort((short) types.indexOf(field.fieldType));
            out.putInt(stringList.indexOf(field.name));
        }
        for (Member method : methods) {
            out.putShort((short) types.indexOf(method.holder)).putShort((short) protos.indexOf(method.proto));
            out.putInt(stringList.indexOf(method.name));
        }
        for (int i = 0; i < classes.size(); i++) {
            Universe.Type type = classes.get(i);
            out.putInt(types.indexOf(descriptor(type.name()))).putInt(PUBLIC | (type.isInterface() ? INTERFACE : 0));
            out.putInt(types.indexOf(descriptor(type.parent())));
            out.putInt(type.interfaces().isEmpty() ? 0 : lists.get(descriptor(type.interfaces().get(0))));
            out.putInt(-1).putInt(0).putInt(classData.get(i)).putInt(0);
        }
        return headed(end, mapAt, data, classes.size());
    }

    private static String shorty(Proto proto) {
        return proto.parameter == null ? "V" : proto.result.equals("V") ? "VL" : "LL";
    }

    /** One list of one type for each parameter or interface. */
    private TreeMap<String, Integer> lists(List<Universe.Type> classes) {
        TreeMap<String, Integer> lists = new TreeMap<>();
        protos.stream().filter(it -> it.parameter != null).forEach(it -> lists.put(it.parameter, 0));
        classes.forEach(type -> type.interfaces().forEach(it -> lists.put(descriptor(it), 0)));
        section(0x1001, lists.size(), out.position());
        for (String each : lists.keySet()) {
            align();
            lists.put(each, out.position());
            out.putInt(1).putShort((short) types.indexOf(each));
        }
        align();
        return lists;
    }

    private boolean isDefined(Member method) {
        Universe.Type type = universe.types.get(method.holder.substring(1, method.holder.length() - 1));
        return type != null && !type.isInterface();
    }

    private List<Integer> codes() {
        List<Integer> places = new ArrayList<>();
        int start = out.position();
        for (Member method : methods) {
            align();
            places.add(isDefined(method) ? out.position() : 0);
            if (isDefined(method)) {
                Body body = body(method);
                out.putShort((short) body.registers).putShort((short) body.ins).putShort((short) 1).putShort((short) 0);
                out.putInt(0).putInt(body.units.size());
                body.units.forEach(it -> out.putShort((short) (int) it));
            }
        }
        section(0x2001, (int) places.stream().filter(it -> it != 0).count(), start);
        return places;
    }

    private List<Integer> classData(List<Universe.Type> classes, List<Integer> codes) {
        List<Integer> places = new ArrayList<>();
        int start = out.position();
        int count = 0;
        for (Universe.Type type : classes) {
            if (type.isInterface()) {
                places.add(0);
                continue;
            }
            count++;
            places.add(out.position());
            List<Integer> own = new ArrayList<>();
            for (int i = 0; i < methods.size(); i++) {
                if (methods.get(i).holder.equals(descriptor(type.name()))) {
                    own.add(i);
                }
            }
            leb(0);
            leb(1);
            leb(own.size());
            leb(0);
            leb(field(type.name()));
            leb(PUBLIC);
            int before = 0;
            for (int index : own) {
                leb(index - before);
                before = index;
                boolean isConstructor = methods.get(index).name.equals("<init>");
                leb(PUBLIC | (isConstructor ? CONSTRUCTOR : STATIC));
                leb(codes.get(index));
            }
        }
        section(0x2000, count, start);
        return places;
    }

    private byte[] headed(int end, int mapAt, int data, int classCount) throws Exception {
        out.position(0);
        out.put("dex\n035\0".getBytes(StandardCharsets.US_ASCII));
        out.position(32);
        out.putInt(end).putInt(HEADER_BYTES).putInt(0x12345678).putInt(0).putInt(0).putInt(mapAt);
        int at = HEADER_BYTES;
        int[][] tables = {{stringList.size(), 4}, {types.size(), 4}, {protos.size(), 12}, {fields.size(), 8},
            {methods.size(), 8}, {classCount, 32}};
        for (int[] table : tables) {
            out.putInt(table[0]).putInt(table[0] == 0 ? 0 : at);
            at += table[0] * table[1];
        }
        out.putInt(end - data).putInt(data);
        byte[] bytes = java.util.Arrays.copyOf(out.array(), end);
        MessageDigest sha = MessageDigest.getInstance("SHA-1");
        sha.update(bytes, 32, end - 32);
        System.arraycopy(sha.digest(), 0, bytes, 12, 20);
        Adler32 sum = new Adler32();
        sum.update(bytes, 12, end - 12);
        ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).putInt(8, (int) sum.getValue());
        return bytes;
    }
}
