// SPDX-License-Identifier: Apache-2.0
package org.example.twins;

import android.app.Service;
import android.content.Intent;
import android.os.IBinder;
import android.os.Process;
import android.util.Log;
import java.io.File;
import java.io.IOException;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.SplittableRandom;
import java.util.UUID;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Says what its process has of its own, and loads classes of the framework that no start needs:
 * tests/e2e/tests/template.rs compares two.
 */
public abstract class Twin extends Service {
    private static final String TAG = "Twin";
    /** Calendars, formats and collation: code of the jar that the template does not load. */
    private static final String[] CLASSES = {
        "android.icu.util.BuddhistCalendar", "android.icu.util.ChineseCalendar", "android.icu.util.CopticCalendar",
        "android.icu.util.EthiopicCalendar", "android.icu.util.HebrewCalendar", "android.icu.util.IndianCalendar",
        "android.icu.util.IslamicCalendar", "android.icu.util.JapaneseCalendar", "android.icu.util.TaiwanCalendar",
        "android.icu.text.RuleBasedCollator", "android.icu.text.RuleBasedBreakIterator",
        "android.icu.text.RuleBasedNumberFormat", "android.icu.text.SimpleDateFormat",
        "android.icu.text.MessageFormat", "android.icu.text.PluralRules", "android.icu.text.Transliterator",
        "android.icu.text.SpoofChecker", "android.icu.text.UnicodeSet", "android.icu.text.DecimalFormat",
        "android.media.MediaCodec", "android.media.MediaExtractor", "android.media.ExifInterface",
        "android.bluetooth.BluetoothAdapter", "android.hardware.camera2.CaptureRequest",
        "android.net.wifi.WifiManager", "android.nfc.NfcAdapter", "android.print.PrintManager",
        "android.telephony.TelephonyManager", "android.webkit.WebSettings", "android.widget.CalendarView",
        "android.widget.DatePicker", "android.widget.GridLayout", "android.widget.NumberPicker",
        "android.widget.RemoteViews", "android.widget.TableLayout", "android.widget.TimePicker",
    };

    @Override
    public int onStartCommand(Intent intent, int flags, int id) {
        try {
            say();
        } catch (IOException e) {
            Log.e(TAG, "no file", e);
        }
        return START_NOT_STICKY;
    }

    private void say() throws IOException {
        List<Integer> shuffled = new ArrayList<>();
        for (int index = 0; index < 50; index++) {
            shuffled.add(index);
        }
        Collections.shuffle(shuffled);
        say("math", Math.random());
        say("random", new Random().nextLong());
        say("local", ThreadLocalRandom.current().nextLong());
        say("splittable", new SplittableRandom().nextLong());
        say("secure", new SecureRandom().nextLong());
        say("uuid", UUID.randomUUID());
        say("shuffled", shuffled.hashCode());
        say("hash", System.identityHashCode(new Object()));
        say("pid", Process.myPid());
        say("tid", Process.myTid());
        File file = File.createTempFile("twin", null, getCacheDir());
        say("file", file.getName());
        int methods = 0;
        for (String name : CLASSES) {
            methods += methodsOf(name);
        }
        Log.i(TAG, "loaded " + CLASSES.length + " classes, " + methods + " methods, home " + System.getProperty("user.home"));
    }

    private static int methodsOf(String name) {
        try {
            return Class.forName(name, false, Twin.class.getClassLoader()).getDeclaredMethods().length;
        } catch (ClassNotFoundException e) {
            throw new IllegalStateException(e);
        }
    }

    private static void say(String what, Object value) {
        Log.i(TAG, "own " + what + " " + value);
    }

    @Override
    public IBinder onBind(Intent intent) {
        return null;
    }
}
