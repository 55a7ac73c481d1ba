// SPDX-License-Identifier: Apache-2.0
package org.example.panel;

import android.content.Context;
import android.graphics.Canvas;
import android.graphics.Color;
import android.graphics.Paint;
import android.view.View;

/** The last two seconds: the value over the set point. Drawing allocates nothing. */
final class Chart extends View {
    private static final int READINGS = 2000;
    private static final int POINTS = 200;
    private static final float VALUE_MAX = 100;
    private static final int NUMBERS = 4;

    private final Readings readings;
    private final Paint paint = new Paint(Paint.ANTI_ALIAS_FLAG);
    private final float[] lines = new float[NUMBERS * (POINTS - 1)];

    Chart(Context context, Readings readings) {
        super(context);
        this.readings = readings;
        setBackgroundColor(Color.WHITE);
    }

    @Override
    protected void onDraw(Canvas canvas) {
        paint.setStrokeWidth(1);
        paint.setColor(Color.LTGRAY);
        for (int value = 0; value <= VALUE_MAX; value += 25) {
            canvas.drawLine(0, y(value), getWidth(), y(value), paint);
        }
        paint.setColor(Color.rgb(255, 128, 0));
        canvas.drawLine(0, y(readings.setPoint()), getWidth(), y(readings.setPoint()), paint);
        for (int point = 0; point < POINTS - 1; point++) {
            int at = NUMBERS * point;
            lines[at] = x(point);
            lines[at + 1] = y(value(point));
            lines[at + 2] = x(point + 1);
            lines[at + 3] = y(value(point + 1));
        }
        paint.setStrokeWidth(2);
        paint.setColor(Color.rgb(0, 96, 160));
        canvas.drawLines(lines, paint);
    }

    private float value(int point) {
        return (float) readings.value((long) (POINTS - 1 - point) * READINGS / POINTS);
    }

    private float x(int point) {
        return (float) point * getWidth() / (POINTS - 1);
    }

    private float y(float value) {
        return (1 - value / VALUE_MAX) * (getHeight() - 2) + 1;
    }
}
