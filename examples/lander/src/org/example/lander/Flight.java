// SPDX-License-Identifier: Apache-2.0
package org.example.lander;

import android.graphics.Canvas;
import android.os.SystemClock;
import android.util.Log;
import android.view.KeyEvent;
import android.view.SurfaceHolder;

/**
 * The thread that lets time pass and draws. It runs for as long as the surface is there; a canvas
 * is there once per frame of the display, which is what holds the loop up.
 */
final class Flight extends Thread {
    private static final long STEP_MILLIS = 10;
    /** A thread that was held up does not catch up for ever. */
    private static final long STEPS_MAX = 20;

    private final SurfaceHolder holder;
    private final World world;
    private final boolean isTurned;
    private final Scene scene = new Scene();
    private final World.Controls controls = new World.Controls();
    private volatile boolean ends;

    /** @param isTurned time passes by keys alone: half a second for each */
    Flight(SurfaceHolder holder, World world, boolean isTurned) {
        super("flight");
        this.holder = holder;
        this.world = world;
        this.isTurned = isTurned;
    }

    @Override
    public void run() {
        long last = SystemClock.uptimeMillis();
        while (!ends) {
            Canvas canvas = holder.lockCanvas();
            if (canvas == null) {
                continue;
            }
            synchronized (world) {
                long now = SystemClock.uptimeMillis();
                long steps = isTurned ? 0 : Math.min((now - last) / STEP_MILLIS, STEPS_MAX);
                last = isTurned || steps == STEPS_MAX ? now : last + steps * STEP_MILLIS;
                pass(steps);
                scene.draw(canvas, world, world.burns(controls));
            }
            holder.unlockCanvasAndPost(canvas);
        }
    }

    /** Lets steps pass; the caller holds the world. */
    void pass(long steps) {
        World.Phase before = world.phase();
        for (long step = 0; step < steps; step++) {
            world.step(controls);
        }
        if (world.phase() != before) {
            Log.i(Lander.TAG, world.describe());
        }
    }

    /** False for a key that steers nothing. */
    boolean steer(int code, boolean isDown) {
        synchronized (world) {
            switch (code) {
                case KeyEvent.KEYCODE_DPAD_LEFT -> controls.left = isDown;
                case KeyEvent.KEYCODE_DPAD_RIGHT -> controls.right = isDown;
                case KeyEvent.KEYCODE_DPAD_UP -> controls.thrust = isDown;
                case KeyEvent.KEYCODE_DPAD_DOWN -> { }
                default -> {
                    return false;
                }
            }
        }
        return true;
    }

    /** Comes back when it draws no more: the surface may go. */
    void end() {
        ends = true;
        boolean wasInterrupted = false;
        while (isAlive()) {
            try {
                join();
            } catch (InterruptedException e) {
                wasInterrupted = true;
            }
        }
        if (wasInterrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
