// SPDX-License-Identifier: Apache-2.0
package takt.server;

import android.app.Activity;
import android.app.ActivityManager;
import android.app.IActivityClientController;
import android.app.IApplicationThread;
import android.app.ProfilerInfo;
import android.app.ResultInfo;
import android.app.servertransaction.ActivityConfigurationChangeItem;
import android.app.servertransaction.ActivityLifecycleItem;
import android.app.servertransaction.ActivityRelaunchItem;
import android.app.servertransaction.ActivityResultItem;
import android.app.servertransaction.ClientTransaction;
import android.app.servertransaction.ClientTransactionItem;
import android.app.servertransaction.ConfigurationChangeItem;
import android.app.servertransaction.DestroyActivityItem;
import android.app.servertransaction.LaunchActivityItem;
import android.app.servertransaction.PauseActivityItem;
import android.app.servertransaction.ResumeActivityItem;
import android.app.servertransaction.StopActivityItem;
import android.content.ComponentName;
import android.content.Intent;
import android.content.pm.ActivityInfo;
import android.content.res.Configuration;
import android.os.Binder;
import android.os.Bundle;
import android.os.IBinder;
import android.os.PersistableBundle;
import android.os.RemoteException;
import android.util.Log;
import android.util.MergedConfiguration;
import android.window.ActivityWindowInfo;
import android.window.SizeConfigurationBuckets;
import java.util.ArrayList;
import java.util.List;
import takt.screen.Screen;

/**
 * One task of activities: IActivityTaskManager and IActivityClientController.
 *
 * <p>As on Android, the resumed activity is paused before another one is launched or resumed, and
 * stopped when the other is idle. Each step is one transaction to the process, which answers when
 * it is done.
 */
final class Activities {
    private static final String TAG = "Takt";

    private static final class Record {
        final Binder token = new Binder();
        final Intent intent;
        final ActivityInfo info;
        final IBinder resultTo;
        final int requestCode;
        final List<ResultInfo> results = new ArrayList<>();
        /** What the process was last asked for: a state of ActivityLifecycleItem. */
        int state = ActivityLifecycleItem.PRE_ON_CREATE;
        SizeConfigurationBuckets sizes;
        boolean isFinishing;

        Record(Intent intent, ActivityInfo info, IBinder resultTo, int requestCode) {
            this.intent = intent;
            this.info = info;
            this.resultTo = resultTo;
            this.requestCode = requestCode;
        }

        ComponentName name() {
            return new ComponentName(info.packageName, info.name);
        }
    }

    private final AppProcess process;
    /** The last one is on top. */
    private final List<Record> task = new ArrayList<>();
    private final IActivityClientController controller;
    private int idents;
    /** What the process was told last. */
    private Configuration configuration;

    Activities(AppProcess process) {
        this.process = process;
        controller = LocalInterface.of(IActivityClientController.class, this);
    }

    /** What an activity's process reports to. */
    public IActivityClientController getActivityClientController() {
        return controller;
    }

    /** Starts an activity of this package. */
    public synchronized int startActivity(IApplicationThread caller, String callingPackage, String feature,
            Intent intent, String type, IBinder resultTo, String resultWho, int requestCode, int flags,
            ProfilerInfo profiler, Bundle options) throws RemoteException {
        List<InstalledPackage.Component> found = process.installed.matching(InstalledPackage.ACTIVITY, intent);
        if (found.isEmpty()) {
            Log.w(TAG, "no activity for " + intent + ": only those of the package itself are there");
            boolean isNamed = intent.getComponent() != null;
            return isNamed ? ActivityManager.START_CLASS_NOT_FOUND : ActivityManager.START_INTENT_NOT_RESOLVED;
        }
        InstalledPackage.Component component = found.get(0);
        ActivityInfo info = (ActivityInfo) component.info;
        intent.setComponent(new ComponentName(info.packageName, info.name));
        Record top = top();
        task.add(new Record(intent, info, requestCode >= 0 ? resultTo : null, requestCode));
        if (top == null || top.state != ActivityLifecycleItem.ON_RESUME) {
            resumeTop();
        } else {
            pause(top);
        }
        return ActivityManager.START_SUCCESS;
    }

    /** An activity ends itself. */
    public synchronized boolean finishActivity(IBinder token, int code, Intent data, int finishTask)
            throws RemoteException {
        Record record = byToken(token);
        if (record == null || record.isFinishing) {
            return record != null;
        }
        record.isFinishing = true;
        Record origin = byToken(record.resultTo);
        if (origin != null) {
            origin.results.add(new ResultInfo(null, record.requestCode, code, data));
        }
        if (record.state == ActivityLifecycleItem.ON_RESUME) {
            pause(record);
        } else {
            destroy(record);
            resumeTop();
        }
        return true;
    }

    /** It and those below it of the same affinity: here, the whole task. */
    public synchronized boolean finishActivityAffinity(IBinder token) throws RemoteException {
        for (Record record : List.copyOf(task)) {
            finishActivity(record.token, Activity.RESULT_CANCELED, null, Activity.DONT_FINISH_TASK_WITH_ACTIVITY);
        }
        return true;
    }

    /** onResume has returned. */
    public synchronized void activityResumed(IBinder token, boolean handlesSplashScreen) {
        process.watchdog.answered(token);
        Record record = byToken(token);
        if (record != null) {
            process.started("activity " + record.info.name);
        }
    }

    /** The looper had nothing more to do: what lies below is stopped now. */
    public synchronized void activityIdle(IBinder token, Configuration configuration, boolean stopProfiling)
            throws RemoteException {
        for (Record record : List.copyOf(task)) {
            if (record.state == ActivityLifecycleItem.ON_PAUSE && record != top()) {
                stop(record);
            }
        }
    }

    /** onPause has returned. */
    public synchronized void activityPaused(IBinder token) throws RemoteException {
        process.watchdog.answered(token);
        Record record = byToken(token);
        if (record != null && record.isFinishing) {
            destroy(record);
        }
        resumeTop();
    }

    /** onStop has returned. */
    public void activityStopped(IBinder token, Bundle state, PersistableBundle persistent,
            CharSequence description) {
        process.watchdog.answered(token);
    }

    /** onDestroy has returned. */
    public synchronized void activityDestroyed(IBinder token) {
        process.watchdog.forget(token);
        process.lookForEnd();
    }

    /** For a list of recent tasks, which nobody shows. */
    public void setTaskDescription(IBinder token, ActivityManager.TaskDescription description) {}

    /** An activity begins anew by itself, and is resumed as it was. */
    public void activityLocalRelaunch(IBinder token) {}

    /** Which sizes make a difference to its resources. */
    public synchronized void reportSizeConfigurations(IBinder token, SizeConfigurationBuckets sizes) {
        Record record = byToken(token);
        if (record != null) {
            record.sizes = sizes;
        }
    }

    /** The process is bound with this. */
    synchronized void bound(Configuration first) {
        configuration = first;
    }

    /** It was made anew for another configuration; that it is resumed is told apart. */
    public void activityRelaunched(IBinder token) {}

    /**
     * The process and its activities get a new configuration. As on Android, an activity that does
     * not handle what differs is made anew.
     */
    synchronized void configurationChanged(Configuration next) throws RemoteException {
        int differs = configuration.diffPublicOnly(next);
        Configuration before = configuration;
        configuration = next;
        ClientTransaction transaction = ClientTransaction.obtain(process.thread());
        transaction.addTransactionItem(ConfigurationChangeItem.obtain(next, 0));
        transaction.schedule();
        for (Record record : List.copyOf(task)) {
            if (record.state == ActivityLifecycleItem.PRE_ON_CREATE || record.isFinishing) {
                continue;
            }
            int concerns = SizeConfigurationBuckets.filterDiff(differs, before, next, record.sizes);
            int left = concerns & ~record.info.getRealConfigChanged();
            if (left == 0) {
                ClientTransaction told = ClientTransaction.obtain(process.thread());
                told.addTransactionItem(
                        ActivityConfigurationChangeItem.obtain(record.token, next, new ActivityWindowInfo()));
                told.schedule();
            } else {
                relaunch(record, left, new MergedConfiguration(next, next));
            }
        }
    }

    private void relaunch(Record record, int differs, MergedConfiguration next) throws RemoteException {
        ActivityLifecycleItem state = switch (record.state) {
            case ActivityLifecycleItem.ON_RESUME -> ResumeActivityItem.obtain(record.token, true, false);
            case ActivityLifecycleItem.ON_PAUSE -> PauseActivityItem.obtain(record.token);
            default -> StopActivityItem.obtain(record.token);
        };
        send(record, ActivityRelaunchItem.obtain(record.token, null, null, differs, next, false,
                new ActivityWindowInfo()), state, "relaunch");
    }

    /** Without windows the process makes no views for it. */
    public boolean willActivityBeVisible(IBinder token) {
        return Screen.isOn();
    }

    /** The default display's number, although there is no display. */
    public int getDisplayId(IBinder token) {
        return 0;
    }

    /** There is one task. */
    public int getTaskForActivity(IBinder token, boolean onlyRoot) {
        return 1;
    }

    /** Is it on top? */
    public synchronized boolean isTopOfTask(IBinder token) {
        return top() != null && top().token == token;
    }

    /** Who started it for a result; null if nobody did. */
    public synchronized ComponentName getCallingActivity(IBinder token) {
        Record record = byToken(token);
        Record origin = record == null ? null : byToken(record.resultTo);
        return origin == null ? null : new ComponentName(origin.info.packageName, origin.info.name);
    }

    /** Whose activity started it for a result. */
    public String getCallingPackage(IBinder token) {
        ComponentName calling = getCallingActivity(token);
        return calling == null ? null : calling.getPackageName();
    }

    synchronized boolean isIdle() {
        return task.isEmpty();
    }

    /** Destroys every activity, from the top: each is paused and stopped on its way. */
    synchronized void endAll() throws RemoteException {
        for (int index = task.size() - 1; index >= 0; index--) {
            task.get(index).isFinishing = true;
        }
        while (top() != null) {
            destroy(top());
        }
    }

    private Record top() {
        return task.isEmpty() ? null : task.get(task.size() - 1);
    }

    private Record byToken(IBinder token) {
        return task.stream().filter(it -> it.token == token).findFirst().orElse(null);
    }

    private void resumeTop() throws RemoteException {
        Record top = top();
        if (top == null || top.isFinishing || top.state == ActivityLifecycleItem.ON_RESUME) {
            return;
        }
        ClientTransactionItem first = null;
        if (top.state == ActivityLifecycleItem.PRE_ON_CREATE) {
            Configuration configuration = AppProcess.configuration();
            first = LaunchActivityItem.obtain(top.token, top.intent, ++idents, top.info, configuration, configuration,
                    0, null, null, AppProcess.STATE, null, null, null, null, null, true, null, top.token, controller,
                    top.token, false, null, null, new ActivityWindowInfo());
        } else if (!top.results.isEmpty()) {
            first = ActivityResultItem.obtain(top.token, List.copyOf(top.results));
        }
        top.results.clear();
        top.state = ActivityLifecycleItem.ON_RESUME;
        send(top, first, ResumeActivityItem.obtain(top.token, true, false), "resume");
    }

    private void pause(Record record) throws RemoteException {
        record.state = ActivityLifecycleItem.ON_PAUSE;
        ActivityLifecycleItem item = PauseActivityItem.obtain(record.token, record.isFinishing, false, false, false);
        send(record, null, item, "pause");
    }

    private void stop(Record record) throws RemoteException {
        record.state = ActivityLifecycleItem.ON_STOP;
        send(record, null, StopActivityItem.obtain(record.token), "stop");
    }

    private void destroy(Record record) throws RemoteException {
        task.remove(record);
        if (record.state != ActivityLifecycleItem.PRE_ON_CREATE) {
            record.state = ActivityLifecycleItem.ON_DESTROY;
            send(record, null, DestroyActivityItem.obtain(record.token, record.isFinishing), "destroy");
        }
    }

    private void send(Record record, ClientTransactionItem first, ActivityLifecycleItem state, String what)
            throws RemoteException {
        process.watchdog.ask(record.token, what + " of activity " + record.name().flattenToShortString());
        ClientTransaction transaction = ClientTransaction.obtain(process.thread());
        if (first != null) {
            transaction.addTransactionItem(first);
        }
        transaction.addTransactionItem(state);
        transaction.schedule();
    }
}
