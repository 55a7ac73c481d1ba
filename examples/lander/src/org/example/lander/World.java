// SPDX-License-Identifier: Apache-2.0
package org.example.lander;

import android.os.Bundle;

/**
 * The moon and the craft: 800 by 480 points, y downwards. Time passes in steps of 10 ms, so that
 * the same controls at the same steps end in the same way.
 */
final class World {
    static final int WIDTH = 800;
    static final int HEIGHT = 480;
    static final int GROUND = 440;
    static final int PAD_LEFT = 360;
    static final int PAD_RIGHT = 460;
    static final int CRAFT_HALF = 14;
    static final double FUEL_MAX = 12;
    private static final double STEP_SECONDS = 0.01;
    private static final double GRAVITY = 18;
    private static final double THRUST = 45;
    private static final double TURN_DEGREES = 60;
    private static final double LANDING_SPEED = 30;
    private static final double LANDING_DEGREES = 15;

    /** How the flight goes. */
    enum Phase { FLIES, LANDED, CRASHED }

    private double x = 260;
    private double y = 70;
    private double speedX = 30;
    private double speedY;
    private double degrees;
    private double fuel = FUEL_MAX;
    private Phase phase = Phase.FLIES;
    private String why = "";

    /** What the player holds down. */
    static final class Controls {
        boolean left;
        boolean right;
        boolean thrust;
    }

    void step(Controls controls) {
        if (phase != Phase.FLIES) {
            return;
        }
        if (controls.left) {
            degrees -= TURN_DEGREES * STEP_SECONDS;
        }
        if (controls.right) {
            degrees += TURN_DEGREES * STEP_SECONDS;
        }
        speedY += GRAVITY * STEP_SECONDS;
        if (burns(controls)) {
            fuel -= STEP_SECONDS;
            speedX += Math.sin(Math.toRadians(degrees)) * THRUST * STEP_SECONDS;
            speedY -= Math.cos(Math.toRadians(degrees)) * THRUST * STEP_SECONDS;
        }
        x += speedX * STEP_SECONDS;
        y += speedY * STEP_SECONDS;
        if (y + CRAFT_HALF >= GROUND) {
            touchDown();
        }
    }

    private void touchDown() {
        y = GROUND - CRAFT_HALF;
        if (x - CRAFT_HALF < PAD_LEFT || PAD_RIGHT < x + CRAFT_HALF) {
            why = "beside the pad";
        } else if (Math.hypot(speedX, speedY) > LANDING_SPEED) {
            why = "too fast";
        } else if (Math.abs(degrees) > LANDING_DEGREES) {
            why = "not upright";
        }
        phase = why.isEmpty() ? Phase.LANDED : Phase.CRASHED;
    }

    boolean burns(Controls controls) {
        return controls.thrust && fuel > 0 && phase == Phase.FLIES;
    }

    void save(Bundle state) {
        state.putDoubleArray("flight", new double[] {x, y, speedX, speedY, degrees, fuel});
        state.putString("phase", phase.name());
        state.putString("why", why);
    }

    void restore(Bundle state) {
        double[] flight = state.getDoubleArray("flight");
        x = flight[0];
        y = flight[1];
        speedX = flight[2];
        speedY = flight[3];
        degrees = flight[4];
        fuel = flight[5];
        phase = Phase.valueOf(state.getString("phase"));
        why = state.getString("why");
    }

    Phase phase() {
        return phase;
    }

    double x() {
        return x;
    }

    double y() {
        return y;
    }

    double degrees() {
        return degrees;
    }

    double fuel() {
        return fuel;
    }

    double speed() {
        return Math.hypot(speedX, speedY);
    }

    /** For the log, in whole numbers. */
    String describe() {
        String how = phase == Phase.FLIES ? "at " + (int) x + "," + (int) y : "with speed " + (int) speed();
        return phase.name().toLowerCase(java.util.Locale.ROOT) + " " + how + (why.isEmpty() ? "" : ", " + why);
    }
}
