// SPDX-License-Identifier: Apache-2.0
package takt.framework;

import android.content.Intent;
import android.content.IntentFilter;
import android.net.Uri;
import android.os.PatternMatcher;
import com.android.server.IntentResolver;
import com.android.server.pm.Computer;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * AOSP's own IntentResolver, asked by lines; tests/e2e/tests/intent.rs compares its answers.
 *
 * <p>Fields are parted by U+001F and lists by U+001E; an absent field is a single "-". Each text
 * that may be absent or stands in a list has a "+" before it. A line begins with {@code filter},
 * {@code remove}, {@code query}, {@code uri}, {@code pattern} or {@code new}; queries, addresses
 * and patterns are answered by a line.
 */
public final class IntentScript {
    /** A filter, where it was added, and its package. */
    private record Entry(int number, String owner, IntentFilter filter) {}

    private static final class Resolver extends IntentResolver<Entry, String> {
        @Override
        protected boolean isPackageForFilter(String name, Entry entry) {
            return name.equals(entry.owner);
        }

        @Override
        protected Entry[] newArray(int size) {
            return new Entry[size];
        }

        @Override
        protected IntentFilter getIntentFilter(Entry entry) {
            return entry.filter;
        }

        @Override
        protected String newResult(Computer computer, Entry entry, int match, int user, long flags) {
            return entry.filter.getPriority() + ":" + entry.number + ":" + match;
        }

        /** As AOSP's: the greater first, equals as they came. */
        @Override
        protected void sortResults(List<String> results) {
            results.sort((one, other) -> Integer.compare(priority(other), priority(one)));
        }

        private static int priority(String result) {
            return Integer.parseInt(result.substring(0, result.indexOf(':')));
        }
    }

    private final List<Entry> entries = new ArrayList<>();
    private Resolver resolver = new Resolver();

    private IntentScript() {}

    /** Answers the lines of standard input. */
    public static void main(String[] args) throws IOException {
        Natives.load();
        IntentScript script = new IntentScript();
        StringBuilder out = new StringBuilder();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String answer = script.answer(line.split("\u001f", -1));
            if (answer != null) {
                out.append(answer).append('\n');
            }
        }
        System.out.write(out.toString().getBytes(StandardCharsets.UTF_8));
        System.out.flush();
    }

    private String answer(String[] fields) {
        switch (fields[0]) {
            case "new" -> {
                entries.clear();
                resolver = new Resolver();
            }
            case "filter" -> {
                Entry entry = new Entry(entries.size(), fields[2], filter(fields));
                entries.add(entry);
                resolver.addFilter(null, entry);
            }
            case "remove" -> resolver.removeFilter(entries.get(Integer.parseInt(fields[1])));
            case "query" -> {
                return query(fields);
            }
            case "pattern" -> {
                return String.valueOf(pattern(fields[1]) != null && pattern(fields[1]).match(fields[2]));
            }
            case "uri" -> {
                Uri uri = Uri.parse(fields[1]);
                String parts = uri.getScheme() + " " + uri.getHost() + " " + uri.getPort() + " " + uri.getPath() + " "
                        + uri.getSchemeSpecificPart();
                return parts.replaceAll("[\n\r]", "!");
            }
            default -> throw new IllegalArgumentException(Arrays.toString(fields));
        }
        return null;
    }

    private static List<String> list(String field) {
        if (field.isEmpty()) {
            return List.of();
        }
        return Arrays.stream(field.split("\u001e", -1)).map(IntentScript::optional).toList();
    }

    private static String optional(String field) {
        return field.equals("-") ? null : field.substring(1);
    }

    /** A digit for the kind, and the pattern; null if it cannot be read. */
    private static PatternMatcher pattern(String text) {
        try {
            return new PatternMatcher(text.substring(1), text.charAt(0) - '0');
        } catch (IllegalArgumentException | IndexOutOfBoundsException e) {
            return null;
        }
    }

    private static IntentFilter filter(String[] fields) {
        IntentFilter filter = new IntentFilter();
        filter.setPriority(Integer.parseInt(fields[1]));
        list(fields[3]).forEach(filter::addAction);
        list(fields[4]).forEach(filter::addCategory);
        list(fields[5]).forEach(filter::addDataScheme);
        for (String part : list(fields[6])) {
            filter.addDataSchemeSpecificPart(pattern(part));
        }
        for (String authority : list(fields[7])) {
            int colon = authority.lastIndexOf(':');
            String port = authority.substring(colon + 1);
            filter.addDataAuthority(authority.substring(0, colon), port.isEmpty() ? null : port);
        }
        for (String path : list(fields[8])) {
            filter.addDataPath(pattern(path));
        }
        for (String type : list(fields[9])) {
            try {
                filter.addDataType(type);
            } catch (IntentFilter.MalformedMimeTypeException e) {
                // Our side refuses it as well; a filter without it is compared.
            }
        }
        return filter;
    }

    private String query(String[] fields) {
        Intent intent = new Intent(optional(fields[1]));
        String data = optional(fields[3]);
        if (data != null) {
            intent.setData(Uri.parse(data));
        }
        list(fields[4]).forEach(intent::addCategory);
        String owner = optional(fields[5]);
        if (owner != null) {
            intent.setPackage(owner);
        }
        boolean isDefault = fields[6].equals("default");
        return String.valueOf(resolver.queryIntent(null, intent, optional(fields[2]), isDefault, 0));
    }
}
