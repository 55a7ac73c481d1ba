// SPDX-License-Identifier: Apache-2.0

import org.mozilla.javascript.Context;
import org.mozilla.javascript.Scriptable;

/**
 * Rhino, interpreting and compiling: closures, regular expressions, JSON, exceptions, Java objects.
 */
public class Script {
    private static final String SOURCE = """
        var primes = [];
        for (var i = 2; primes.length < 50; i++) {
            if (primes.every(function (p) { return i % p; })) primes.push(i);
        }
        function Counter(n) { this.next = function () { return n++; }; }
        var counter = new Counter(5), words = "the quick brown fox".replace(/(\\w+) (\\w+)/g, "$2 $1");
        var fib = (function () { var seen = {}; return function f(n) {
            return n < 2 ? n : seen[n] || (seen[n] = f(n - 1) + f(n - 2)); }; })();
        var caught; try { null.x; } catch (e) { caught = e.name; }
        var list = new java.util.ArrayList(); list.add("java"); list.add(counter.next() + counter.next());
        JSON.stringify({primes: primes.slice(-5), words: words, fib: fib(70), caught: caught, list: "" + list,
            number: (0.1 + 0.2).toFixed(3), sorted: [3, 1, 2].sort().reverse()});
        """;

    public static void main(String[] args) {
        for (int level : new int[] {-1, 0, 9}) {
            Context context = Context.enter();
            try {
                context.setOptimizationLevel(level);
                Scriptable scope = context.initStandardObjects();
                System.out.println(level + " " + Context.toString(
                    context.evaluateString(scope, SOURCE, "script", 1, null)));
            } finally {
                Context.exit();
            }
        }
    }
}
