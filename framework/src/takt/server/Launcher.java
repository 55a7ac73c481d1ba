// SPDX-License-Identifier: Apache-2.0
package takt.server;

import android.app.ActivityThread;
import android.content.ComponentName;
import android.content.Intent;
import android.content.res.AssetManager;
import android.os.Bundle;
import android.os.Handler;
import android.os.Looper;
import android.os.MessageQueue;
import android.os.Process;
import android.os.RemoteException;
import android.os.SystemClock;
import android.os.SystemProperties;
import android.util.Log;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.TimeZone;
import org.json.JSONArray;
import org.json.JSONException;
import org.json.JSONObject;
import takt.framework.HostLibrary;
import takt.screen.Screen;
import takt.screen.Script;

/**
 * The main class of an application's process: the system server's part inside, then AOSP's own
 * ActivityThread.
 *
 * <p>Its one argument is the file in which `takt run` describes the package and what to start. A
 * {@link Template} has others.
 */
public final class Launcher implements AppProcess.Owner {
    /** The application ended by an exception that nothing caught. */
    static final int EXIT_CRASHED = 1;
    /** What was asked for is not in the package. */
    private static final int EXIT_REFUSED = 2;
    /** The application did not answer in time. */
    private static final int EXIT_NOT_RESPONDING = 3;
    /** For the last lines of the log, before the process ends without them. */
    private static final long REPORT_MILLIS = 2000;
    private static final String TAG = "Takt";
    /** In place of the file: this process is copied for each application. */
    private static final String TEMPLATE = "--template";

    private final JSONObject run;
    /** With the system server, which is inside this process under `takt run`. */
    private SystemLink link;

    private Launcher(JSONObject run) {
        this.run = run;
    }

    /** Starts the application; the process ends by itself or by a signal. */
    public static void main(String[] arguments) throws IOException, JSONException, ReflectiveOperationException {
        if (!arguments[0].equals(TEMPLATE)) {
            start(arguments[0], true);
            return;
        }
        // In a copy no launcher waits that would tell of an exception.
        String description = Template.serve(arguments[1]);
        try {
            start(description, false);
        } catch (Throwable e) {
            Thread thread = Thread.currentThread();
            thread.getUncaughtExceptionHandler().uncaughtException(thread, e);
            exit(EXIT_CRASHED);
        }
    }

    private static void start(String description, boolean isFirst)
            throws IOException, JSONException, ReflectiveOperationException {
        if (isFirst) {
            HostLibrary.load();
        }
        // The machine took it from TZ or from /etc/localtime.
        SystemProperties.set("persist.sys.timezone", TimeZone.getDefault().getID());
        String text = Files.readString(Path.of(description));
        JSONObject run = new JSONObject(text);
        if (isFirst) {
            AssetManager.createSystemAssetsInZygoteLocked(true, run.getString("framework_resources"));
        }
        ApplicationCode.install(run);
        UncaughtExceptions.install(run.getJSONObject("manifest").getString("package"));
        Launcher launcher = new Launcher(run);
        launcher.link = run.optBoolean("is_of_system") ? SystemLink.join() : SystemLink.host(text);
        AppProcess process =
                AppProcess.start(new InstalledPackage(run), run.getLong("answer_millis"), launcher, launcher.link);
        String fault = Screen.open(run, launcher::onNotResponding, process::displayChanged);
        if (fault != null) {
            Log.e(TAG, fault);
            exit(EXIT_REFUSED);
        }
        ActivityThread.main(new String[0]);
    }

    @Override
    public void onBound(AppProcess process) throws RemoteException {
        Looper looper = Looper.getMainLooper();
        if (looper == null) {
            throw new IllegalStateException("the process has no main looper");
        }
        Handler main = new Handler(looper);
        Interrupt.onSignal(() -> askToEnd(process, main));
        Screen.onClose(() -> askToEnd(process, main));
        if (!run.isNull("limit_millis")) {
            endAfter(run.optLong("limit_millis"), process, main);
        }
        // Behind the application's own start: a component's declared priority must not overtake
        // that.
        main.post(() -> begin(process));
        Script.start(run, () -> askToEnd(process, main), () -> exit(EXIT_REFUSED));
    }

    private void begin(AppProcess process) {
        link.prepare();
        if (link.isHosted()) {
            startAll(process);
        } else {
            link.attach(run.optInt("granted_priority"));
        }
    }

    private void startAll(AppProcess process) {
        JSONArray starts = run.optJSONArray("starts");
        if (starts.length() == 0) {
            nothingToLaunch(process);
        }
        for (int index = 0; index < starts.length(); index++) {
            try {
                start(process, starts.optJSONObject(index));
            } catch (IllegalArgumentException e) {
                Log.e(TAG, e.getMessage());
                exit(EXIT_REFUSED);
            } catch (RemoteException e) {
                throw e.rethrowFromSystemServer();
            }
        }
    }

    /** The application is bound, and that is all of it that a launcher could start. */
    private void nothingToLaunch(AppProcess process) {
        Log.i(TAG, "nothing to launch: " + run.optJSONObject("manifest").optString("package")
                + " has no activity for a launcher; name one of its components by --activity, --service or --broadcast");
        onStarted(process, "application");
        onIdle();
    }

    private static void start(AppProcess process, JSONObject start) throws RemoteException {
        Intent intent = new Intent(start.isNull("action") ? null : start.optString("action"));
        if (!start.isNull("component")) {
            intent.setComponent(ComponentName.unflattenFromString(start.optString("component")));
        }
        JSONObject extras = start.optJSONObject("extras");
        if (extras != null) {
            Bundle bundle = new Bundle();
            extras.keys().forEachRemaining(name -> bundle.putString(name, extras.optString(name)));
            intent.putExtras(bundle);
        }
        switch (start.optString("kind")) {
            case "activity" -> process.startActivity(intent);
            case "service" -> process.startService(intent);
            case "broadcast" -> process.broadcast(intent);
            default -> throw new IllegalArgumentException("cannot start " + start);
        }
    }

    /** From a thread of its own: the main one may be busy for ever. */
    private static void endAfter(long millis, AppProcess process, Handler main) {
        Thread thread = new Thread(() -> {
            SystemClock.sleep(millis);
            askToEnd(process, main);
        }, "limit");
        thread.setDaemon(true);
        thread.start();
    }

    private static void askToEnd(AppProcess process, Handler main) {
        process.expectEnd();
        main.postAtFrontOfQueue(() -> end(process));
    }

    /**
     * On the main thread. All components end through the looper; what stands behind them in it ends
     * the process. They go in front of what the application has sent itself: a storm of messages
     * must not outlive its end.
     */
    private static void end(AppProcess process) {
        try {
            process.endAll();
            Handler components = process.components();
            components.post(() -> exit(0));
            MessageQueue queue = Looper.myQueue();
            queue.getClass().getMethod("bringForward", Handler.class).invoke(queue, components);
        } catch (RemoteException e) {
            throw e.rethrowFromSystemServer();
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException("AOSP's own queue is in front of ours", e);
        }
    }

    @Override
    public void onStarted(AppProcess process, String what) {
        Log.i(TAG, "started: " + what);
        if (run.optBoolean("until_started")) {
            new Handler(Looper.getMainLooper()).post(() -> end(process));
        }
    }

    @Override
    public void onCrash(String text) {
        exit(EXIT_CRASHED);
    }

    /**
     * As the activity manager's log and the traces file have it; then the process ends, since
     * nobody can be asked to wait.
     */
    @Override
    public void onNotResponding(String what) {
        // On a thread that nobody has to wait for: the log may be what the process is stuck in.
        Thread report = new Thread(() -> {
            Log.e("ActivityManager", "ANR in " + run.optJSONObject("manifest").optString("package")
                    + "\nPID: " + Process.myPid()
                    + "\nReason: " + what + ": no answer within " + run.optLong("answer_millis") + " ms");
            Thread main = Looper.getMainLooper().getThread();
            StringBuilder trace = new StringBuilder("\"" + main.getName() + "\" " + main.getState());
            for (StackTraceElement frame : main.getStackTrace()) {
                trace.append("\n  at ").append(frame);
            }
            Log.e("ActivityManager", trace.toString());
        }, "traces");
        report.setDaemon(true);
        report.setUncaughtExceptionHandler((thread, e) -> Log.e("ActivityManager", "no trace", e));
        report.start();
        try {
            report.join(REPORT_MILLIS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        Runtime.getRuntime().halt(EXIT_NOT_RESPONDING);
    }

    @Override
    public void onIdle() {
        if (!link.isHosted()) {
            // The system server ends processes: what is started next finds this one.
            return;
        }
        new Handler(Looper.getMainLooper()).post(() -> {
            Log.i(TAG, "no activity, service or broadcast is left");
            exit(0);
        });
    }

    private static void exit(int code) {
        System.out.flush();
        Runtime.getRuntime().halt(code);
    }
}
