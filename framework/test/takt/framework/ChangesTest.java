// SPDX-License-Identifier: Apache-2.0
package takt.framework;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import takt.server.Changes;

/** Changes of behaviour by target SDK. */
final class ChangesTest {
    /** A pending intent has to say whether it is immutable: after 30. */
    private static final long EXPLICIT_MUTABILITY = 160794467;
    /** An implicit one that is mutable is refused: since 34. */
    private static final long NO_MUTABLE_IMPLICIT = 236704164;
    /** Always on. */
    private static final long DROP_CLOSE_SYSTEM_DIALOGS = 174664120;

    private static boolean isOn(long change, int targetSdk) {
        return LongStream.of(Changes.disabledFor(targetSdk)).noneMatch(it -> it == change);
    }

    @Test
    void aChangeWaitsForItsTarget() {
        assertEquals(false, isOn(EXPLICIT_MUTABILITY, 30));
        assertEquals(true, isOn(EXPLICIT_MUTABILITY, 31));
        assertEquals(false, isOn(NO_MUTABLE_IMPLICIT, 33));
        assertEquals(true, isOn(NO_MUTABLE_IMPLICIT, 34));
        assertEquals(true, isOn(DROP_CLOSE_SYSTEM_DIALOGS, 1));
    }
}
