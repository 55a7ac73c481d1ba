// SPDX-License-Identifier: Apache-2.0
package org.example.holder;

import android.app.Service;
import android.content.Intent;
import android.os.IBinder;
import android.util.Log;
import rtandroid.cpu.CpuPackage;

/** Holds the frequency, and says what became of it; the last lock is never given back. */
public final class Holder extends Service {
    @Override
    public int onStartCommand(Intent intent, int flags, int id) {
        say("before", CpuPackage::lockedPower);
        say("beyond", () -> lock(101));
        say("middle", () -> lock(CpuPackage.MIDDLE));
        say("again", () -> lock(CpuPackage.MIDDLE));
        say("conflict", () -> lock(CpuPackage.MAX));
        say("back", Holder::unlock);
        say("still", CpuPackage::lockedPower);
        say("all back", Holder::unlock);
        say("too often", Holder::unlock);
        say("after", CpuPackage::lockedPower);
        say("most", () -> lock(CpuPackage.MAX));
        Log.i("Holder", "done");
        return START_NOT_STICKY;
    }

    /** What can be asked. */
    private interface Question {
        Object ask();
    }

    private static void say(String what, Question question) {
        String answer;
        try {
            answer = String.valueOf(question.ask());
        } catch (RuntimeException e) {
            answer = e.getClass().getSimpleName() + ": " + e.getMessage();
        }
        Log.i("Holder", what + ": " + answer);
    }

    private static String lock(int percent) {
        CpuPackage.lockPower(percent);
        return "held";
    }

    private static String unlock() {
        CpuPackage.unlockPower();
        return "given back";
    }

    @Override
    public IBinder onBind(Intent intent) {
        return null;
    }
}
