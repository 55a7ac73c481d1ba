// SPDX-License-Identifier: Apache-2.0
package takt.server;

import android.os.IBinder;
import android.os.RemoteException;
import android.util.Log;
import takt.framework.Neighbours;
import takt.system.IApp;
import takt.system.ISystem;
import takt.system.Step;

/**
 * The process's link with {@code takt system}, which has started it. The server says that there is
 * something to do; the steps are fetched and done here, one after the other.
 */
final class SystemLink extends IApp.Stub {
    private static final String TAG = "Takt";
    /** In which the server answers a process that it has just started. */
    private static final long JOIN_MILLIS = 10_000;
    /** Nothing can be done without the server. */
    private static final int EXIT_ALONE = 1;

    private final ISystem system;
    private Activities activities;
    private SystemServices services;
    private SystemBroadcasts broadcasts;
    private Contents contents;
    private OtherProviders providers;

    private SystemLink(ISystem system) {
        this.system = system;
    }

    /** Joins the server at the socket that the process was started with. */
    static SystemLink join() {
        IBinder root = Neighbours.joinParent(JOIN_MILLIS);
        return new SystemLink(ISystem.Stub.asInterface(root));
    }

    ISystem system() {
        return system;
    }

    /** Whose steps they are. */
    void serve(Activities activities, SystemServices services, SystemBroadcasts broadcasts) {
        this.activities = activities;
        this.services = services;
        this.broadcasts = broadcasts;
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

    /** The application is bound: the server may ask for its components from now on. */
    void attach() {
        try {
            system.asBinder().linkToDeath(SystemLink::end, 0);
            system.attach(this);
        } catch (RemoteException e) {
            end();
        }
    }

    private static void end() {
        Log.e(TAG, "takt system has ended, and this process with it");
        Runtime.getRuntime().halt(EXIT_ALONE);
    }

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
                    default -> services.carryOut(step);
                }
            }
        }
    }
}
