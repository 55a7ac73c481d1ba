// SPDX-License-Identifier: Apache-2.0
package org.example.synth;

import android.content.Context;
import android.graphics.Canvas;
import android.graphics.Color;
import android.graphics.Paint;
import android.view.MotionEvent;
import android.view.View;

/** Keys of two octaves. Each finger holds the key that it is on. */
final class Keys extends View {
    /** c4. */
    static final int FIRST = 24;
    private static final int KEYS_OF_OCTAVE = 12;
    private static final int[] WHITES = {0, 2, 4, 5, 7, 9, 11};
    /** Right of which white key there is a black one. */
    private static final boolean[] HAS_BLACK = {true, true, false, true, true, true, false};
    private static final int WHITE_COUNT = 14;
    private static final float BLACK_WIDTH = 0.6f;
    private static final float BLACK_HEIGHT = 0.6f;
    private static final int FINGERS = 10;

    private final Organ organ;
    private final Paint paint = new Paint();
    /** The key of each finger; -1 for none. */
    private final int[] fingers = new int[FINGERS];
    private long held;

    Keys(Context context, Organ organ) {
        super(context);
        this.organ = organ;
        java.util.Arrays.fill(fingers, -1);
    }

    void turn(int key, boolean isDown) {
        held = isDown ? held | 1L << key : held & ~(1L << key);
        if (isDown) {
            organ.press(key);
        } else {
            organ.release(key);
        }
        invalidate();
    }

    private static int white(int index) {
        int whites = WHITES.length;
        return FIRST + index / whites * KEYS_OF_OCTAVE + WHITES[index % whites];
    }

    private static boolean hasBlack(int index) {
        return HAS_BLACK[index % HAS_BLACK.length] && index + 1 < WHITE_COUNT;
    }

    private int at(float x, float y) {
        float width = getWidth() / (float) WHITE_COUNT;
        if (y < getHeight() * BLACK_HEIGHT) {
            int left = Math.round(x / width) - 1;
            boolean isNear = Math.abs(x - (left + 1) * width) < width * BLACK_WIDTH / 2;
            if (isNear && 0 <= left && left < WHITE_COUNT && hasBlack(left)) {
                return white(left) + 1;
            }
        }
        int index = (int) (x / width);
        return 0 <= x && index < WHITE_COUNT ? white(index) : -1;
    }

    @Override
    public boolean onTouchEvent(MotionEvent event) {
        int action = event.getActionMasked();
        boolean isUp = action == MotionEvent.ACTION_UP || action == MotionEvent.ACTION_CANCEL;
        for (int i = 0; i < event.getPointerCount(); i++) {
            boolean lifts = isUp || (action == MotionEvent.ACTION_POINTER_UP && i == event.getActionIndex());
            move(event.getPointerId(i), lifts ? -1 : at(event.getX(i), event.getY(i)));
        }
        return true;
    }

    private void move(int finger, int key) {
        if (finger < 0 || FINGERS <= finger || fingers[finger] == key) {
            return;
        }
        if (fingers[finger] >= 0) {
            turn(fingers[finger], false);
        }
        fingers[finger] = key;
        if (key >= 0) {
            turn(key, true);
        }
    }

    @Override
    protected void onDraw(Canvas canvas) {
        float width = getWidth() / (float) WHITE_COUNT;
        for (int i = 0; i < WHITE_COUNT; i++) {
            draw(canvas, white(i), Color.WHITE, i * width + 1, (i + 1) * width - 1, getHeight());
        }
        float half = width * BLACK_WIDTH / 2;
        for (int i = 0; i < WHITE_COUNT; i++) {
            if (hasBlack(i)) {
                float middle = (i + 1) * width;
                draw(canvas, white(i) + 1, Color.BLACK, middle - half, middle + half, getHeight() * BLACK_HEIGHT);
            }
        }
    }

    private void draw(Canvas canvas, int key, int colour, float left, float right, float height) {
        boolean isHeld = (held >>> key & 1) != 0;
        paint.setColor(isHeld ? Color.rgb(0x33, 0x99, 0xff) : colour);
        canvas.drawRect(left, 0, right, height, paint);
    }
}
