// SPDX-License-Identifier: Apache-2.0
package takt.tools;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDateTime;
import java.util.List;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;

/**
 * A jar of AOSP's that fits a guest's memory: what lies below some folders, in the order of its
 * names and with one date, so that the same jar gives the same bytes. Not compressed: inflating
 * would be the guest's work.
 *
 * <p>{@code Trim JAR LIST OUT}; a line of the list is the start of an entry's name. A line that
 * meets nothing is an error.
 */
public final class Trim {

    /** Where the format's calendar begins. */
    private static final LocalDateTime FIRST_DAY = LocalDateTime.of(1980, 1, 1, 0, 0);

    private Trim() {}

    /** Writes OUT. */
    public static void main(String[] arguments) throws IOException {
        List<String> starts = Files.readAllLines(Path.of(arguments[1])).stream()
                .filter(line -> !line.isBlank() && !line.startsWith("#")).toList();
        try (JarFile jar = new JarFile(arguments[0]);
                OutputStream out = Files.newOutputStream(Path.of(arguments[2]));
                ZipOutputStream trimmed = new ZipOutputStream(out)) {
            trimmed.setMethod(ZipOutputStream.STORED);
            List<JarEntry> entries = jar.stream()
                    .filter(entry -> !entry.isDirectory() && starts.stream().anyMatch(entry.getName()::startsWith))
                    .sorted((one, other) -> one.getName().compareTo(other.getName())).toList();
            for (String start : starts) {
                if (entries.stream().noneMatch(entry -> entry.getName().startsWith(start))) {
                    throw new IOException("nothing in " + arguments[0] + " starts with " + start);
                }
            }
            for (JarEntry entry : entries) {
                ZipEntry copy = new ZipEntry(entry.getName());
                copy.setTimeLocal(FIRST_DAY);
                copy.setSize(entry.getSize());
                copy.setCrc(entry.getCrc());
                trimmed.putNextEntry(copy);
                try (InputStream bytes = jar.getInputStream(entry)) {
                    bytes.transferTo(trimmed);
                }
                trimmed.closeEntry();
            }
        }
    }
}
