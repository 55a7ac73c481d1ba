// SPDX-License-Identifier: Apache-2.0
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Locale;

/** Strings: concatenation, switches, interning, encodings, formatting, regular expressions. */
public class Strings {
    static int number(String name) {
        switch (name) {
            case "one":
                return 1;
            case "two":
            case "zwei":
                return 2;
            case "Aa":
                return 3;
            case "BB":
                return 4;
            default:
                return -1;
        }
    }

    static String season(int month) {
        return switch (month) {
            case 12, 1, 2 -> "winter";
            case 3, 4, 5 -> "spring";
            case 100_000 -> "far";
            default -> {
                String s = "other";
                yield s + month;
            }
        };
    }

    public static void main(String[] args) {
        String a = "con" + args.length + 'c' + 1.5f + 2.5 + 3L + true + null + new int[0].length;
        System.out.println(a);
        for (String name : new String[] {"one", "zwei", "Aa", "BB", "x"}) {
            System.out.print(number(name) + " ");
        }
        System.out.println(season(1) + season(4) + season(100_000) + season(7));
        System.out.println(("con" + args.length).intern() == "con0");
        String wide = "naïve ☃ \ud83d\ude00 end";
        System.out.println(wide.length() + " " + wide.codePointCount(0, wide.length()) + " " + wide.indexOf('☃') + " " + wide.toUpperCase(Locale.ROOT).length());
        System.out.println(Arrays.toString(wide.getBytes(StandardCharsets.UTF_8)));
        System.out.println(new String(wide.getBytes(StandardCharsets.UTF_16), StandardCharsets.UTF_16).equals(wide));
        System.out.println(String.format(Locale.ROOT, "%5d|%-5s|%08.3f|%x|%,d|%e", 42, "ab", Math.PI, 255, 1234567, 12345.678));
        System.out.println("a1b22c".replaceAll("[0-9]+", "#") + " " + "x,y,,z".split(",").length + " " + "  trim ".strip() + " " + "ab".repeat(3));
        System.out.println("hello".hashCode() + " " + "Hello".compareTo("hello") + " " + "hello".contains("ell") + " " + String.join("-", "a", "b", "c"));
        StringBuilder builder = new StringBuilder();
        for (int i = 0; i < 20; i++) {
            builder.append(i).append(i % 2 == 0 ? "e" : 'o');
        }
        System.out.println(builder.reverse().insert(3, "<>").deleteCharAt(0));
        System.out.println("""
            text block
              indented "quotes"
            """);
        System.out.println("lines\nof\ntext".lines().map(String::toUpperCase).toList());
        System.out.println(Integer.toString(-255, 16) + " " + Long.parseLong("-9223372036854775808") + " " + Double.parseDouble("1e-3") + " " + Integer.valueOf(127).equals(127));
        char[] chars = {'x', '\u00e9', '\u4e2d'};
        System.out.println(String.valueOf(chars) + " " + Character.isLetter(chars[2]) + " " + (int) Character.toUpperCase(chars[1]));
    }
}
