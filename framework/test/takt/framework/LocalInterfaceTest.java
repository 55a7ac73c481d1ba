// SPDX-License-Identifier: Apache-2.0
package takt.framework;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import android.os.RemoteException;
import android.view.IWindowId;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import takt.server.LocalInterface;

/** A server's methods are calls of its interface, with the interface's own parameters. */
final class LocalInterfaceTest {
    @BeforeAll
    static void load() {
        Natives.load();
    }

    private static final class Right {
        public boolean isFocused() {
            return true;
        }

        /** Of another interface. */
        public void elsewhere() {}
    }

    private static final class Wrong {
        public boolean isFocused(int window) {
            return window > 0;
        }
    }

    @Test
    void aCallIsAnswered() throws RemoteException {
        assertEquals(true, LocalInterface.of(IWindowId.class, new Right()).isFocused());
    }

    @Test
    void aMethodWithOtherParametersIsRefusedByName() {
        IllegalArgumentException refusal = assertThrows(IllegalArgumentException.class,
                () -> LocalInterface.of(IWindowId.class, new Wrong()));
        assertTrue(refusal.getMessage().endsWith("has other parameters than android.view.IWindowId.isFocused"),
                refusal.getMessage());
    }

    /** Its other half answers the call. */
    @Test
    void oneOfSeveralServersMayAnswer() throws RemoteException {
        assertEquals(true, LocalInterface.of(IWindowId.class, new Wrong(), new Right()).isFocused());
    }
}
