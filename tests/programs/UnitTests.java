// SPDX-License-Identifier: Apache-2.0

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What JUnit's console runner finds and runs; one test fails on purpose. */
class UnitTests {
    private List<Integer> numbers;

    @BeforeEach
    void prepare() {
        numbers = List.of(1, 2, 3);
    }

    @Test
    @DisplayName("a sum is right")
    void sum() {
        assertEquals(6, numbers.stream().mapToInt(i -> i).sum());
    }

    @Test
    void throwing() {
        assertThrows(UnsupportedOperationException.class, () -> numbers.add(4));
    }

    @Test
    void failing() {
        assertEquals("four", "fo" + "ur ".repeat(1));
    }

    @RepeatedTest(3)
    void futures() throws Exception {
        assertEquals(42, CompletableFuture.supplyAsync(() -> 40).thenApply(i -> i + 2).get());
    }

    @ParameterizedTest
    @CsvSource({"1, one", "22, twenty-two"})
    void parameters(int number, String name) {
        assertEquals(number > 9, name.contains("-"));
    }

    @TestFactory
    Stream<DynamicTest> dynamic() {
        return Stream.of("a", "bb").map(text -> DynamicTest.dynamicTest(text, () -> assertEquals(text, text.strip())));
    }

    @Nested
    class Inner {
        @Test
        void outer() {
            assertEquals(3, numbers.size());
        }
    }
}
