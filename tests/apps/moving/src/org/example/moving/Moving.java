// SPDX-License-Identifier: Apache-2.0
package org.example.moving;

import android.app.Activity;
import android.graphics.Color;
import android.graphics.ImageDecoder;
import android.graphics.drawable.Animatable2;
import android.graphics.drawable.AnimatedImageDrawable;
import android.graphics.drawable.AnimatedVectorDrawable;
import android.graphics.drawable.AnimationDrawable;
import android.graphics.drawable.ColorDrawable;
import android.graphics.drawable.Drawable;
import android.os.Bundle;
import android.os.Looper;
import android.util.Log;
import android.view.KeyEvent;
import android.widget.ImageView;
import android.widget.LinearLayout;
import android.widget.ProgressBar;
import java.io.IOException;
import java.nio.ByteBuffer;

/** Drawables that move: a vector, a picture of several frames, a list of frames. S starts them. */
public final class Moving extends Activity {
    private static final String TAG = "Moving";
    private static final int SIDE = 100;
    private static final int FRAME_MILLIS = 50;
    /** A GIF of one pixel: red for a tenth of a second, then blue. */
    private static final int[] PICTURE = {'G', 'I', 'F', '8', '9', 'a', 1, 0, 1, 0, 0x80, 0, 0, 0xff, 0, 0, 0, 0, 0xff,
        0x21, 0xf9, 4, 0, 10, 0, 0, 0, 0x2c, 0, 0, 0, 0, 1, 0, 1, 0, 0, 2, 2, 0x44, 1, 0,
        0x21, 0xf9, 4, 0, 10, 0, 0, 0, 0x2c, 0, 0, 0, 0, 1, 0, 1, 0, 0, 2, 2, 0x4c, 1, 0, 0x3b};

    private AnimatedVectorDrawable vector;
    private AnimatedImageDrawable picture;
    private AnimationDrawable frames;

    @Override
    protected void onCreate(Bundle state) {
        super.onCreate(state);
        LinearLayout row = new LinearLayout(this);
        int turning = getResources().getIdentifier("turning", "drawable", getPackageName());
        vector = (AnimatedVectorDrawable) getDrawable(turning);
        vector.registerAnimationCallback(new Said("vector"));
        add(row, vector);
        try {
            picture = (AnimatedImageDrawable) ImageDecoder.decodeDrawable(ImageDecoder.createSource(bytes()));
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
        picture.registerAnimationCallback(new Said("picture"));
        add(row, picture);
        frames = new AnimationDrawable() {
            @Override
            public boolean selectDrawable(int index) {
                Log.i(TAG, "frame " + index);
                return super.selectDrawable(index);
            }
        };
        frames.addFrame(new ColorDrawable(Color.GREEN), FRAME_MILLIS);
        frames.addFrame(new ColorDrawable(Color.YELLOW), FRAME_MILLIS);
        frames.setOneShot(true);
        add(row, frames);
        row.addView(new ProgressBar(this), SIDE, SIDE);
        setContentView(row);
    }

    private static ByteBuffer bytes() {
        ByteBuffer bytes = ByteBuffer.allocate(PICTURE.length);
        for (int value : PICTURE) {
            bytes.put((byte) value);
        }
        bytes.rewind();
        return bytes;
    }

    private void add(LinearLayout row, Drawable drawable) {
        ImageView view = new ImageView(this);
        view.setScaleType(ImageView.ScaleType.FIT_XY);
        view.setImageDrawable(drawable);
        row.addView(view, SIDE, SIDE);
    }

    @Override
    public boolean onKeyDown(int code, KeyEvent event) {
        if (code != KeyEvent.KEYCODE_S) {
            return super.onKeyDown(code, event);
        }
        vector.start();
        picture.start();
        frames.start();
        return true;
    }

    /** Says when it has ended. */
    private static final class Said extends Animatable2.AnimationCallback {
        private final String name;

        Said(String name) {
            this.name = name;
        }

        @Override
        public void onAnimationEnd(Drawable drawable) {
            Log.i(TAG, name + " ended, main " + Looper.getMainLooper().isCurrentThread());
        }
    }
}
