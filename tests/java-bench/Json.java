// SPDX-License-Identifier: Apache-2.0

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Reads and writes a document: strings, builders, lists and maps of the class library. */
final class Json {
    private static final int ROWS = 60;
    private static final String DOCUMENT = document();

    private final String text;
    private int at;

    private Json(String text) {
        this.text = text;
    }

    static long run() {
        Object value = new Json(DOCUMENT).value();
        StringBuilder out = new StringBuilder();
        write(value, out);
        if (!out.toString().equals(DOCUMENT)) {
            throw new AssertionError("what was read is not what is written");
        }
        return out.toString().hashCode() * 31L + sum(value);
    }

    private static String document() {
        Random32 random = new Random32(3);
        StringBuilder out = new StringBuilder("{\"kind\":\"rows\",\"rows\":[");
        for (int row = 0; row < ROWS; row++) {
            out.append(row == 0 ? "" : ",").append("{\"id\":").append(row);
            out.append(",\"name\":\"name \\\"").append(random.below(1000)).append("\\\" of a row\"");
            out.append(",\"weight\":").append(random.below(100_000)).append(",\"isOpen\":").append(row % 3 == 0);
            out.append(",\"none\":null,\"list\":[").append(random.below(9)).append(",[],{},-").append(row + 1);
            out.append("]}");
        }
        return out.append("]}").toString();
    }

    private Object value() {
        char c = text.charAt(at);
        switch (c) {
            case '{':
                return object();
            case '[':
                return list();
            case '"':
                return string();
            case 't':
                return word("true", Boolean.TRUE);
            case 'f':
                return word("false", Boolean.FALSE);
            case 'n':
                return word("null", null);
            default:
                return number();
        }
    }

    private Map<String, Object> object() {
        Map<String, Object> map = new LinkedHashMap<>();
        at++;
        while (text.charAt(at) != '}') {
            if (text.charAt(at) == ',') {
                at++;
            }
            String key = string();
            at++;
            map.put(key, value());
        }
        at++;
        return map;
    }

    private List<Object> list() {
        List<Object> list = new ArrayList<>();
        at++;
        while (text.charAt(at) != ']') {
            if (text.charAt(at) == ',') {
                at++;
            }
            list.add(value());
        }
        at++;
        return list;
    }

    private String string() {
        StringBuilder out = new StringBuilder();
        at++;
        for (char c = text.charAt(at++); c != '"'; c = text.charAt(at++)) {
            out.append(c == '\\' ? text.charAt(at++) : c);
        }
        return out.toString();
    }

    private Object word(String word, Object value) {
        if (!text.startsWith(word, at)) {
            throw new IllegalStateException("at " + at);
        }
        at += word.length();
        return value;
    }

    private Long number() {
        int start = at;
        if (text.charAt(at) == '-') {
            at++;
        }
        while (at < text.length() && text.charAt(at) >= '0' && text.charAt(at) <= '9') {
            at++;
        }
        return Long.parseLong(text.substring(start, at));
    }

    private static void write(Object value, StringBuilder out) {
        if (value instanceof Map<?, ?> map) {
            String between = "{";
            for (Map.Entry<?, ?> entry : map.entrySet()) {
                out.append(between);
                write(entry.getKey(), out);
                out.append(':');
                write(entry.getValue(), out);
                between = ",";
            }
            out.append(map.isEmpty() ? "{}" : "}");
        } else if (value instanceof List<?> list) {
            out.append('[');
            for (int i = 0; i < list.size(); i++) {
                if (i > 0) {
                    out.append(',');
                }
                write(list.get(i), out);
            }
            out.append(']');
        } else if (value instanceof String text) {
            out.append('"');
            for (int i = 0; i < text.length(); i++) {
                char c = text.charAt(i);
                if (c == '"') {
                    out.append('\\');
                }
                out.append(c);
            }
            out.append('"');
        } else {
            out.append(value);
        }
    }

    private static long sum(Object value) {
        long sum = 1;
        if (value instanceof Map<?, ?> map) {
            for (Object inner : map.values()) {
                sum += sum(inner);
            }
        } else if (value instanceof List<?> list) {
            for (Object inner : list) {
                sum += sum(inner);
            }
        } else if (value instanceof Long number) {
            sum += number;
        }
        return sum;
    }
}
