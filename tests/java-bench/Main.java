// SPDX-License-Identifier: Apache-2.0

import java.util.Arrays;
import java.util.function.LongSupplier;

/**
 * Runs one program again and again: {@code Main NAME SECONDS}; prints its checksum, the median time
 * of a run and the count.
 */
public final class Main {
    /** Warm-up takes this part of the time. */
    private static final int WARM_UP_PARTS = 3;
    private static final int RUNS_MAX = 10_000;

    public static void main(String[] args) {
        if (args.length != 2) {
            System.out.println("Richards DeltaBlue Json Havlak Mandelbrot NBody Sieve Queens Fft Lu Sor Sparse "
                    + "BinaryTrees SpectralNorm");
            return;
        }
        LongSupplier program = program(args[0]);
        long budgetNs = (long) (Double.parseDouble(args[1]) * 1e9);
        long checksum = program.getAsLong();
        long start = System.nanoTime();
        while (System.nanoTime() - start < budgetNs / WARM_UP_PARTS) {
            check(checksum, program.getAsLong());
        }
        long[] runNs = new long[RUNS_MAX];
        int count = 0;
        start = System.nanoTime();
        while (count == 0 || (count < RUNS_MAX && System.nanoTime() - start < budgetNs)) {
            long before = System.nanoTime();
            check(checksum, program.getAsLong());
            runNs[count++] = System.nanoTime() - before;
        }
        Arrays.sort(runNs, 0, count);
        System.out.println(args[0] + " " + checksum + " " + runNs[count / 2] + " " + count);
    }

    private static void check(long expected, long found) {
        if (expected != found) {
            throw new AssertionError("a run gave " + found + ", the first one " + expected);
        }
    }

    private static LongSupplier program(String name) {
        return switch (name) {
            case "Richards" -> Richards::run;
            case "DeltaBlue" -> DeltaBlue::run;
            case "Json" -> Json::run;
            case "Havlak" -> Havlak::run;
            case "Mandelbrot" -> Mandelbrot::run;
            case "NBody" -> NBody::run;
            case "Sieve" -> Sieve::run;
            case "Queens" -> Queens::run;
            case "Fft" -> Fft::run;
            case "Lu" -> Lu::run;
            case "Sor" -> Sor::run;
            case "Sparse" -> Sparse::run;
            case "BinaryTrees" -> BinaryTrees::run;
            case "SpectralNorm" -> SpectralNorm::run;
            default -> throw new IllegalArgumentException(name);
        };
    }

    private Main() {
    }
}
