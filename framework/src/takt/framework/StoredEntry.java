// SPDX-License-Identifier: Apache-2.0
package takt.framework;

import android.content.res.ApkAssets;
import android.os.ParcelFileDescriptor;
import java.io.File;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.zip.ZipEntry;

/** A file of a package as a part of the package's own file: for who wants a descriptor of it. */
final class StoredEntry {
    private static final int END_BYTES = 22;
    private static final int END_MAGIC = 0x0605_4b50;
    private static final int CENTRAL_BYTES = 46;
    private static final int CENTRAL_MAGIC = 0x0201_4b50;
    private static final int LOCAL_BYTES = 30;
    private static final int LOCAL_MAGIC = 0x0403_4b50;
    /** A comment has no more. */
    private static final int COMMENT_BYTES_MAX = 65_535;

    private StoredEntry() {}

    /**
     * Opens the package and fills in where the file begins and how long it is; null if the package
     * has none of this name.
     */
    static ParcelFileDescriptor open(ApkAssets assets, String name, long[] place) throws IOException {
        String path = assets.getAssetPath();
        if (path == null || !new File(path).isFile()) {
            return null;
        }
        try (RandomAccessFile file = new RandomAccessFile(path, "r")) {
            if (!find(file, name, place)) {
                return null;
            }
        }
        return ParcelFileDescriptor.open(new File(path), ParcelFileDescriptor.MODE_READ_ONLY);
    }

    private static boolean find(RandomAccessFile file, String name, long[] place) throws IOException {
        ByteBuffer directory = directory(file);
        byte[] wanted = name.getBytes(StandardCharsets.UTF_8);
        while (directory.remaining() >= CENTRAL_BYTES && directory.getInt(directory.position()) == CENTRAL_MAGIC) {
            int start = directory.position();
            byte[] own = new byte[Short.toUnsignedInt(directory.getShort(start + 28))];
            directory.position(start + CENTRAL_BYTES).get(own);
            if (Arrays.equals(own, wanted)) {
                fillIn(file, directory, start, place);
                return true;
            }
            directory.position(start + CENTRAL_BYTES + own.length
                    + Short.toUnsignedInt(directory.getShort(start + 30))
                    + Short.toUnsignedInt(directory.getShort(start + 32)));
        }
        return false;
    }

    private static void fillIn(RandomAccessFile file, ByteBuffer directory, int start, long[] place)
            throws IOException {
        if (directory.getShort(start + 10) != ZipEntry.STORED) {
            throw new FileNotFoundException(
                    "This file can not be opened as a file descriptor; it is probably compressed");
        }
        long local = Integer.toUnsignedLong(directory.getInt(start + 42));
        ByteBuffer header = read(file, local, LOCAL_BYTES);
        if (header.getInt(0) != LOCAL_MAGIC) {
            throw new IOException("damaged package: no entry at " + local);
        }
        place[0] = local + LOCAL_BYTES + Short.toUnsignedInt(header.getShort(26))
                + Short.toUnsignedInt(header.getShort(28));
        place[1] = Integer.toUnsignedLong(directory.getInt(start + 24));
    }

    /** The list of entries, which the end of the file names. */
    private static ByteBuffer directory(RandomAccessFile file) throws IOException {
        long size = file.length();
        int tail = (int) Math.min(size, END_BYTES + COMMENT_BYTES_MAX);
        ByteBuffer end = read(file, size - tail, tail);
        for (int at = tail - END_BYTES; at >= 0; at--) {
            if (end.getInt(at) == END_MAGIC) {
                return read(file, Integer.toUnsignedLong(end.getInt(at + 16)), end.getInt(at + 12));
            }
        }
        throw new IOException("damaged package: it has no end");
    }

    private static ByteBuffer read(RandomAccessFile file, long from, int size) throws IOException {
        if (size < 0 || from + size > file.length()) {
            throw new IOException("damaged package: it ends early");
        }
        byte[] bytes = new byte[size];
        file.seek(from);
        file.readFully(bytes);
        return ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    }
}
