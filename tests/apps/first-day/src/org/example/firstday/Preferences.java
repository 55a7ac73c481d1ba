// SPDX-License-Identifier: Apache-2.0
package org.example.firstday;

import android.content.SharedPreferences;
import java.io.File;
import java.util.Set;
import java.util.TreeMap;

/** What most applications do first: they keep what their user prefers. */
public final class Preferences extends Day {
    private static final String NAME = "user";

    /** The preferences hold listeners weakly. */
    private final SharedPreferences.OnSharedPreferenceChangeListener listener =
            (preferences, key) -> say("heard", () -> key);

    @Override
    void day() {
        SharedPreferences preferences = getSharedPreferences(NAME, MODE_PRIVATE);
        say("before", () -> new TreeMap<>(preferences.getAll()));
        preferences.registerOnSharedPreferenceChangeListener(listener);
        say("commit", () -> preferences.edit().putString("name", "Ä & <b>").putInt("count", 3)
                .putBoolean("loud", true).putLong("when", 1L << 40).putFloat("speed", 1.5f).commit());
        say("commit", () -> preferences.edit().putStringSet("set", Set.of("one")).remove("loud").commit());
        say("after", () -> new TreeMap<>(preferences.getAll()));
        say("file", () -> new File(getDataDir(), "shared_prefs/" + NAME + ".xml").length() > 100);
        say("files", () -> getFilesDir().isDirectory() && getCacheDir().isDirectory()
                && getNoBackupFilesDir().isDirectory() && getCodeCacheDir().isDirectory());
        say("deleted", () -> deleteSharedPreferences("other"));
    }
}
