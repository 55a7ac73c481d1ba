// SPDX-License-Identifier: Apache-2.0
import java.util.ArrayList;
import java.util.List;
import javax.realtime.PeriodicParameters;
import javax.realtime.PriorityParameters;
import javax.realtime.RealtimeThread;
import javax.realtime.RelativeTime;

/**
 * A control loop of a hundred periods over a filter that an interface hides. With an argument it
 * also does what nobody can foresee: it asks for a class by a name.
 */
public final class Late {
    interface Filter {
        double step(double in);
    }

    /** Its initialiser computes only. */
    static final class Smooth implements Filter {
        private static final double[] WEIGHTS = new double[4];

        static {
            for (int index = 0; index < WEIGHTS.length; index++) {
                WEIGHTS[index] = 0.25 * index;
            }
        }

        private double state;

        @Override
        public double step(double in) {
            state += WEIGHTS[1] * (in - state);
            return state;
        }
    }

    /** Its initialiser tells the world: it must not run before the loop gets here. */
    static final class Loud {
        static int count = announce();

        private static int announce() {
            order.add("initialised");
            return 1;
        }
    }

    static final class Surprise {
        static int value() {
            return 7;
        }
    }

    static final List<String> order = new ArrayList<>();
    static double sum;

    public static void main(String[] args) throws Exception {
        Filter filter = new Smooth();
        boolean isSurprising = args.length > 0;
        PeriodicParameters release = new PeriodicParameters(new RelativeTime(1, 0));
        RealtimeThread control = new RealtimeThread(new PriorityParameters(80), release) {
            @Override
            public void run() {
                for (int period = 0; period < 100; period++) {
                    sum += filter.step(period);
                    if (period == 50) {
                        order.add("half");
                        sum += Loud.count;
                    }
                    if (period == 60 && isSurprising) {
                        sum += surprise();
                    }
                    waitForNextPeriod();
                }
            }
        };
        control.setName("control");
        control.start();
        order.add(0, "started");
        control.join();
        System.out.println(order + " " + sum);
    }

    private static int surprise() {
        try {
            return (int) Class.forName("Late$Surprise").getDeclaredMethod("value").invoke(null);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }
}
