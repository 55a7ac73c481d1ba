// SPDX-License-Identifier: Apache-2.0
package takt.server;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;

/**
 * Changes of AOSP's behaviour that wait for an application's target SDK. The list is made of the
 * jar's own by takt.tools.Changes.
 */
public final class Changes {
    private static final String LIST = "changes.txt";

    private Changes() {}

    /** The ids of those that are off for an application. */
    public static long[] disabledFor(int targetSdk) {
        InputStream list = Changes.class.getResourceAsStream(LIST);
        if (list == null) {
            throw new IllegalStateException("no " + LIST + " beside the classes: cargo xtask framework");
        }
        try (BufferedReader lines = new BufferedReader(new InputStreamReader(list, StandardCharsets.UTF_8))) {
            return lines.lines().map(it -> it.split(" ")).filter(it -> isOff(it[1], targetSdk))
                    .mapToLong(it -> Long.parseLong(it[0])).toArray();
        } catch (IOException e) {
            throw new IllegalStateException("cannot read " + LIST, e);
        }
    }

    private static boolean isOff(String level, int targetSdk) {
        return level.equals("never") || targetSdk < Integer.parseInt(level);
    }
}
