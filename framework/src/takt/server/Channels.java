// SPDX-License-Identifier: Apache-2.0
package takt.server;

import android.util.Log;
import java.util.HashMap;
import java.util.Map;
import org.json.JSONArray;
import org.json.JSONException;
import org.json.JSONObject;

/**
 * RTDroid's channels, which a manifest's application declares: {@code <rtdroid:channel
 * rtdroid:name="an action" rtdroid:order="priority-inheritance" rtdroid:drop="priority_and_FIFO"
 * rtdroid:execution="component-priority" rtdroid:concurrentCount="4"/>}. They hold for the
 * package's own {@code takt.os.RealtimeReceiver}s.
 */
final class Channels {
    private static final String TAG = "Takt";
    /** Of intents that wait for a receiver, without a word of the manifest, and at most. */
    private static final int COUNT = 4;
    private static final int COUNT_MAX = 1_024;
    private static final Channel USUAL = new Channel("", false, COUNT);

    /** How many may wait, and whether their receiver runs at their priority or at its own. */
    record Channel(String name, boolean runsAsSender, int count) {}

    private final Map<String, Channel> byName = new HashMap<>();

    private Channels(JSONArray extensions) throws JSONException {
        for (int index = 0; index < extensions.length(); index++) {
            JSONObject extension = extensions.getJSONObject(index);
            if (extension.getString("name").equals("channel")) {
                read(extension);
            } else {
                Log.w(TAG, "<" + extension.getString("name") + "> of the application is not supported by Takt yet");
            }
        }
    }

    /** Those of a manifest's application, by its elements of other namespaces. */
    static Channels of(JSONArray extensions) {
        try {
            return new Channels(extensions);
        } catch (JSONException e) {
            throw new IllegalArgumentException("elements that nobody wrote", e);
        }
    }

    /** That of an action; the usual one if the manifest has none. */
    Channel of(String action) {
        return byName.getOrDefault(action, USUAL);
    }

    private void read(JSONObject declared) throws JSONException {
        String name = Urgency.attribute(declared, "name", "");
        String why = unsupported(declared);
        int count = Urgency.number(Urgency.attribute(declared, "concurrentCount", String.valueOf(COUNT)));
        if (name.isEmpty()) {
            why = "it has no name";
        } else if (count < 1 || count > COUNT_MAX) {
            why = "concurrentCount is not within 1 to " + COUNT_MAX;
        }
        if (why != null) {
            Log.w(TAG, "<channel> " + name + ": not applied: " + why);
            return;
        }
        String execution = Urgency.attribute(declared, "execution", "component-priority");
        byName.put(name, new Channel(name, execution.equals("priority-inheritance"), count));
    }

    /** What of it cannot be had; null if all can. RTDroid's values that say the same are taken. */
    private static String unsupported(JSONObject declared) throws JSONException {
        String order = Urgency.attribute(declared, "order", "");
        String drop = Urgency.attribute(declared, "drop", "");
        String execution = Urgency.attribute(declared, "execution", "component-priority");
        String implementation = Urgency.attribute(declared, "implementation", "broadcast_intent");
        if (order.isEmpty() || drop.isEmpty()) {
            return "it has no attributes order and drop; text of elements within it is not read";
        }
        if (!order.equals("priority-inheritance")) {
            return "order " + order + " is not supported by Takt: priority-inheritance is";
        }
        if (!drop.equals("priority_and_FIFO")) {
            return "drop " + drop + " is not supported by Takt: priority_and_FIFO is";
        }
        if (!execution.equals("component-priority") && !execution.equals("priority-inheritance")) {
            return "execution " + execution
                    + " is not supported by Takt: component-priority and priority-inheritance are";
        }
        if (!implementation.equals("broadcast_intent")) {
            return "implementation " + implementation + " is not supported by Takt: broadcast_intent is";
        }
        if (Urgency.attribute(declared, "validation", "false").equals("true")) {
            return "validation is not supported by Takt: what intents carry is not looked at";
        }
        return null;
    }
}
