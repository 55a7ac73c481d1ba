// SPDX-License-Identifier: Apache-2.0
package org.example.lander;

import android.graphics.Canvas;
import android.graphics.Color;
import android.graphics.Paint;
import android.graphics.Path;
import java.util.Random;

/** Draws a world, stretched to the canvas. What it needs is made once. */
final class Scene {
    private static final int STARS = 120;
    private static final int HILL = 40;
    private static final int STAR_SEED = 7;

    private final Paint paint = new Paint(Paint.ANTI_ALIAS_FLAG);
    private final float[] stars = new float[2 * STARS];
    private final Path ground = new Path();
    private final Path craft = new Path();
    private final Path flame = new Path();

    Scene() {
        Random random = new Random(STAR_SEED);
        for (int index = 0; index < STARS; index++) {
            stars[2 * index] = random.nextInt(World.WIDTH);
            stars[2 * index + 1] = random.nextInt(World.GROUND);
        }
        ground.moveTo(0, World.HEIGHT);
        for (int x = 0; x <= World.WIDTH; x += HILL) {
            boolean isPad = World.PAD_LEFT - HILL <= x && x <= World.PAD_RIGHT + HILL;
            ground.lineTo(x, isPad ? World.GROUND : World.GROUND - random.nextInt(HILL));
        }
        ground.lineTo(World.WIDTH, World.HEIGHT);
        ground.close();
        int half = World.CRAFT_HALF;
        craft.moveTo(0, -half);
        craft.lineTo(half, half);
        craft.lineTo(half / 2f, half / 2f);
        craft.lineTo(-half / 2f, half / 2f);
        craft.lineTo(-half, half);
        craft.close();
        flame.moveTo(-half / 2f, half / 2f);
        flame.lineTo(0, 2.2f * half);
        flame.lineTo(half / 2f, half / 2f);
        flame.close();
    }

    void draw(Canvas canvas, World world, boolean burns) {
        canvas.save();
        canvas.scale(canvas.getWidth() / (float) World.WIDTH, canvas.getHeight() / (float) World.HEIGHT);
        canvas.drawColor(Color.rgb(8, 8, 24));
        paint.setStrokeWidth(2);
        paint.setColor(Color.LTGRAY);
        canvas.drawPoints(stars, paint);
        paint.setColor(Color.rgb(110, 104, 96));
        canvas.drawPath(ground, paint);
        paint.setColor(Color.GREEN);
        canvas.drawRect(World.PAD_LEFT, World.GROUND, World.PAD_RIGHT, World.GROUND + 6, paint);
        craft(canvas, world, burns);
        instruments(canvas, world);
        canvas.restore();
    }

    private void craft(Canvas canvas, World world, boolean burns) {
        canvas.save();
        canvas.translate((float) world.x(), (float) world.y());
        canvas.rotate((float) world.degrees());
        if (burns) {
            paint.setColor(Color.rgb(255, 160, 32));
            canvas.drawPath(flame, paint);
        }
        paint.setColor(world.phase() == World.Phase.CRASHED ? Color.RED : Color.WHITE);
        canvas.drawPath(craft, paint);
        canvas.restore();
    }

    private void instruments(Canvas canvas, World world) {
        paint.setColor(Color.DKGRAY);
        canvas.drawRect(20, 20, 220, 32, paint);
        paint.setColor(Color.YELLOW);
        canvas.drawRect(20, 20, 20 + (float) (200 * world.fuel() / World.FUEL_MAX), 32, paint);
        paint.setTextSize(20);
        canvas.drawText("speed " + (int) world.speed(), 20, 60, paint);
        switch (world.phase()) {
            case LANDED -> canvas.drawText("Landed", 360, 200, paint);
            case CRASHED -> canvas.drawText("Crashed", 360, 200, paint);
            default -> { }
        }
    }
}
