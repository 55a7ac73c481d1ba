// SPDX-License-Identifier: Apache-2.0
package takt.server;

import android.app.Activity;
import android.app.ActivityManager;
import android.app.ActivityThread;
import android.app.ApplicationErrorReport;
import android.app.ApplicationExitInfo;
import android.app.IActivityManager;
import android.app.IActivityTaskManager;
import android.app.IAlarmManager;
import android.app.IApplicationThread;
import android.app.INotificationManager;
import android.app.IUriGrantsManager;
import android.app.job.IJobScheduler;
import android.content.ContentResolver;
import android.content.Context;
import android.content.IContentService;
import android.content.Intent;
import android.content.pm.IPackageManager;
import android.content.pm.PackageManager;
import android.content.pm.ParceledListSlice;
import android.content.pm.ProviderInfo;
import android.content.pm.ProviderInfoList;
import android.content.res.CompatibilityInfo;
import android.content.res.Configuration;
import android.hardware.display.IDisplayManager;
import android.net.IConnectivityManager;
import android.os.Bundle;
import android.os.Handler;
import android.os.IBinder;
import android.os.Process;
import android.os.RemoteException;
import android.os.SystemClock;
import android.permission.IPermissionChecker;
import java.io.IOException;
import java.lang.reflect.Field;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import takt.screen.Screen;
import takt.system.ISystem;

/**
 * The one application process, as the system server keeps it: the part of IActivityManager that
 * binds, watches and ends it. What its components do is in {@link Activities}, {@link
 * SystemServices}, {@link SystemBroadcasts} and {@link Providers}; what comes later in {@link
 * Alarms} and {@link Jobs}.
 */
public final class AppProcess {
    static final int STATE = ActivityManager.PROCESS_STATE_TOP;
    static final int USER = 0;
    /** Whom the end is asked of. */
    private static final Object END = new Object();
    static final CompatibilityInfo COMPATIBILITY = CompatibilityInfo.DEFAULT_COMPATIBILITY_INFO;

    /** What the process was started for, and who hears of its end. */
    public interface Owner {
        /** The application is bound: start what was asked for. */
        void onBound(AppProcess process) throws RemoteException;

        /** onResume, onStartCommand or a receiver's onReceive has returned for the first time. */
        void onStarted(AppProcess process, String what);

        /** An exception that nothing caught ends the process. */
        void onCrash(String text);

        /** The process has not answered in time; on a thread of the system's. */
        void onNotResponding(String what);

        /** Nothing is left to run. */
        void onIdle();
    }

    final InstalledPackage installed;
    final Watchdog watchdog;
    final Notifications notifications;
    private final Owner owner;
    private final SystemLink link;
    private final Activities activities;
    private final SystemServices services;
    private final SystemBroadcasts broadcasts;
    private final SystemSenders senders;
    private final Alarms alarms;
    private final Jobs jobs;
    private final OtherPackages others;
    private IApplicationThread thread;
    private boolean isStarted;

    private AppProcess(InstalledPackage installed, long answerMillis, Owner owner, SystemLink link) {
        this.installed = installed;
        this.owner = owner;
        this.link = link;
        ISystem shared = link.isHosted() ? null : link.system();
        watchdog = new Watchdog(answerMillis, owner::onNotResponding);
        notifications = new Notifications(installed, shared);
        activities = new Activities(this, link);
        others = new OtherPackages(link, installed);
        services = new SystemServices(this, link);
        broadcasts = new SystemBroadcasts(this, link);
        senders = new SystemSenders(this, link, broadcasts);
        link.serve(activities, services, broadcasts, senders);
        alarms = new Alarms(this, senders);
        jobs = new Jobs(this, link, services);
        link.serve(jobs.runs());
    }

    /**
     * Makes the system's services for one package; the process attaches when ActivityThread starts.
     * It has {@code answerMillis} to answer each transaction.
     */
    static AppProcess start(InstalledPackage installed, long answerMillis, Owner owner, SystemLink link) {
        AppProcess process = new AppProcess(installed, answerMillis, owner, link);
        process.watchdog.start();
        Contents contents = new Contents(link.isHosted() ? null : link.system());
        OtherProviders shared =
                link.isHosted() ? null : new OtherProviders(link.system(), process.others, link);
        link.serve(contents, shared);
        Providers providers = new Providers(process, new DeviceSettings(installed, contents), shared);
        UriGrants grants = new UriGrants(installed, link.system());
        ServiceRegistry.add(Context.ACTIVITY_SERVICE, LocalInterface.binder(IActivityManager.class, process,
                process.services, process.broadcasts, providers, process.senders, grants));
        ServiceRegistry.add("uri_grants", LocalInterface.binder(IUriGrantsManager.class, grants));
        ServiceRegistry.add(Context.ALARM_SERVICE, LocalInterface.binder(IAlarmManager.class, process.alarms));
        ServiceRegistry.add(Context.JOB_SCHEDULER_SERVICE, LocalInterface.binder(IJobScheduler.class, process.jobs));
        ServiceRegistry.add(Context.ACTIVITY_TASK_SERVICE,
                LocalInterface.binder(IActivityTaskManager.class, process.activities));
        ServiceRegistry.add("package", LocalInterface.binder(IPackageManager.class, new Packages(installed, process.others)));
        ServiceRegistry.add(Context.CONNECTIVITY_SERVICE,
                LocalInterface.binder(IConnectivityManager.class, new Connectivity()));
        ServiceRegistry.add(Context.DISPLAY_SERVICE, LocalInterface.binder(IDisplayManager.class, new Displays()));
        ServiceRegistry.add(ContentResolver.CONTENT_SERVICE_NAME,
                LocalInterface.binder(IContentService.class, contents));
        ServiceRegistry.add("permission_checker",
                LocalInterface.binder(IPermissionChecker.class, new PermissionChecks(process)));
        Notifications.makeCurrent(process.notifications);
        ServiceRegistry.add(Context.NOTIFICATION_SERVICE,
                LocalInterface.binder(INotificationManager.class, process.notifications));
        OneUser.register(installed, process.others);
        Devices.register();
        return process;
    }

    /** The process is there: bind the application, then what was asked for. */
    public void attachApplication(IApplicationThread attached, long sequence) throws RemoteException {
        thread = attached;
        List<ProviderInfo> own = installed.infos(InstalledPackage.PROVIDER).stream()
                .map(ProviderInfo.class::cast)
                .filter(it -> it.enabled && it.processName.equals(installed.processName))
                .sorted(Comparator.comparingInt((ProviderInfo it) -> it.initOrder).reversed())
                .toList();
        long now = SystemClock.uptimeMillis();
        watchdog.ask(this, "start of the application");
        Configuration configuration = configuration();
        activities.bound(configuration);
        thread.bindApplication(installed.processName, installed.application, null, null, false,
                ProviderInfoList.fromList(own), null, null, null, null, null, 0, false, false, false, false,
                configuration, COMPATIBILITY, Map.of(), new Bundle(), "", null, null,
                Changes.disabledFor(installed.application.targetSdkVersion), new long[0], null, now, now);
        owner.onBound(this);
    }

    /** The process has told all that it had to tell. */
    public void finishAttachApplication(long sequence, long timestamp) {
        watchdog.answered(this);
    }

    /** The process ends by an exception. */
    public void handleApplicationCrash(IBinder application, ApplicationErrorReport.ParcelableCrashInfo crash) {
        owner.onCrash(crash.exceptionClassName + ": " + crash.exceptionMessage);
    }

    /** What a terrible failure was is in the log; false: the process lives on. */
    public boolean handleApplicationWtf(IBinder application, String tag, boolean isSystem,
            ApplicationErrorReport.ParcelableCrashInfo crash, int immediateCallerPid) {
        return false;
    }

    /**
     * A permission that the manifest asks for is granted: who runs the application installed it.
     * Where there is a system server, that knows.
     */
    public int checkPermission(String permission, int pid, int uid) throws RemoteException {
        if (permission != null && !link.isHosted()) {
            return others.check(permission, pid, uid);
        }
        boolean isGranted = permission == null || installed.asksFor(permission);
        return isGranted ? PackageManager.PERMISSION_GRANTED : PackageManager.PERMISSION_DENIED;
    }

    /** The same, for a device among several: there is one. */
    public int checkPermissionForDevice(String permission, int pid, int uid, int device) throws RemoteException {
        return checkPermission(permission, pid, uid);
    }

    /** How earlier processes have ended is not remembered; androidx.work asks for it. */
    public ParceledListSlice<ApplicationExitInfo> getHistoricalProcessExitReasons(String packageName, int pid,
            int count, int user) {
        return ParceledListSlice.emptyList();
    }

    /** Nobody clicks at random. */
    public boolean isUserAMonkey() {
        return false;
    }

    /** The machine's memory; nobody ends processes when it is low. */
    public void getMemoryInfo(ActivityManager.MemoryInfo info) throws IOException {
        for (String line : Files.readAllLines(Path.of("/proc/meminfo"))) {
            String[] words = line.split("\\s+");
            switch (words[0]) {
                case "MemTotal:" -> info.totalMem = Long.parseLong(words[1]) << 10;
                case "MemAvailable:" -> info.availMem = Long.parseLong(words[1]) << 10;
                default -> { }
            }
        }
    }

    /** The one process is in front. */
    public void getMyMemoryState(ActivityManager.RunningAppProcessInfo info) {
        info.pid = Process.myPid();
        info.uid = Process.myUid();
        info.importance = ActivityManager.RunningAppProcessInfo.IMPORTANCE_FOREGROUND;
    }

    /** The thread that draws is ordinary, and stays so. */
    public void setRenderThread(int thread) {
        Screen.beginRendering();
    }

    /** The one application uses it. */
    public void addPackageDependency(String name) {}

    /** A user by this process's number: a server that is inside has one of its own for it. */
    int user(long ofServer) {
        return link.isHosted() ? installed.application.uid : (int) ofServer;
    }

    IApplicationThread thread() {
        return thread;
    }

    /** A device without a locale of its own, with the display that there is. */
    public static Configuration configuration() {
        Configuration configuration = new Configuration();
        configuration.setToDefaults();
        configuration.setLocale(Locale.US);
        configuration.densityDpi = 160;
        configuration.fontScale = 1;
        Screen.configure(configuration);
        return configuration;
    }

    /** The display is another one: so is the configuration, for the process and its activities. */
    public void displayChanged() throws RemoteException {
        if (thread != null) {
            link.in(() -> {
                activities.configurationChanged(configuration());
                return null;
            });
        }
    }

    /** What ActivityThread gets the life cycle of its components by. */
    public Handler components() throws ReflectiveOperationException {
        Field handler = ActivityThread.class.getDeclaredField("mH");
        handler.setAccessible(true);
        return (Handler) handler.get(ActivityThread.currentActivityThread());
    }

    /**
     * The owner is about to call {@link #endAll} from the process's looper, which must come to it
     * in time.
     */
    public void expectEnd() {
        watchdog.ask(END, "end of the application");
    }

    /** Starts an activity as a launcher would. */
    void startActivity(Intent intent) throws RemoteException {
        intent.addFlags(Intent.FLAG_ACTIVITY_NEW_TASK);
        int outcome = link.in(() ->
                activities.startActivity(thread, null, null, intent, null, null, null, -1, 0, null, null));
        if (!ActivityManager.isStartResultSuccessful(outcome)) {
            throw new IllegalArgumentException("no activity for " + intent);
        }
    }

    /** Starts a service. */
    void startService(Intent intent) throws RemoteException {
        if (link.in(() -> services.startService(thread, intent, null, false, null, null, USER)) == null) {
            throw new IllegalArgumentException("no service for " + intent);
        }
    }

    /** Sends a broadcast, unordered. */
    public void broadcast(Intent intent) throws RemoteException {
        link.in(() -> broadcasts.broadcastIntentWithFeature(thread, null, intent, null, null, Activity.RESULT_OK, null,
                null, null, null, null, 0, null, false, false, USER));
    }

    /**
     * Ends all components in order; what they do on their way goes through the process's own
     * looper.
     */
    public void endAll() throws RemoteException {
        watchdog.answered(END);
        if (link.isHosted()) {
            link.in(() -> {
                HostedServer.endAll();
                return null;
            });
        }
    }

    /** Tells the owner once that the first component has done its first work. */
    synchronized void started(String what) {
        if (!isStarted) {
            isStarted = true;
            owner.onStarted(this, what);
        }
    }

    /** Tells the owner when no component is left. */
    void lookForEnd() {
        if (activities.isIdle() && services.isIdle() && broadcasts.isIdle() && alarms.isIdle()
                && jobs.isIdle()) {
            owner.onIdle();
        }
    }
}
