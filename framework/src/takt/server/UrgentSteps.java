// SPDX-License-Identifier: Apache-2.0
package takt.server;

import android.os.IBinder;
import android.os.RemoteException;
import android.util.Log;
import takt.framework.Natives;
import takt.framework.RealtimeThread;
import takt.system.ISystem;
import takt.system.Step;

/**
 * The process's real-time thread for broadcasts of real-time senders: it fetches them one after the
 * other, the most urgent first, and brings each to its receiver's looper at the broadcast's
 * priority, which the thread has itself meanwhile. {@link SystemLink}'s ordinary steps do not keep
 * it waiting.
 *
 * <p>It is there where {@code takt system --realtime} names the package, and the kernel lets it
 * have that priority. Elsewhere {@link SystemLink} fetches all.
 */
final class UrgentSteps implements Runnable {
    private static final String TAG = "Takt";
    /** What ends {@link RealtimeThread#sendAtMost}. */
    private static final int ANY_PRIORITY = 99;

    static {
        Natives.load();
    }

    private final ISystem system;
    private final SystemBroadcasts broadcasts;
    private final int most;

    private UrgentSteps(ISystem system, SystemBroadcasts broadcasts, int most) {
        this.system = system;
        this.broadcasts = broadcasts;
        this.most = most;
    }

    /** Begins with a process that may have threads up to this priority; 0 begins nothing. */
    static void begin(ISystem system, SystemBroadcasts broadcasts, int most) {
        if (most == 0) {
            return;
        }
        Thread thread = new Thread(new UrgentSteps(system, broadcasts, most), "urgent steps");
        thread.setDaemon(true);
        thread.start();
    }

    @Override
    public void run() {
        if (!attach(system.asBinder(), most)) {
            Log.w(TAG, "no real-time thread for urgent broadcasts: priority " + most
                    + " is refused, and the ordinary thread fetches them");
            return;
        }
        try {
            while (true) {
                await();
                bringAll();
            }
        } catch (RemoteException e) {
            // The server is gone, and this process is about to be.
            Log.e(TAG, "no urgent broadcasts any more", e);
        }
    }

    private void bringAll() throws RemoteException {
        while (true) {
            look();
            Step[] steps = system.urgentSteps();
            if (steps.length == 0) {
                return;
            }
            for (Step step : steps) {
                bring(step);
            }
        }
    }

    private void bring(Step step) {
        int priority = SystemBroadcasts.priority(step);
        runAs(priority);
        RealtimeThread.sendAtMost(priority);
        try {
            if (step.kind == ISystem.STEP_RESULT) {
                broadcasts.carryOutResult(step);
            } else {
                broadcasts.carryOut(step);
            }
        } catch (RemoteException | RuntimeException e) {
            Log.w(TAG, "a broadcast was not delivered", e);
        } finally {
            RealtimeThread.sendAtMost(ANY_PRIORITY);
        }
    }

    /** Makes the calling thread the one for urgent steps; false if it may not be that urgent. */
    private static native boolean attach(IBinder system, int most);

    /** Waits until there may be a step. */
    private static native void await();

    /** Before a fetch: what comes from now on is news. */
    private static native void look();

    /** The calling thread is as urgent as what it brings, or as what has come since it looked. */
    private static native void runAs(int priority);
}
