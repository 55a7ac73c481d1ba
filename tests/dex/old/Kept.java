// SPDX-License-Identifier: Apache-2.0
// Lambdas that dx keeps as call sites; Java 8.
import java.io.Serializable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.function.Function;
import java.util.function.IntBinaryOperator;
import java.util.function.Supplier;
import java.util.stream.Collectors;

class Kept {
    final String name;

    Kept(String name) {
        this.name = name;
    }

    interface Greeter {
        String greet(String who);

        default Greeter twice() {
            return who -> greet(greet(who));
        }

        static Greeter polite() {
            return who -> "dear " + who;
        }
    }

    Supplier<String> own(int times) {
        long wide = 1L << 40;
        double real = 2.5;
        return () -> name + times + wide + real;
    }

    public static void main(String[] args) {
        List<String> words = new ArrayList<>(Arrays.asList("pear", "fig", "banana", "kiwi"));
        words.sort(Comparator.comparing(String::length).thenComparing(Comparator.naturalOrder()));
        System.out.println(words);
        Function<String, Kept> make = Kept::new;
        System.out.println(make.apply("made").own(3).get());
        IntBinaryOperator op = Math::max;
        System.out.println(op.applyAsInt(3, 9));
        System.out.println(Greeter.polite().twice().greet("you"));
        Runnable serial = (Runnable & Serializable) () -> System.out.println("runs");
        serial.run();
        System.out.println(words.stream().filter(w -> w.length() > 3).map(String::toUpperCase).collect(Collectors.joining(",")));
        int[] count = new int[1];
        Runnable adds = () -> count[0] += 5;
        adds.run();
        adds.run();
        System.out.println(count[0] + " " + (serial instanceof Serializable));
    }
}
