// SPDX-License-Identifier: Apache-2.0
package takt.server;

import android.content.pm.ComponentInfo;
import android.os.Bundle;
import android.os.RemoteException;
import android.util.Log;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.json.JSONArray;
import org.json.JSONException;
import org.json.JSONObject;
import takt.framework.RealtimeThread;

/**
 * RTDroid's elements of a component in the manifest. {@code <rtdroid:priority
 * rtdroid:scheduler="SCHED_FIFO" rtdroid:priority="1…99"/>}: what the system asks of it is sent to
 * its looper at that priority, and so dispatched at it. {@code <rtdroid:periodic
 * rtdroid:period="2ms"/>}: read by {@code takt.os.RealtimeService}.
 */
final class Urgency {
    private static final String TAG = "Takt";
    private static final Pattern TIME = Pattern.compile("([0-9]{1,9})(us|ms|s)");
    private static final long NANOS_MAX = TimeUnit.DAYS.toNanos(1);
    /** In the component's meta-data. */
    private static final String PRIORITY = "rtdroid:priority";
    private static final int PRIORITY_MAX = 99;
    private static final String PERIOD = "rtdroid:period";
    private static final String START = "rtdroid:start";
    private static final String DEADLINE = "rtdroid:deadline";
    private static final String RUNTIME = "rtdroid:runtime";
    /**
     * What a periodic service's class descends from: of the real-time queue's classes, which these
     * do not know.
     */
    private static final String PERIODIC_BASE = "takt.os.RealtimeService";

    private Urgency() {}

    /** What asks something of a component. */
    interface Request {
        void send() throws RemoteException;
    }

    /**
     * Reads a component's elements of other namespaces; answers its meta-data with what they say.
     */
    static Bundle declared(String component, JSONArray extensions, Bundle metaData) throws JSONException {
        Bundle all = metaData == null ? new Bundle() : metaData;
        for (int index = 0; index < extensions.length(); index++) {
            JSONObject extension = extensions.getJSONObject(index);
            switch (extension.getString("name")) {
                case "priority" -> readPriority(component, extension, all);
                case "periodic" -> readPeriodic(component, extension, all);
                // Of interest to who admits the package.
                case "messages" -> { }
                default -> Log.w(TAG,
                        component + ": <" + extension.getString("name") + "> is not supported by Takt yet");
            }
        }
        return all.isEmpty() ? metaData : all;
    }

    private static void readPriority(String component, JSONObject extension, Bundle to) throws JSONException {
        String scheduler = attribute(extension, "scheduler", "SCHED_FIFO");
        int priority = number(attribute(extension, "priority", "0"));
        boolean isFifo = scheduler.equals("SCHED_FIFO") || scheduler.equals("FIFO");
        if (!isFifo || priority < 1 || priority > PRIORITY_MAX) {
            Log.w(TAG, component + ": not SCHED_FIFO with a priority of 1 to 99, so not applied: " + scheduler + " "
                    + attribute(extension, "priority", ""));
            return;
        }
        to.putInt(PRIORITY, priority);
    }

    private static void readPeriodic(String component, JSONObject extension, Bundle to) throws JSONException {
        String period = attribute(extension, "period", "");
        String start = attribute(extension, "start", "0ms");
        String deadline = attribute(extension, "deadline", period);
        boolean isPeriod = nanos(period) > 0;
        boolean isDeadline = 0 < nanos(deadline) && nanos(deadline) <= nanos(period);
        if (!isPeriod || !isDeadline || nanos(start) < 0) {
            Log.w(TAG, component + ": not a period, a start and a deadline within the period, as 500us, 2ms, 1s, so not"
                    + " applied: period " + period + ", start " + start + ", deadline " + deadline);
            return;
        }
        readRuntime(component, attribute(extension, "runtime", ""), nanos(deadline), to);
        to.putLong(PERIOD, nanos(period));
        to.putLong(START, nanos(start));
        to.putLong(DEADLINE, nanos(deadline));
    }

    /** The longest that a release computes; {@code takt admit} needs it, the rest does without. */
    private static void readRuntime(String component, String runtime, long deadline, Bundle to) {
        if (runtime.isEmpty()) {
            return;
        }
        if (nanos(runtime) <= 0 || nanos(runtime) > deadline) {
            Log.w(TAG, component + ": not a runtime within the deadline, so not applied: runtime " + runtime);
            return;
        }
        to.putLong(RUNTIME, nanos(runtime));
    }

    /**
     * Of a whole number with us, ms or s behind it; -1 for everything else, and for more than a
     * day.
     */
    private static long nanos(String text) {
        Matcher matcher = TIME.matcher(text);
        if (!matcher.matches()) {
            return -1;
        }
        long unit = switch (matcher.group(2)) {
            case "us" -> 1_000;
            case "ms" -> 1_000_000;
            default -> 1_000_000_000;
        };
        long nanos = Long.parseLong(matcher.group(1)) * unit;
        return nanos <= NANOS_MAX ? nanos : -1;
    }

    /** Says so if a service that is declared periodic cannot be released. */
    static void checkPeriodic(ComponentInfo component, ClassLoader loader) {
        if (component.metaData == null || !component.metaData.containsKey(PERIOD)) {
            return;
        }
        try {
            for (Class<?> at = loader.loadClass(component.name); at != null; at = at.getSuperclass()) {
                if (at.getName().equals(PERIODIC_BASE)) {
                    return;
                }
            }
            Log.w(TAG, component.name + ": <periodic> releases nothing, for it does not extend " + PERIODIC_BASE);
        } catch (ClassNotFoundException e) {
            Log.w(TAG, component.name + ": <periodic> releases nothing", e);
        }
    }

    static String attribute(JSONObject extension, String name, String otherwise) throws JSONException {
        JSONArray attributes = extension.getJSONArray("attributes");
        for (int index = 0; index < attributes.length(); index++) {
            JSONArray pair = attributes.getJSONArray(index);
            if (pair.getString(0).equals(name)) {
                return pair.getString(1);
            }
        }
        return otherwise;
    }

    static int number(String text) {
        try {
            return Integer.parseInt(text);
        } catch (NumberFormatException e) {
            return 0;
        }
    }

    /**
     * Sends at the priority that the component has declared, unless the calling thread is more
     * urgent.
     */
    static void send(ComponentInfo component, Request request) throws RemoteException {
        send(component, 0, request);
    }

    /** What the manifest declares, or another. */
    static int priority(ComponentInfo component, int otherwise) {
        return component.metaData == null ? otherwise : component.metaData.getInt(PRIORITY, otherwise);
    }

    /** The same, and at least at this priority. */
    static void send(ComponentInfo component, int atLeast, Request request) throws RemoteException {
        int declared = priority(component, 0);
        int before = RealtimeThread.sendAs(Math.max(declared, atLeast));
        try {
            request.send();
        } finally {
            RealtimeThread.sendAs(before);
        }
    }
}
