// SPDX-License-Identifier: Apache-2.0
package org.example.synth;

import android.app.Activity;
import android.os.Bundle;
import android.util.Log;
import android.view.KeyEvent;

/**
 * Two octaves to be played with fingers, or with the letters of a keyboard: {@code a s d f g h j k}
 * are the white keys from c4 on, {@code w e t y u} the black ones.
 */
public final class Keyboard extends Activity {
    private static final String LETTERS = "awsedftgyhujk";

    private final Organ organ = new Organ();
    private Player player;
    private Keys keys;

    @Override
    protected void onCreate(Bundle state) {
        super.onCreate(state);
        keys = new Keys(this, organ);
        setContentView(keys);
        try {
            player = new Player(organ, Keyboard::report);
            player.start();
        } catch (IllegalStateException | UnsupportedOperationException e) {
            Log.e(Tune.TAG, "plays nothing: " + e.getMessage());
        }
    }

    @Override
    public boolean onKeyDown(int code, KeyEvent event) {
        return turn(code, true) || super.onKeyDown(code, event);
    }

    @Override
    public boolean onKeyUp(int code, KeyEvent event) {
        return turn(code, false) || super.onKeyUp(code, event);
    }

    private boolean turn(int code, boolean isDown) {
        int place = LETTERS.indexOf('a' + code - KeyEvent.KEYCODE_A);
        if (place < 0) {
            return false;
        }
        keys.turn(Keys.FIRST + place, isDown);
        return true;
    }

    @Override
    protected void onDestroy() {
        super.onDestroy();
        if (player != null) {
            player.end();
        }
    }

    private static void report(Player played) {
        Log.i(Tune.TAG, "keyboard: " + played.frames() + " frames, underruns " + played.underruns());
    }
}
