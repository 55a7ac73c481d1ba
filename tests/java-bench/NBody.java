// SPDX-License-Identifier: Apache-2.0

/** Bodies that attract each other, moved by Euler's symplectic method. */
final class NBody {
    private static final int STEPS = 2_000;
    private static final double DT = 0.01;

    private static final class Body {
        double x;
        double y;
        double z;
        double vx;
        double vy;
        double vz;
        final double mass;

        Body(double mass, double x, double y, double z, double vx, double vy, double vz) {
            this.mass = mass;
            this.x = x;
            this.y = y;
            this.z = z;
            this.vx = vx;
            this.vy = vy;
            this.vz = vz;
        }
    }

    static long run() {
        Body[] bodies = {
            new Body(39.5, 0, 0, 0, 0, 0, 0),
            new Body(0.037, 4.84, -1.16, -0.10, 0.606, 2.81, -0.02),
            new Body(0.011, 8.34, 4.12, -0.40, -1.01, 1.82, 0.008),
            new Body(0.0017, 12.89, -15.11, -0.22, 1.08, 0.868, -0.010),
            new Body(0.0020, 15.37, -25.9, 0.179, 0.979, 0.594, -0.034),
        };
        for (int step = 0; step < STEPS; step++) {
            advance(bodies);
        }
        return Double.doubleToLongBits(energy(bodies));
    }

    private static void advance(Body[] bodies) {
        for (int i = 0; i < bodies.length; i++) {
            Body a = bodies[i];
            for (int j = i + 1; j < bodies.length; j++) {
                Body b = bodies[j];
                double dx = a.x - b.x;
                double dy = a.y - b.y;
                double dz = a.z - b.z;
                double distance = dx * dx + dy * dy + dz * dz;
                double pull = DT / (distance * Math.sqrt(distance));
                a.vx -= dx * b.mass * pull;
                a.vy -= dy * b.mass * pull;
                a.vz -= dz * b.mass * pull;
                b.vx += dx * a.mass * pull;
                b.vy += dy * a.mass * pull;
                b.vz += dz * a.mass * pull;
            }
        }
        for (Body body : bodies) {
            body.x += DT * body.vx;
            body.y += DT * body.vy;
            body.z += DT * body.vz;
        }
    }

    private static double energy(Body[] bodies) {
        double sum = 0;
        for (int i = 0; i < bodies.length; i++) {
            Body a = bodies[i];
            sum += 0.5 * a.mass * (a.vx * a.vx + a.vy * a.vy + a.vz * a.vz);
            for (int j = i + 1; j < bodies.length; j++) {
                Body b = bodies[j];
                double dx = a.x - b.x;
                double dy = a.y - b.y;
                double dz = a.z - b.z;
                sum -= a.mass * b.mass / Math.sqrt(dx * dx + dy * dy + dz * dz);
            }
        }
        return sum;
    }

    private NBody() {
    }
}
