// SPDX-License-Identifier: Apache-2.0
package org.example.firstday;

import android.content.ContentResolver;
import android.database.ContentObserver;
import android.net.Uri;
import android.provider.Settings;

/** The device's settings: who may change which, and who hears of it. */
public final class Choices extends Day {
    private static final class Heard extends ContentObserver {
        /** Hears at once. */
        Heard() {
            super(null);
        }

        @Override
        public void onChange(boolean isOwn, Uri uri) {
            say("heard", () -> uri + " " + isOwn);
        }
    }

    @Override
    void day() {
        ContentResolver contents = getContentResolver();
        contents.registerContentObserver(Settings.System.getUriFor(Settings.System.SCREEN_OFF_TIMEOUT), false,
                new Heard());
        say("may", () -> Settings.System.canWrite(this));
        say("brightness", () -> Settings.System.getInt(contents, Settings.System.SCREEN_BRIGHTNESS));
        say("before", () -> Settings.System.getInt(contents, Settings.System.SCREEN_OFF_TIMEOUT, -1));
        say("put", () -> Settings.System.putInt(contents, Settings.System.SCREEN_OFF_TIMEOUT, 30_000));
        say("same", () -> Settings.System.putInt(contents, Settings.System.SCREEN_OFF_TIMEOUT, 30_000));
        say("got", () -> Settings.System.getInt(contents, Settings.System.SCREEN_OFF_TIMEOUT));
        say("null", () -> Settings.System.putString(contents, Settings.System.SCREEN_OFF_TIMEOUT, null)
                + " " + Settings.System.getString(contents, Settings.System.SCREEN_OFF_TIMEOUT));
        say("kept", () -> Settings.System.putInt(contents, Settings.System.SCREEN_BRIGHTNESS, 77));
        say("own", () -> Settings.System.putInt(contents, "own_setting", 1));
        say("private", () -> Settings.System.putInt(contents, "pointer_speed", 1));
        say("secure", () -> Settings.Secure.putInt(contents, Settings.Secure.DEFAULT_INPUT_METHOD, 1));
        say("global", () -> Settings.Global.putInt(contents, Settings.Global.AIRPLANE_MODE_ON, 1));
        say("moved", () -> Settings.System.putInt(contents, Settings.Global.AIRPLANE_MODE_ON, 1));
        say("airplane", () -> Settings.Global.getInt(contents, Settings.Global.AIRPLANE_MODE_ON));
        say("missing", () -> Settings.System.getInt(contents, "nothing"));
        say("android id", () -> Settings.Secure.putString(contents, Settings.Secure.ANDROID_ID, "0"));
    }
}
