// SPDX-License-Identifier: Apache-2.0
package takt.server;

import android.app.ActivityThread;
import android.content.ComponentName;
import android.content.Intent;
import android.os.Bundle;
import android.os.Handler;
import android.os.Looper;
import android.os.RemoteException;
import android.util.Log;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.json.JSONArray;
import org.json.JSONException;
import org.json.JSONObject;
import takt.framework.Natives;

/**
 * The main class of an application's process: the system server's part inside, then AOSP's own ActivityThread.
 *
 * <p>Its one argument is the file in which `takt run` describes the package and what to start.
 */
public final class Launcher implements AppProcess.Owner {
    /** The application ended by an exception that nothing caught. */
    private static final int EXIT_CRASHED = 1;
    /** What was asked for is not in the package. */
    private static final int EXIT_REFUSED = 2;
    private static final String TAG = "Takt";

    private final JSONObject run;

    private Launcher(JSONObject run) {
        this.run = run;
    }

    /** Starts the application; the process ends by itself or by a signal. */
    public static void main(String[] arguments) throws IOException, JSONException, ReflectiveOperationException {
        Natives.load();
        JSONObject run = new JSONObject(Files.readString(Path.of(arguments[0])));
        useFrameworkResources(run.getString("framework_resources"));
        ApplicationCode.install(run);
        UncaughtExceptions.install();
        AppProcess.start(new InstalledPackage(run), new Launcher(run));
        ActivityThread.main(new String[0]);
    }

    /** Where the table of AOSP's own resources lies. */
    private static native void useFrameworkResources(String table);

    @Override
    public void onBound(AppProcess process) throws RemoteException {
        Looper looper = Looper.getMainLooper();
        if (looper == null) {
            throw new IllegalStateException("the process has no main looper");
        }
        Handler main = new Handler(looper);
        Interrupt.onSignal(() -> main.post(() -> end(process)));
        if (!run.isNull("limit_millis")) {
            main.postDelayed(() -> end(process), run.optLong("limit_millis"));
        }
        // Behind the application's own start: a component's declared priority must not overtake that.
        main.post(() -> startAll(process));
    }

    private void startAll(AppProcess process) {
        JSONArray starts = run.optJSONArray("starts");
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

    /** On the main thread. All components end through the looper; what stands behind them in it ends the process. */
    private static void end(AppProcess process) {
        try {
            process.endAll();
        } catch (RemoteException e) {
            throw e.rethrowFromSystemServer();
        }
        new Handler(Looper.getMainLooper()).post(() -> exit(0));
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

    @Override
    public void onIdle() {
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
