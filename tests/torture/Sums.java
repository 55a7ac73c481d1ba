// SPDX-License-Identifier: Apache-2.0

package torture;

import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.infra.Blackhole;

/** A benchmark as people write them: state, parameters, set-up, a black hole. */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class Sums {
    @Param({"10", "1000"})
    int size;

    private int[] numbers;
    private long last;

    @Setup
    public void fill() {
        numbers = new int[size];
        for (int i = 0; i < size; i++) {
            numbers[i] = i;
        }
    }

    @Benchmark
    public long sum() {
        long sum = 0;
        for (int number : numbers) {
            sum += number;
        }
        last = sum;
        return sum;
    }

    @Benchmark
    public void boxes(Blackhole hole) {
        for (int number : numbers) {
            hole.consume(Integer.valueOf(number));
        }
    }

    @TearDown
    public void check() {
        if (last != 0 && last != (long) size * (size - 1) / 2) {
            throw new AssertionError("the sum of " + size + " is not " + last);
        }
    }
}
