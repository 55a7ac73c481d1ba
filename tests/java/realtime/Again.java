// SPDX-License-Identifier: Apache-2.0
import javax.realtime.PeriodicParameters;
import javax.realtime.PriorityParameters;
import javax.realtime.RealtimeThread;
import javax.realtime.RelativeTime;

/**
 * A loop over a method that is compiled before a class is there that it uses. Of the arguments the
 * first says which thread does it, the second how often at most; a byte of input ends it early.
 */
public final class Again {
    private static final int COLD_STEPS = 20;

    static final class Late {
        static int seven = Integer.parseInt("7");
        private final int value;

        Late(int value) {
            this.value = value;
        }

        int get() {
            return value;
        }
    }

    static long step(long sum, int period) {
        if (period < COLD_STEPS) {
            return sum + period;
        }
        return sum * 31 + new Late(period).get() + Late.seven;
    }

    private static void loop(int periods) throws Exception {
        boolean isRealtime = Thread.currentThread() instanceof RealtimeThread;
        long sum = 0;
        int period = 0;
        while (period < periods && (isRealtime || System.in.available() == 0)) {
            sum = step(sum, period++);
            if (isRealtime) {
                RealtimeThread.waitForNextPeriod();
            } else {
                Thread.sleep(1);
            }
        }
        long expected = 0;
        for (int past = 0; past < period; past++) {
            expected = past < COLD_STEPS ? expected + past : expected * 31 + past + 7;
        }
        System.out.println(sum == expected ? "right" : "WRONG: " + sum + " for " + expected);
    }

    public static void main(String[] args) throws Exception {
        int periods = Integer.parseInt(args[1]);
        if (args[0].equals("ordinary")) {
            loop(periods);
            return;
        }
        PeriodicParameters release = new PeriodicParameters(new RelativeTime(1, 0));
        RealtimeThread control = new RealtimeThread(new PriorityParameters(80), release) {
            @Override
            public void run() {
                try {
                    loop(periods);
                } catch (Exception e) {
                    throw new IllegalStateException(e);
                }
            }
        };
        control.start();
        control.join();
    }
}
