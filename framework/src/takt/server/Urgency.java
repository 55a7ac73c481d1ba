// SPDX-License-Identifier: Apache-2.0
package takt.server;

import android.content.pm.ComponentInfo;
import android.os.Bundle;
import android.os.RemoteException;
import android.util.Log;
import org.json.JSONArray;
import org.json.JSONException;
import org.json.JSONObject;
import takt.framework.RealtimeThread;

/**
 * RTDroid's {@code <rtdroid:priority rtdroid:scheduler="SCHED_FIFO" rtdroid:priority="1…99"/>} of a component: what the
 * system asks of it is sent to its looper at that priority, and so dispatched at it.
 */
final class Urgency {
    private static final String TAG = "Takt";
    /** In the component's meta-data. */
    private static final String PRIORITY = "rtdroid:priority";
    private static final int PRIORITY_MAX = 99;

    private Urgency() {}

    /** What asks something of a component. */
    interface Request {
        void send() throws RemoteException;
    }

    /** Reads a component's elements of other namespaces; answers its meta-data with what they say. */
    static Bundle declared(String component, JSONArray extensions, Bundle metaData) throws JSONException {
        Bundle all = metaData;
        for (int index = 0; index < extensions.length(); index++) {
            JSONObject extension = extensions.getJSONObject(index);
            if (!extension.getString("name").equals("priority")) {
                Log.w(TAG, component + ": <" + extension.getString("name") + "> is not supported by Takt yet");
                continue;
            }
            String scheduler = attribute(extension, "scheduler", "SCHED_FIFO");
            int priority = number(attribute(extension, "priority", "0"));
            if (!scheduler.equals("SCHED_FIFO") || priority < 1 || priority > PRIORITY_MAX) {
                Log.w(TAG, component + ": not SCHED_FIFO with a priority of 1 to 99, so not applied: " + scheduler + " "
                        + attribute(extension, "priority", ""));
                continue;
            }
            all = all == null ? new Bundle() : all;
            all.putInt(PRIORITY, priority);
        }
        return all;
    }

    private static String attribute(JSONObject extension, String name, String otherwise) throws JSONException {
        JSONArray attributes = extension.getJSONArray("attributes");
        for (int index = 0; index < attributes.length(); index++) {
            JSONArray pair = attributes.getJSONArray(index);
            if (pair.getString(0).equals(name)) {
                return pair.getString(1);
            }
        }
        return otherwise;
    }

    private static int number(String text) {
        try {
            return Integer.parseInt(text);
        } catch (NumberFormatException e) {
            return 0;
        }
    }

    /** Sends at the priority that the component has declared, unless the calling thread is more urgent. */
    static void send(ComponentInfo component, Request request) throws RemoteException {
        int priority = component.metaData == null ? 0 : component.metaData.getInt(PRIORITY);
        int before = RealtimeThread.sendAs(priority);
        try {
            request.send();
        } finally {
            RealtimeThread.sendAs(before);
        }
    }
}
