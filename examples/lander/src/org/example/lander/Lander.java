// SPDX-License-Identifier: Apache-2.0
package org.example.lander;

import android.app.Activity;
import android.os.Bundle;
import android.util.Log;
import android.view.KeyEvent;
import android.view.MotionEvent;
import android.view.SurfaceHolder;
import android.view.SurfaceView;

/**
 * Land on the green pad, upright and slowly: left and right turn the craft, up burns fuel; so does
 * a finger at the sides and in the middle. R begins the activity anew, with the flight as it was; N
 * begins a new flight.
 *
 * <p>With {@code --extra clock=keys} time passes by keys alone, half a second each: such a
 * flight can be repeated, whatever the machine does. Down only lets time pass.
 */
public final class Lander extends Activity implements SurfaceHolder.Callback {
    static final String TAG = "Lander";
    private static final int STEPS_PER_KEY = 50;

    private World world = new World();
    private boolean isTurned;
    private Flight flight;
    private SurfaceView view;

    @Override
    protected void onCreate(Bundle state) {
        super.onCreate(state);
        isTurned = "keys".equals(getIntent().getStringExtra("clock"));
        if (state != null) {
            world.restore(state);
            Log.i(TAG, "restored " + world.describe());
        }
        view = new SurfaceView(this);
        view.getHolder().addCallback(this);
        setContentView(view);
    }

    @Override
    protected void onSaveInstanceState(Bundle state) {
        super.onSaveInstanceState(state);
        synchronized (world) {
            world.save(state);
        }
    }

    @Override
    public void surfaceCreated(SurfaceHolder holder) {
        flight = new Flight(holder, world, isTurned);
        flight.start();
    }

    @Override
    public void surfaceChanged(SurfaceHolder holder, int format, int width, int height) {}

    @Override
    public void surfaceDestroyed(SurfaceHolder holder) {
        flight.end();
        flight = null;
    }

    @Override
    public boolean onKeyDown(int code, KeyEvent event) {
        switch (code) {
            case KeyEvent.KEYCODE_R -> recreate();
            case KeyEvent.KEYCODE_N -> begin();
            default -> {
                return steer(code, true) || super.onKeyDown(code, event);
            }
        }
        return true;
    }

    @Override
    public boolean onKeyUp(int code, KeyEvent event) {
        return steer(code, false) || super.onKeyUp(code, event);
    }

    /** A finger turns at the sides, and burns in the middle. */
    @Override
    public boolean onTouchEvent(MotionEvent event) {
        boolean isDown = event.getAction() == MotionEvent.ACTION_DOWN || event.getAction() == MotionEvent.ACTION_MOVE;
        float part = 3 * event.getX() / view.getWidth();
        steer(KeyEvent.KEYCODE_DPAD_LEFT, isDown && part < 1);
        steer(KeyEvent.KEYCODE_DPAD_UP, isDown && 1 <= part && part < 2);
        steer(KeyEvent.KEYCODE_DPAD_RIGHT, isDown && 2 <= part);
        return true;
    }

    private boolean steer(int code, boolean isDown) {
        if (flight == null || !flight.steer(code, isDown)) {
            return false;
        }
        if (isTurned && isDown) {
            synchronized (world) {
                flight.pass(STEPS_PER_KEY);
            }
        }
        return true;
    }

    private void begin() {
        if (flight != null) {
            flight.end();
            world = new World();
            surfaceCreated(view.getHolder());
        }
    }
}
