// SPDX-License-Identifier: Apache-2.0
package agent;

/** What an agent may change. */
public class Main {
    static class Word {
        static String get() {
            return "plain";
        }
    }

    static class Failing {
        static String get() {
            return "plain";
        }
    }

    static class Broken {
    }

    interface Getter {
        String get();
    }

    public static void main(String[] args) {
        System.out.println(Word.get() + " " + Failing.get());
        Getter lambda = () -> "plain";
        System.out.println(lambda.get());
        try {
            System.out.println(new Broken());
        } catch (ClassFormatError e) {
            System.out.println("broken");
        }
    }
}
