// SPDX-License-Identifier: Apache-2.0
package org.example.synth;

import android.app.Service;
import android.content.Intent;
import android.os.IBinder;
import android.util.Log;

/** As {@link Tune}, played by the package's own library in C, on AAudio. */
public final class NativeTune extends Service {
    static {
        System.loadLibrary("synth");
    }

    /** Waits until all is played; says what became of it. */
    private static native String play(long[] chords, int framesOfChord);

    @Override
    public int onStartCommand(Intent intent, int flags, int startId) {
        try {
            long[] chords = Tune.chords(intent);
            int frames = Tune.framesOfChord(intent);
            new Thread(() -> {
                Log.i(Tune.TAG, play(chords, frames));
                stopSelf();
            }, "native tune").start();
        } catch (IllegalArgumentException e) {
            Log.e(Tune.TAG, "plays nothing: " + e.getMessage());
            stopSelf();
        }
        return START_NOT_STICKY;
    }

    @Override
    public IBinder onBind(Intent intent) {
        return null;
    }
}
