// SPDX-License-Identifier: Apache-2.0
package takt.tools;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Lists the changes of AOSP's behaviour that an application's target SDK switches: {@code Changes
 * JAR OUT}. A line is {@code ID LEVEL}: on from that level on. What no level switches on is not in
 * the list when it is always on, and has the level {@code never} when it is off.
 */
public final class Changes {
    private static final String SUFFIX = "_compat_config.xml";
    private static final Pattern CHANGE = Pattern.compile("<compat-change ([^>]*)>");
    private static final Pattern ATTRIBUTE = Pattern.compile("(\\w+)=\"([^\"]*)\"");

    private Changes() {}

    /** A jar without any is an error: it has changed. */
    public static void main(String[] arguments) throws IOException {
        List<String> lines = new ArrayList<>();
        try (JarFile jar = new JarFile(arguments[0])) {
            for (JarEntry entry : Collections.list(jar.entries())) {
                if (entry.getName().endsWith(SUFFIX)) {
                    try (InputStream bytes = jar.getInputStream(entry)) {
                        read(new String(bytes.readAllBytes(), StandardCharsets.UTF_8), lines);
                    }
                }
            }
        }
        if (lines.isEmpty()) {
            throw new IllegalStateException(arguments[0] + " has no *" + SUFFIX);
        }
        Collections.sort(lines);
        Path out = Path.of(arguments[1]);
        Files.createDirectories(out.getParent());
        Files.write(out, lines);
    }

    private static void read(String text, List<String> lines) {
        Matcher change = CHANGE.matcher(text);
        while (change.find()) {
            String id = null;
            String level = null;
            Matcher attribute = ATTRIBUTE.matcher(change.group(1));
            while (attribute.find()) {
                String value = attribute.group(2);
                switch (attribute.group(1)) {
                    case "id" -> id = value;
                    case "enableSinceTargetSdk" -> level = value;
                    case "enableAfterTargetSdk" -> level = String.valueOf(Integer.parseInt(value) + 1);
                    case "disabled" -> level = "never";
                    default -> { }
                }
            }
            if (level != null) {
                lines.add(id + " " + level);
            }
        }
    }
}
