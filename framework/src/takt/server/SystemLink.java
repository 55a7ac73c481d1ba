// SPDX-License-Identifier: Apache-2.0
package takt.server;

import android.app.ActivityThread;
import android.app.IApplicationThread;
import android.os.IBinder;
import android.os.ParcelFileDescriptor;
import android.os.RemoteException;
import android.util.Log;
import java.io.IOException;
import takt.framework.Neighbours;
import takt.framework.RealtimeThread;
import takt.system.IApp;
import takt.system.ISystem;
import takt.system.Step;

/**
 * The process's link with the system server. Under {@code takt system} that has started it, and
 * says that there is something to do; the steps are fetched and done here, one after the other.
 *
 * <p>Under {@code takt run} the server is inside the process ({@link HostedServer}). It has no
 * thread to say so: who calls it fetches what follows, at its own priority. So calls go one after
 * the other, each with its steps.
 */
final class SystemLink extends IApp.Stub {
    private static final String TAG = "Takt";
    /** In which the server answers a process that it has just started. */
    private static final long JOIN_MILLIS = 10_000;
    /** Nothing can be done without the server. */
    private static final int EXIT_ALONE = 1;

    /** What runs in {@link #in}. */
    interface Call<T, E extends Throwable> {
        T run() throws E;
    }

    /** A process has one, from its start on. */
    private static volatile SystemLink ofProcess;

    private final ISystem system;
    private final boolean isHosted;
    /** Who has it calls the server that is inside. A monitor: who waits lends its priority. */
    private final Object turn = new Object();
    private boolean isInside;
    private Activities activities;
    private SystemServices services;
    private SystemBroadcasts broadcasts;
    private SystemSenders senders;
    private JobRuns jobs;
    private Contents contents;
    private OtherProviders providers;

    private SystemLink(IBinder root, boolean isHosted) {
        system = ISystem.Stub.asInterface(root);
        this.isHosted = isHosted;
    }

    /** Joins the server at the socket that the process was started with. */
    static SystemLink join() {
        ofProcess = new SystemLink(Neighbours.joinParent(JOIN_MILLIS), false);
        return ofProcess;
    }

    /** Begins a server of this process alone, for the package that is described. */
    static SystemLink host(String description) {
        ofProcess = new SystemLink(HostedServer.begin(description), true);
        return ofProcess;
    }

    /** That of this process. */
    static SystemLink ofProcess() {
        SystemLink link = ofProcess;
        if (link == null) {
            throw new IllegalStateException("this process has no system server");
        }
        return link;
    }

    /** Is the server inside this process, and knows no other? */
    boolean isHosted() {
        return isHosted;
    }

    /** A call to the server, with what follows from it in this process if the server is inside. */
    <T, E extends Throwable> T in(Call<T, E> call) throws E {
        if (!isHosted) {
            return call.run();
        }
        synchronized (turn) {
            if (isInside) {
                // Out of what a step does; the outer call fetches what follows.
                return call.run();
            }
            isInside = true;
            try {
                return call.run();
            } finally {
                lookInside();
            }
        }
    }

    private void lookInside() {
        try {
            look();
        } catch (RemoteException e) {
            throw e.rethrowFromSystemServer();
        } finally {
            isInside = false;
        }
    }

    ISystem system() {
        return system;
    }

    /** The application is bound, and nothing has come for it. */
    void prepare() {
        broadcasts.prepare();
    }

    /** Whose steps they are. */
    void serve(Activities activities, SystemServices services, SystemBroadcasts broadcasts, SystemSenders senders) {
        this.activities = activities;
        this.services = services;
        this.broadcasts = broadcasts;
        this.senders = senders;
    }

    /** Who does jobs. */
    void serve(JobRuns jobs) {
        this.jobs = jobs;
    }

    /** Who hears of other packages' data. */
    void serve(Contents contents, OtherProviders providers) {
        this.contents = contents;
        this.providers = providers;
    }

    @Override
    public void provided(String component, boolean isThere) {
        providers.hear(component, isThere);
    }

    /** Its main thread hears of it when its turn comes, as on Android. */
    @Override
    public void trim(int level) throws RemoteException {
        ActivityThread thread = ActivityThread.currentActivityThread();
        if (thread != null) {
            IApplicationThread application = thread.getApplicationThread();
            application.scheduleTrimMemory(level);
        }
    }

    /**
     * The application is bound: the server may ask for its components from now on. Its threads may
     * have a priority up to this one.
     */
    void attach(int grantedPriority) {
        try {
            system.asBinder().linkToDeath(SystemLink::end, 0);
            attachLedger();
            system.attach(this);
            UrgentSteps.begin(system, broadcasts, grantedPriority);
        } catch (RemoteException e) {
            end();
        }
    }

    /** The server shows a person what real-time threads have done. */
    private void attachLedger() throws RemoteException {
        int page = RealtimeThread.ledgerPage();
        if (page < 0) {
            return;
        }
        try (ParcelFileDescriptor given = ParcelFileDescriptor.adoptFd(page)) {
            system.attachLedger(given);
        } catch (IOException e) {
            // It is not written to.
            Log.w(TAG, "a page was not closed", e);
        }
    }

    private static void end() {
        Log.e(TAG, "takt system has ended, and this process with it");
        Runtime.getRuntime().halt(EXIT_ALONE);
    }

    /** {@link UrgentSteps} hears that. */
    @Override
    public void hurry(int priority) {}

    /** One call is served at a time, so steps keep their order. */
    @Override
    public void look() throws RemoteException {
        for (Step[] steps = system.steps(); steps.length > 0; steps = system.steps()) {
            for (Step step : steps) {
                switch (step.kind) {
                    case ISystem.STEP_ACTIVITY -> activities.carryOut(step);
                    case ISystem.STEP_BROADCAST -> broadcasts.carryOut(step);
                    case ISystem.STEP_RESULT -> broadcasts.carryOutResult(step);
                    case ISystem.STEP_CHANGE -> contents.carryOut(step);
                    case ISystem.STEP_JOB -> jobs.carryOut(step);
                    case ISystem.STEP_CANCELLED -> senders.carryOut(step);
                    default -> services.carryOut(step);
                }
            }
        }
    }
}
