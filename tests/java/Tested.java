// SPDX-License-Identifier: Apache-2.0

/** A test of an object's class takes nothing away of what was known of it before. */
public class Tested {
    int number = 7;

    private int asArray() {
        if ((Object) this instanceof int[] && number > 100) {
            return 0;
        }
        return number;
    }

    private static String first(String[] texts) {
        if (texts instanceof Object[] && texts.length == 1) {
            return "one, " + texts[0].length();
        }
        return texts[1].concat("!");
    }

    private static int length(Object object) {
        if (object instanceof Cloneable && object instanceof int[] numbers) {
            return numbers.length + numbers[0];
        }
        return object instanceof String text ? text.length() : -1;
    }

    private static int copied(int[] numbers) {
        if (numbers instanceof Cloneable && numbers.length > 1) {
            return numbers.clone().length;
        }
        return numbers[0];
    }

    public static void main(String[] arguments) {
        System.out.println(new Tested().asArray());
        System.out.println(first(new String[] {"a"}) + " " + first(new String[] {"a", "bc"}));
        System.out.println(length(new int[] {3, 4}) + " " + length("text") + " " + length(1L));
        System.out.println(copied(new int[] {8}) + " " + copied(new int[] {8, 9}));
    }
}
