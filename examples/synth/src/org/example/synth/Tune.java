// SPDX-License-Identifier: Apache-2.0
package org.example.synth;

import android.app.Service;
import android.content.Intent;
import android.os.IBinder;
import android.util.Log;

/**
 * Plays notes and ends: {@code --extra notes="c4 e4 c4+e4+g4"}, each for {@code --extra
 * millis=300}.
 */
public final class Tune extends Service {
    static final String TAG = "Synth";
    private static final String NOTES = "c4 e4 g4 c5 c4+e4+g4+c5";
    private static final int MILLIS = 300;
    private static final int MILLIS_MAX = 60_000;

    private Player player;

    /** What is to be played. */
    static long[] chords(Intent intent) {
        String notes = intent.getStringExtra("notes");
        return Notes.parse(notes == null ? NOTES : notes);
    }

    /** How long each of them sounds: a millisecond at least, a minute at most. */
    static int framesOfChord(Intent intent) {
        String millis = intent.getStringExtra("millis");
        int each = millis == null ? MILLIS : Integer.parseInt(millis);
        if (each < 1 || MILLIS_MAX < each) {
            throw new IllegalArgumentException("millis=" + each + " is not between 1 and " + MILLIS_MAX);
        }
        return Organ.RATE / 1000 * each;
    }

    @Override
    public int onStartCommand(Intent intent, int flags, int startId) {
        try {
            player = new Player(new Organ(), chords(intent), framesOfChord(intent), this::report);
            player.start();
        } catch (IllegalArgumentException | IllegalStateException | UnsupportedOperationException e) {
            Log.e(TAG, "plays nothing: " + e.getMessage());
            stopSelf();
        }
        return START_NOT_STICKY;
    }

    private void report(Player played) {
        Log.i(TAG, "played " + played.frames() + " frames, underruns " + played.underruns());
        stopSelf();
    }

    @Override
    public void onDestroy() {
        if (player != null) {
            player.end();
        }
    }

    @Override
    public IBinder onBind(Intent intent) {
        return null;
    }
}
