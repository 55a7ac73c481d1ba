// SPDX-License-Identifier: Apache-2.0
package org.example.playing;

import android.os.PerformanceHintManager;
import android.os.Process;
import java.io.IOException;
import javax.realtime.PeriodicParameters;
import javax.realtime.PriorityParameters;
import javax.realtime.RealtimeThread;
import javax.realtime.RelativeTime;

/**
 * A periodic real-time thread whose reservation follows what it uses. Apart from the others, since
 * HotSpot has no such threads.
 */
final class Periodic implements Runnable {
    private static final int PERIOD_MS = 20;
    private static final int PERIOD_NS = PERIOD_MS * 1_000_000;
    private static final int PERIODS = 50;

    private final PerformanceHintManager manager;
    private volatile String told;

    private Periodic(PerformanceHintManager manager) {
        this.manager = manager;
    }

    /** What it has to say. */
    static String run(PerformanceHintManager manager) throws InterruptedException {
        Periodic work = new Periodic(manager);
        RealtimeThread control = new RealtimeThread(new PriorityParameters(70),
                new PeriodicParameters(new RelativeTime(PERIOD_MS, 0)), work);
        control.start();
        control.join();
        return work.told;
    }

    @Override
    public void run() {
        try {
            PerformanceHintManager.Session session =
                    manager.createHintSession(new int[] {Process.myTid()}, PERIOD_NS);
            told = session == null ? "no session" : work(session);
        } catch (IOException e) {
            told = "failed " + e;
        }
    }

    private static String work(PerformanceHintManager.Session session) throws IOException {
        boolean isReserved = true;
        int releases = 0;
        for (int i = 0; i < PERIODS; i++) {
            Player.burn(2);
            session.reportActualWorkDuration(2_000_000);
            releases += RealtimeThread.waitForNextPeriod() ? 1 : 0;
            isReserved &= Player.scheduling().equals("6");
        }
        boolean hasLearned = Player.runtime() < PERIOD_NS / 2;
        session.close();
        return "reserved " + isReserved + ", released " + (releases > 0) + ", learned " + hasLearned + ", then "
                + Player.scheduling();
    }
}
