// SPDX-License-Identifier: Apache-2.0
package takt.framework;

import android.content.Intent;
import android.content.IntentFilter;
import android.net.Uri;
import android.os.PatternMatcher;
import com.android.server.IntentResolver;
import com.android.server.pm.Computer;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * AOSP's own IntentResolver, asked by lines; tests/e2e/tests/intent.rs compares its answers.
 *
 * <p>Fields as in {@link ScriptLines}. A line begins with {@code filter}, {@code remove}, {@code
 * query}, {@code uri}, {@code pattern} or {@code new}; queries, addresses and patterns are answered
 * by a line.
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
    public static void main(String[] args) throws IOException, ReflectiveOperationException {
        Natives.load();
        IntentScript script = new IntentScript();
        ScriptLines.answer(script::answer);
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
        ScriptLines.list(fields[3]).forEach(filter::addAction);
        ScriptLines.list(fields[4]).forEach(filter::addCategory);
        ScriptLines.list(fields[5]).forEach(filter::addDataScheme);
        for (String part : ScriptLines.list(fields[6])) {
            filter.addDataSchemeSpecificPart(pattern(part));
        }
        for (String authority : ScriptLines.list(fields[7])) {
            int colon = authority.lastIndexOf(':');
            String port = authority.substring(colon + 1);
            filter.addDataAuthority(authority.substring(0, colon), port.isEmpty() ? null : port);
        }
        for (String path : ScriptLines.list(fields[8])) {
            filter.addDataPath(pattern(path));
        }
        for (String type : ScriptLines.list(fields[9])) {
            try {
                filter.addDataType(type);
            } catch (IntentFilter.MalformedMimeTypeException e) {
                // Our side refuses it as well; a filter without it is compared.
            }
        }
        return filter;
    }

    private String query(String[] fields) {
        Intent intent = new Intent(ScriptLines.optional(fields[1]));
        String data = ScriptLines.optional(fields[3]);
        if (data != null) {
            intent.setData(Uri.parse(data));
        }
        ScriptLines.list(fields[4]).forEach(intent::addCategory);
        String owner = ScriptLines.optional(fields[5]);
        if (owner != null) {
            intent.setPackage(owner);
        }
        boolean isDefault = fields[6].equals("default");
        return String.valueOf(resolver.queryIntent(null, intent, ScriptLines.optional(fields[2]), isDefault, 0));
    }
}
