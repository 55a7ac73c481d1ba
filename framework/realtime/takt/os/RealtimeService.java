// SPDX-License-Identifier: Apache-2.0
package takt.os;

import android.app.Service;
import android.content.ComponentName;
import android.content.Intent;
import android.content.pm.PackageManager;
import android.os.Bundle;
import javax.realtime.PeriodicParameters;
import javax.realtime.PriorityParameters;
import javax.realtime.PriorityScheduler;
import javax.realtime.RealtimeThread;
import javax.realtime.RelativeTime;

/**
 * A service that is released once a period, after RTDroid: its manifest says {@code
 * <rtdroid:periodic rtdroid:period="2ms" rtdroid:start="10ms" rtdroid:deadline="1ms"/>}, and {@code
 * <rtdroid:priority …/>} at what SCHED_FIFO priority.
 *
 * <p>The first {@link #onStartCommand} starts a {@link RealtimeThread} named after the class:
 * compiled and linked beforehand, with a jitter ledger. It calls {@link #onRelease} at {@code
 * start} after that, and once a period from then on; where a release ends behind its deadline,
 * {@link #onDeadlineMissed} comes before the next one. Releases that passed meanwhile are not lost:
 * they come one after another. {@link #onDestroy} ends it: behind its return no release runs.
 * A class that overrides one of the two calls it.
 */
public abstract class RealtimeService extends Service {
    private static final int NANOS_PER_MILLI = 1_000_000;

    private Releases releases;

    /** The work of a release, on the real-time thread. */
    protected abstract void onRelease();

    /** The release before ended too late; on the real-time thread. */
    protected void onDeadlineMissed() {}

    /** Starts the releases, if they have not been started. */
    @Override
    public int onStartCommand(Intent intent, int flags, int startId) {
        if (releases == null) {
            releases = new Releases(declared());
            releases.start();
        }
        return START_NOT_STICKY;
    }

    /** Ends the releases and waits for the last one. */
    @Override
    public void onDestroy() {
        if (releases != null) {
            releases.end();
        }
    }

    /** Releases that ended behind their deadline. */
    public final int deadlineMisses() {
        return releases == null ? 0 : releases.missed;
    }

    /**
     * The priority that the releases have been granted; 0: they run on an ordinary thread, or have
     * not begun.
     */
    public final int grantedPriority() {
        return releases == null ? 0 : releases.grantedPriority();
    }

    private Bundle declared() {
        try {
            ComponentName name = new ComponentName(this, getClass());
            Bundle declared = getPackageManager().getServiceInfo(name, PackageManager.GET_META_DATA).metaData;
            if (declared != null && declared.containsKey("rtdroid:period")) {
                return declared;
            }
        } catch (PackageManager.NameNotFoundException e) {
            throw new IllegalStateException(getClass().getName() + " is not in its manifest", e);
        }
        throw new IllegalStateException(getClass().getName() + " has no <periodic> with a period in its manifest");
    }

    /** What a release may cost, if the manifest says; a longer one is counted as an overrun. */
    private static RelativeTime runtime(Bundle declared) {
        long nanos = declared.getLong("rtdroid:runtime");
        return nanos == 0 ? null : time(nanos);
    }

    private static RelativeTime time(long nanos) {
        return new RelativeTime(nanos / NANOS_PER_MILLI, (int) (nanos % NANOS_PER_MILLI));
    }

    private final class Releases extends RealtimeThread {
        private volatile boolean isEnding;
        private volatile int missed;

        Releases(Bundle declared) {
            super(new PriorityParameters(
                            declared.getInt("rtdroid:priority", PriorityScheduler.instance().getNormPriority())),
                    new PeriodicParameters(time(declared.getLong("rtdroid:start")),
                            time(declared.getLong("rtdroid:period")), runtime(declared),
                            time(declared.getLong("rtdroid:deadline")), null, null));
            setName(RealtimeService.this.getClass().getSimpleName());
        }

        @Override
        public void run() {
            try {
                while (!isEnding) {
                    onRelease();
                    while (!waitForNextPeriodInterruptible()) {
                        missed++;
                        onDeadlineMissed();
                    }
                }
            } catch (InterruptedException e) {
                // end() does not wait for a release that is still to come.
            }
        }

        void end() {
            isEnding = true;
            interrupt();
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
}
