// SPDX-License-Identifier: Apache-2.0
package dalvik.system;

import java.io.File;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.net.MalformedURLException;
import java.net.URL;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;

/** One element of a path of DEX code: a file or package, or bytes in memory. */
final class DexCode {
    /** As messages name it. */
    private final String name;
    /** The package that resources are read from, if it is one. */
    private final File archive;
    /** The machine's numbers of the DEX files, in order. */
    private final long[] files;

    private DexCode(String name, File archive, List<Long> files) {
        this.name = name;
        this.archive = archive;
        this.files = files.stream().mapToLong(Long::longValue).toArray();
    }

    /** Reads a .dex file, or classes.dex, classes2.dex, … of a package. */
    static DexCode read(File file) throws IOException {
        List<Long> files = new ArrayList<>();
        if (!file.exists()) {
            throw new FileNotFoundException(file + ": no such file");
        }
        if (file.isDirectory()) {
            return new DexCode("directory \"" + file + "\"", null, files);
        }
        if (isDex(file)) {
            files.add(open(file.getPath(), Files.readAllBytes(file.toPath())));
            return new DexCode("dex file \"" + file + "\"", null, files);
        }
        try (ZipFile zip = new ZipFile(file)) {
            for (int number = 1; ; number++) {
                String entryName = number == 1 ? "classes.dex" : "classes" + number + ".dex";
                ZipEntry entry = zip.getEntry(entryName);
                if (entry == null) {
                    break;
                }
                try (InputStream in = zip.getInputStream(entry)) {
                    files.add(open(file + "!" + entryName, in.readAllBytes()));
                }
            }
        }
        return new DexCode("zip file \"" + file + "\"", file, files);
    }

    /** Takes a copy of what remains in a buffer. */
    static DexCode of(ByteBuffer buffer) throws IOException {
        byte[] bytes = new byte[buffer.remaining()];
        buffer.duplicate().get(bytes);
        return new DexCode("InMemoryDexFile", null, List.of(open("InMemoryDexFile", bytes)));
    }

    private static boolean isDex(File file) throws IOException {
        try (InputStream in = Files.newInputStream(file.toPath())) {
            byte[] magic = in.readNBytes(4);
            return magic.length == 4 && magic[0] == 'd' && magic[1] == 'e' && magic[2] == 'x' && magic[3] == '\n';
        }
    }

    /** The class of this name, defined for a loader; null if it is not here. */
    Class<?> define(String name, ClassLoader loader) {
        for (long file : files) {
            Class<?> found = define(file, name, loader);
            if (found != null) {
                return found;
            }
        }
        return null;
    }

    /** The names of all classes, sorted. */
    Set<String> names() {
        Set<String> names = new TreeSet<>();
        for (long file : files) {
            names.addAll(Arrays.asList(names(file)));
        }
        return names;
    }

    boolean hasCode() {
        return files.length > 0;
    }

    /** An entry of the package. */
    URL resource(String name) {
        if (archive == null) {
            return null;
        }
        try (ZipFile zip = new ZipFile(archive)) {
            if (zip.getEntry(name) != null) {
                return new URL("jar:" + archive.toURI() + "!/" + name);
            }
        } catch (MalformedURLException e) {
            throw new IllegalArgumentException(name, e);
        } catch (IOException e) {
            // As if it were not there.
        }
        return null;
    }

    @Override
    public String toString() {
        return name;
    }

    /** Verifies a DEX file and keeps it for good. */
    private static native long open(String name, byte[] bytes) throws IOException;

    private static native String[] names(long file);

    private static native Class<?> define(long file, String name, ClassLoader loader);
}
