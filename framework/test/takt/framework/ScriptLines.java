// SPDX-License-Identifier: Apache-2.0
package takt.framework;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;

/**
 * Lines by which a test asks AOSP's classes. Fields are parted by U+001F and lists by U+001E; an
 * absent field is a single "-". Each text that may be absent or stands in a list has a "+" before
 * it.
 */
final class ScriptLines {
    /** What a line is answered by; null for nothing. */
    interface Answers {
        String answer(String[] fields) throws ReflectiveOperationException;
    }

    private ScriptLines() {}

    /** Answers the lines of standard input, when all are read. */
    static void answer(Answers answers) throws IOException, ReflectiveOperationException {
        StringBuilder out = new StringBuilder();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String answer = answers.answer(line.split("\u001f", -1));
            if (answer != null) {
                out.append(answer).append('\n');
            }
        }
        System.out.write(out.toString().getBytes(StandardCharsets.UTF_8));
        System.out.flush();
    }

    static List<String> list(String field) {
        if (field.isEmpty()) {
            return List.of();
        }
        return Arrays.stream(field.split("\u001e", -1)).map(ScriptLines::optional).toList();
    }

    static String optional(String field) {
        return field.equals("-") ? null : field.substring(1);
    }
}
