// SPDX-License-Identifier: Apache-2.0
package takt.tools;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.jar.JarFile;
import java.util.stream.IntStream;
import java.util.zip.CRC32;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;

/**
 * A package to link applications against: AOSP's manifest and its table of resources, written as
 * aapt2 of Debian reads it. Since Android 14 a table may have offsets of 16 bits and values of 8
 * bytes; older tools take only those of 32 bits and of 16 bytes. What is sparse is written in full.
 *
 * <p>{@code PlainTable JAR OUT}.
 */
public final class PlainTable {
    private static final String MANIFEST = "AndroidManifest.xml";
    private static final String TABLE = "resources.arsc";

    // Chunks of a table, and the fields of their heads.
    private static final int TYPE_PACKAGE = 0x0200;
    private static final int TYPE_TYPE = 0x0201;
    private static final int AT_SIZE = 4;
    private static final int TABLE_HEAD = 12;

    // A chunk of entries of one type.
    private static final int AT_FLAGS = 9;
    private static final int AT_COUNT = 12;
    private static final int AT_START = 16;
    private static final int FLAG_SPARSE = 1;
    private static final int FLAG_OFFSET16 = 2;
    private static final int NO_ENTRY = -1;

    // An entry.
    private static final int FLAG_COMPLEX = 1;
    private static final int FLAG_COMPACT = 8;
    private static final int ENTRY_BYTES = 8;
    private static final int VALUE_BYTES = 8;
    private static final int BAG_HEAD = 8;
    private static final int BAG_ITEM = 12;

    private final ByteBuffer table;
    private final ByteArrayOutputStream out = new ByteArrayOutputStream();

    private PlainTable(byte[] bytes) {
        table = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    }

    /** Writes OUT. */
    public static void main(String[] arguments) throws IOException {
        try (JarFile jar = new JarFile(arguments[0]);
                OutputStream file = Files.newOutputStream(Path.of(arguments[1]));
                ZipOutputStream zip = new ZipOutputStream(file)) {
            zip.setMethod(ZipOutputStream.STORED);
            store(zip, MANIFEST, read(jar, MANIFEST));
            store(zip, TABLE, new PlainTable(read(jar, TABLE)).rewritten());
        }
    }

    private static void store(ZipOutputStream zip, String name, byte[] bytes) throws IOException {
        CRC32 sum = new CRC32();
        sum.update(bytes);
        ZipEntry entry = new ZipEntry(name);
        entry.setSize(bytes.length);
        entry.setCrc(sum.getValue());
        zip.putNextEntry(entry);
        zip.write(bytes);
    }

    private static byte[] read(JarFile jar, String name) throws IOException {
        try (InputStream bytes = jar.getInputStream(jar.getEntry(name))) {
            return bytes.readAllBytes();
        }
    }

    private byte[] rewritten() {
        copy(0, TABLE_HEAD);
        chunks(TABLE_HEAD, table.capacity());
        return sized(out.toByteArray());
    }

    private void chunks(int from, int end) {
        for (int at = from; at < end; at += table.getInt(at + AT_SIZE)) {
            int size = table.getInt(at + AT_SIZE);
            switch (table.getShort(at)) {
                case TYPE_PACKAGE -> inner(at, size);
                case TYPE_TYPE -> entries(at);
                default -> copy(at, size);
            }
        }
    }

    /** A package: chunks of its own behind its head. */
    private void inner(int at, int size) {
        int head = table.getShort(at + 2);
        PlainTable inner = new PlainTable(table.array());
        inner.copy(at, head);
        inner.chunks(at + head, at + size);
        out.writeBytes(sized(inner.out.toByteArray()));
    }

    /** A type's entries for one configuration. */
    private void entries(int at) {
        int head = table.getShort(at + 2);
        int start = at + table.getInt(at + AT_START);
        int[] old = offsets(at);
        ByteArrayOutputStream entries = new ByteArrayOutputStream();
        ByteBuffer offsets = ByteBuffer.allocate(old.length * Integer.BYTES).order(ByteOrder.LITTLE_ENDIAN);
        Map<Integer, Integer> moved = new HashMap<>();
        for (int offset : old) {
            // Entries may be shared.
            offsets.putInt(offset == NO_ENTRY ? NO_ENTRY : moved.computeIfAbsent(offset, it -> {
                int place = entries.size();
                entries.writeBytes(entry(start + it));
                return place;
            }));
        }
        ByteBuffer all = ByteBuffer.allocate(head + offsets.capacity() + entries.size())
                .order(ByteOrder.LITTLE_ENDIAN);
        all.put(table.array(), at, head).put(offsets.array()).put(entries.toByteArray());
        all.put(AT_FLAGS, (byte) 0).putInt(AT_COUNT, old.length).putInt(AT_START, head + offsets.capacity());
        out.writeBytes(sized(all.array()));
    }

    /** Where each entry lies, by its number. */
    private int[] offsets(int at) {
        int flags = table.get(at + AT_FLAGS);
        int first = at + table.getShort(at + 2);
        int count = table.getInt(at + AT_COUNT);
        if ((flags & FLAG_SPARSE) == 0) {
            boolean isShort = (flags & FLAG_OFFSET16) != 0;
            return IntStream.range(0, count)
                    .map(it -> isShort ? shortOffset(first + it * 2) : table.getInt(first + it * 4)).toArray();
        }
        // Pairs of a number and an offset, by number.
        int last = count == 0 ? -1 : Short.toUnsignedInt(table.getShort(first + (count - 1) * 4));
        int[] offsets = new int[last + 1];
        Arrays.fill(offsets, NO_ENTRY);
        for (int pair = 0; pair < count; pair++) {
            int place = first + pair * 4;
            offsets[Short.toUnsignedInt(table.getShort(place))] =
                    Short.toUnsignedInt(table.getShort(place + 2)) * Integer.BYTES;
        }
        return offsets;
    }

    private int shortOffset(int at) {
        int offset = Short.toUnsignedInt(table.getShort(at));
        return offset == 0xffff ? NO_ENTRY : offset * Integer.BYTES;
    }

    private byte[] entry(int at) {
        int flags = table.getShort(at + 2);
        if ((flags & FLAG_COMPACT) == 0) {
            boolean isBag = (flags & FLAG_COMPLEX) != 0;
            int more = isBag ? BAG_HEAD + table.getInt(at + ENTRY_BYTES + 4) * BAG_ITEM : VALUE_BYTES;
            byte[] bytes = new byte[ENTRY_BYTES + more];
            table.get(at, bytes);
            return bytes;
        }
        // The key comes first, and the value's type is in the flags.
        ByteBuffer plain = ByteBuffer.allocate(ENTRY_BYTES + VALUE_BYTES).order(ByteOrder.LITTLE_ENDIAN);
        plain.putShort((short) ENTRY_BYTES).putShort((short) (flags & 0xff & ~FLAG_COMPACT));
        plain.putInt(Short.toUnsignedInt(table.getShort(at)));
        plain.putShort((short) VALUE_BYTES).put((byte) 0).put((byte) (flags >> 8));
        return plain.putInt(table.getInt(at + 4)).array();
    }

    private void copy(int at, int size) {
        out.write(table.array(), at, size);
    }

    /** With the chunk's size in its head. */
    private static byte[] sized(byte[] chunk) {
        ByteBuffer.wrap(chunk).order(ByteOrder.LITTLE_ENDIAN).putInt(AT_SIZE, chunk.length);
        return chunk;
    }
}
