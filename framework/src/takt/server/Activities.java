// SPDX-License-Identifier: Apache-2.0
package takt.server;

import android.app.ActivityManager;
import android.app.IActivityClientController;
import android.app.IApplicationThread;
import android.app.IRequestFinishCallback;
import android.app.ProfilerInfo;
import android.app.ResultInfo;
import android.app.servertransaction.ActivityConfigurationChangeItem;
import android.app.servertransaction.ActivityLifecycleItem;
import android.app.servertransaction.ActivityRelaunchItem;
import android.app.servertransaction.ActivityResultItem;
import android.app.servertransaction.ClientTransaction;
import android.app.servertransaction.ConfigurationChangeItem;
import android.app.servertransaction.DestroyActivityItem;
import android.app.servertransaction.LaunchActivityItem;
import android.app.servertransaction.NewIntentItem;
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
import com.android.internal.content.ReferrerIntent;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import takt.screen.Screen;
import takt.system.Step;

/**
 * IActivityTaskManager and IActivityClientController: the activities of the process.
 *
 * <p>{@link ActivityStack} decides what happens to which; here each of its steps becomes one
 * transaction to the process, which answers when it is done.
 */
final class Activities implements Served {
    private static final String TAG = "Takt";
    /** Results and intents on their way: each activity has a few at most. */
    private static final int PARCELS_MAX = 1024;
    /** For the watchdog, by the numbers of {@link ActivityStack}'s steps. */
    private static final String[] WORDS = {"", "resume", "pause", "stop", "destroy"};

    private static final class Record {
        final long id;
        final Binder token = new Binder();
        final Intent intent;
        final ActivityInfo info;
        /** Which part of it asked by a request: a fragment, or null for itself. */
        final Map<Integer, String> askers = new HashMap<>();
        /** The step that the process was last asked for. */
        int state = ActivityStack.STAY;
        SizeConfigurationBuckets sizes;

        Record(long id, Intent intent, ActivityInfo info) {
            this.id = id;
            this.intent = intent;
            this.info = info;
        }

        ComponentName name() {
            return new ComponentName(info.packageName, info.name);
        }
    }

    private final AppProcess process;
    private final SystemLink link;
    private final ActivityStack stack;
    /** Those that the server knows, by its numbers; it bounds them. */
    private final Map<Long, Record> records = new LinkedHashMap<>();
    /** What steps name: intents, and results' data. */
    private final Map<Long, Intent> parcels = new LinkedHashMap<>() {
        @Override
        protected boolean removeEldestEntry(Map.Entry<Long, Intent> eldest) {
            return size() > PARCELS_MAX;
        }
    };
    private final IActivityClientController controller;
    private int idents;
    /** What the process was told last. */
    private Configuration configuration;
    /** Its number: a process takes one without for old, and drops it. */
    private int sequence;
    /** What a relaunch is for: the difference from the last configuration. */
    private int differing;

    Activities(AppProcess process, SystemLink link) {
        this.process = process;
        this.link = link;
        stack = new ActivityStack(link.system());
        controller = LocalInterface.of(IActivityClientController.class, this);
    }

    @Override
    public SystemLink link() {
        return link;
    }

    /** What an activity's process reports to. */
    public IActivityClientController getActivityClientController() {
        return controller;
    }

    /** Starts an activity: of this package, or of any that the system server knows. */
    public synchronized int startActivity(IApplicationThread caller, String callingPackage, String feature,
            Intent intent, String type, IBinder resultTo, String resultWho, int requestCode, int flags,
            ProfilerInfo profiler, Bundle options) throws RemoteException {
        Record source = byToken(resultTo);
        boolean hasRequest = source != null && requestCode >= 0;
        Intent wanted = chosen(intent);
        int outcome = stack.start(source == null ? 0 : source.id, hasRequest, requestCode, wanted);
        if (outcome == ActivityStack.NOT_FOUND && wanted != intent && !hasRequest) {
            Log.w(TAG, "no application takes " + wanted + ": there is nothing to choose from");
            return ActivityManager.START_ABORTED;
        }
        if (outcome < 0) {
            return refused(outcome, wanted);
        }
        if (hasRequest) {
            source.askers.put(requestCode, resultWho);
        }
        return switch (outcome) {
            case ActivityStack.NEW -> ActivityManager.START_SUCCESS;
            case ActivityStack.FRONT -> ActivityManager.START_TASK_TO_FRONT;
            default -> ActivityManager.START_DELIVERED_TO_TOP;
        };
    }

    /**
     * What a chooser would start: there is none, so the one that takes it is. Android's chooser is
     * always there, and says so itself where nobody takes it.
     */
    private static Intent chosen(Intent intent) {
        if (intent.getComponent() != null || !Intent.ACTION_CHOOSER.equals(intent.getAction())) {
            return intent;
        }
        Intent target = intent.getParcelableExtra(Intent.EXTRA_INTENT, Intent.class);
        return target == null ? intent : target;
    }

    private int refused(int outcome, Intent intent) {
        if (outcome == ActivityStack.FORWARD_AND_REQUEST) {
            return ActivityManager.START_FORWARD_AND_REQUEST_CONFLICT;
        }
        if (outcome == ActivityStack.NOT_FOUND) {
            if (link.isHosted()) {
                Log.w(TAG, "no activity for " + intent + ": only those of the package itself are there");
            }
            boolean isNamed = intent.getComponent() != null;
            return isNamed ? ActivityManager.START_CLASS_NOT_FOUND : ActivityManager.START_INTENT_NOT_RESOLVED;
        }
        Log.e(TAG, "too many activities or tasks are there already: " + intent + " is not started");
        return ActivityManager.START_ABORTED;
    }

    /** An activity ends itself. */
    public synchronized boolean finishActivity(IBinder token, int code, Intent data, int finishTask)
            throws RemoteException {
        Record record = byToken(token);
        if (record == null) {
            return false;
        }
        stack.finish(record.id, code, data, finishTask);
        return true;
    }

    /** It and those below it of the same affinity. */
    public synchronized boolean finishActivityAffinity(IBinder token) throws RemoteException {
        Record record = byToken(token);
        if (record == null) {
            return false;
        }
        stack.finishAffinity(record.id);
        return true;
    }

    /** What it started by this request. */
    public synchronized void finishSubActivity(IBinder token, String who, int requestCode) throws RemoteException {
        Record record = byToken(token);
        if (record != null) {
            stack.finishStarted(record.id, requestCode);
        }
    }

    /** Its task goes behind the others, if it is the root or need not be. */
    public synchronized boolean moveActivityTaskToBack(IBinder token, boolean nonRoot) throws RemoteException {
        Record record = byToken(token);
        if (record == null || !(nonRoot || stack.isRoot(record.id))) {
            return false;
        }
        stack.moveTaskToBack(record.id);
        return true;
    }

    /**
     * BACK, and nothing has taken it: the activity ends itself. Since Android 12 one that a
     * launcher has started goes behind the others; here nobody would bring it to the front again.
     */
    public void onBackPressed(IBinder token, IRequestFinishCallback callback) throws RemoteException {
        callback.requestFinish();
    }

    /** onResume has returned. */
    public synchronized void activityResumed(IBinder token, boolean handlesSplashScreen) throws RemoteException {
        process.watchdog.answered(token);
        Record record = byToken(token);
        if (record != null) {
            process.started("activity " + record.info.name);
            stack.resumed(record.id);
        }
    }

    /** The looper had nothing more to do: what lies below is stopped now. */
    public synchronized void activityIdle(IBinder token, Configuration configuration, boolean stopProfiling)
            throws RemoteException {
        stack.idle();
    }

    /** onPause has returned. */
    public synchronized void activityPaused(IBinder token) throws RemoteException {
        process.watchdog.answered(token);
        Record record = byToken(token);
        if (record != null) {
            stack.paused(record.id);
        }
    }

    /** onStop has returned. */
    public synchronized void activityStopped(IBinder token, Bundle state, PersistableBundle persistent,
            CharSequence description) throws RemoteException {
        process.watchdog.answered(token);
        Record record = byToken(token);
        if (record != null) {
            stack.stopped(record.id, state);
        }
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
        sequence++;
        next.seq = sequence;
        ClientTransaction transaction = ClientTransaction.obtain(process.thread());
        transaction.addTransactionItem(ConfigurationChangeItem.obtain(next, 0));
        transaction.schedule();
        for (Record record : List.copyOf(records.values())) {
            if (record.state == ActivityStack.STAY) {
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
                differing = left;
                stack.relaunch(record.id);
            }
        }
    }

    /** Without windows the process makes no views for it. */
    public boolean willActivityBeVisible(IBinder token) {
        return Screen.isOn();
    }

    /** The default display's number, although there is no display. */
    public int getDisplayId(IBinder token) {
        return 0;
    }

    /** Its task's number; -1 if only a root's is asked for, and it is none. */
    public synchronized int getTaskForActivity(IBinder token, boolean onlyRoot) {
        Record record = byToken(token);
        if (record == null || (onlyRoot && !stack.isRoot(record.id))) {
            return -1;
        }
        return stack.taskOf(record.id);
    }

    /** Is it on top? */
    public synchronized boolean isTopOfTask(IBinder token) {
        Record record = byToken(token);
        return record != null && stack.isTop(record.id);
    }

    /** Who started it for a result; null if nobody did. */
    public synchronized ComponentName getCallingActivity(IBinder token) {
        Record record = byToken(token);
        if (record == null) {
            return null;
        }
        long caller = stack.caller(record.id);
        Record origin = records.get(caller);
        return origin == null ? stack.componentOf(caller) : origin.name();
    }

    /** Whose activity started it for a result. */
    public String getCallingPackage(IBinder token) {
        ComponentName calling = getCallingActivity(token);
        return calling == null ? null : calling.getPackageName();
    }

    synchronized boolean isIdle() {
        return records.isEmpty();
    }

    /** One step that the system server asks for. */
    synchronized void carryOut(Step step) throws RemoteException {
        for (int index = 0; index < step.named.length; index++) {
            parcels.put(step.named[index], Wishes.intent(step.wishes[index]));
        }
        carryOut(step.numbers);
    }

    /** An activity that the system server has this process make. */
    private Record made(long id, Intent intent) {
        InstalledPackage.Component component =
                process.installed.named(InstalledPackage.ACTIVITY, intent.getComponent().getClassName());
        Record record = new Record(id, intent, (ActivityInfo) component.info);
        records.put(id, record);
        return record;
    }

    private Record byToken(IBinder token) {
        return token == null ? null
                : records.values().stream().filter(it -> it.token == token).findFirst().orElse(null);
    }

    /** Each step is one transaction. */
    private void carryOut(long[] numbers) throws RemoteException {
        ActivityStack.Steps steps = new ActivityStack.Steps(numbers);
        while (steps.hasNext()) {
            long id = steps.next();
            long created = steps.next();
            long saved = steps.next();
            Record record = records.get(id);
            if (record == null && created != 0) {
                record = made(id, parcels.remove(created));
            }
            boolean isRelaunch = steps.next() != 0;
            boolean isFinishing = steps.next() != 0;
            int then = (int) steps.next();
            List<ResultInfo> results = results(record, steps);
            List<ReferrerIntent> intents = intents(record, steps);
            ClientTransaction transaction = ClientTransaction.obtain(process.thread());
            if (created != 0) {
                transaction.addTransactionItem(launch(record, parcels.remove(saved)));
            }
            if (isRelaunch) {
                MergedConfiguration both = new MergedConfiguration(configuration, configuration);
                transaction.addTransactionItem(ActivityRelaunchItem.obtain(record.token, results, intents, differing,
                        both, false, new ActivityWindowInfo()));
            } else {
                if (!results.isEmpty()) {
                    transaction.addTransactionItem(ActivityResultItem.obtain(record.token, results));
                }
                if (!intents.isEmpty()) {
                    transaction.addTransactionItem(NewIntentItem.obtain(record.token, intents, true));
                }
            }
            send(record, transaction, then, isFinishing);
        }
    }

    private List<ResultInfo> results(Record record, ActivityStack.Steps steps) {
        List<ResultInfo> results = new ArrayList<>();
        for (long count = steps.next(); count > 0; count--) {
            int request = (int) steps.next();
            int code = (int) steps.next();
            results.add(new ResultInfo(record.askers.get(request), request, code, parcels.remove(steps.next())));
        }
        return results;
    }

    private List<ReferrerIntent> intents(Record record, ActivityStack.Steps steps) {
        List<ReferrerIntent> intents = new ArrayList<>();
        for (long count = steps.next(); count > 0; count--) {
            intents.add(new ReferrerIntent(parcels.remove(steps.next()), record.info.packageName));
        }
        return intents;
    }

    /** With what an earlier one saved; null if there was none. */
    private LaunchActivityItem launch(Record record, Intent saved) {
        Configuration configuration = AppProcess.configuration();
        Bundle state = saved == null ? null : saved.getExtras();
        return LaunchActivityItem.obtain(record.token, record.intent, ++idents, record.info, configuration,
                configuration, 0, null, null, AppProcess.STATE, state, null, null, null, null, true, null,
                record.token, controller, record.token, false, null, null, new ActivityWindowInfo());
    }

    private void send(Record record, ClientTransaction transaction, int then, boolean isFinishing)
            throws RemoteException {
        ActivityLifecycleItem item = switch (then) {
            case ActivityStack.RESUME -> ResumeActivityItem.obtain(record.token, true, false);
            case ActivityStack.PAUSE -> PauseActivityItem.obtain(record.token, isFinishing, false, false, false);
            case ActivityStack.STOP -> StopActivityItem.obtain(record.token);
            case ActivityStack.DESTROY -> DestroyActivityItem.obtain(record.token, isFinishing);
            default -> null;
        };
        if (item != null) {
            String what = WORDS[then] + " of activity " + record.name().flattenToShortString();
            process.watchdog.ask(record.token, what);
            transaction.addTransactionItem(item);
            record.state = then;
        }
        if (then == ActivityStack.DESTROY) {
            records.remove(record.id);
        }
        transaction.schedule();
    }
}
