// SPDX-License-Identifier: Apache-2.0
package takt.server;

import android.Manifest;
import android.content.AttributionSource;
import android.net.Uri;
import android.os.Build;
import android.os.Bundle;
import android.os.RemoteException;
import android.provider.Settings;
import android.util.AtomicFile;
import android.util.Log;
import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import org.json.JSONException;
import org.json.JSONObject;

/**
 * The settings provider: three tables, kept as one file in the data folder. Who may write what is
 * as on Android.
 */
final class DeviceSettings {
    private static final String TAG = "SettingsProvider";
    private static final String FILE = "settings.json";
    /** More than Android has names of. */
    private static final int SETTINGS_MAX = 4096;
    /** As Android's own limit of a name or value. */
    private static final int TEXT_MAX = 32_768;

    /** What a new device of AOSP's says, where it matters without a screen. */
    private static final Map<String, String> DEFAULTS = Map.ofEntries(
            Map.entry("system/" + Settings.System.SCREEN_OFF_TIMEOUT, "60000"),
            Map.entry("system/" + Settings.System.SCREEN_BRIGHTNESS, "102"),
            Map.entry("system/" + Settings.System.SCREEN_BRIGHTNESS_MODE, "0"),
            Map.entry("system/" + Settings.System.ACCELEROMETER_ROTATION, "1"),
            Map.entry("system/" + Settings.System.SOUND_EFFECTS_ENABLED, "1"),
            Map.entry("global/" + Settings.Global.AIRPLANE_MODE_ON, "0"),
            Map.entry("global/" + Settings.Global.AUTO_TIME, "1"),
            Map.entry("global/" + Settings.Global.AUTO_TIME_ZONE, "1"),
            Map.entry("global/" + Settings.Global.ADB_ENABLED, "0"),
            Map.entry("global/" + Settings.Global.DEVICE_PROVISIONED, "1"),
            Map.entry("global/" + Settings.Global.STAY_ON_WHILE_PLUGGED_IN, "0"),
            Map.entry("global/" + Settings.Global.WINDOW_ANIMATION_SCALE, "1.0"),
            Map.entry("global/" + Settings.Global.TRANSITION_ANIMATION_SCALE, "1.0"),
            Map.entry("secure/user_setup_complete", "1"));

    private final InstalledPackage installed;
    private final Contents contents;
    private final AtomicFile file;
    /** Values by TABLE/NAME; null is one that was set to null. */
    private final Map<String, String> settings = new TreeMap<>(DEFAULTS);

    /** Changes are told by {@code contents}. */
    DeviceSettings(InstalledPackage installed, Contents contents) {
        this.installed = installed;
        this.contents = contents;
        file = new AtomicFile(new File(installed.application.dataDir, FILE));
        if (file.exists()) {
            read();
        }
        if (installed.androidId != null) {
            settings.put("secure/" + Settings.Secure.ANDROID_ID, installed.androidId);
        }
    }

    private void read() {
        try {
            JSONObject kept = new JSONObject(new String(file.readFully(), StandardCharsets.UTF_8));
            for (Iterator<String> names = kept.keys(); names.hasNext();) {
                String name = names.next();
                settings.put(name, kept.isNull(name) ? null : kept.getString(name));
            }
        } catch (IOException | JSONException e) {
            Log.e(TAG, file.getBaseFile() + " is damaged: the settings are as on a new device", e);
        }
    }

    /** GET_global, PUT_secure, … */
    public Bundle call(AttributionSource source, String authority, String method, String name, Bundle arguments)
            throws RemoteException {
        String table = method.substring(method.indexOf('_') + 1);
        Bundle answer = new Bundle();
        switch (method) {
            case "GET_system", "GET_secure", "GET_global" -> answer.putString(Settings.NameValueTable.VALUE,
                    get(table + "/" + name));
            case "PUT_system", "PUT_secure", "PUT_global" -> {
                String value = arguments == null ? null : arguments.getString(Settings.NameValueTable.VALUE);
                checkMayWrite(table, name);
                put(table, name, value);
            }
            // What a maker would switch on from afar: nothing.
            case Settings.CALL_METHOD_LIST_CONFIG -> answer.putSerializable(Settings.NameValueTable.VALUE,
                    new HashMap<String, String>());
            default -> throw new UnsupportedOperationException("settings: " + method + " is not supported by Takt yet");
        }
        return answer;
    }

    private synchronized String get(String key) {
        return settings.get(key);
    }

    private void checkMayWrite(String table, String name) {
        if (installed.asksFor(Manifest.permission.WRITE_SECURE_SETTINGS)) {
            return;
        }
        if (!table.equals("system")) {
            throw new SecurityException("Permission denial, must have one of: "
                    + Arrays.asList(Manifest.permission.WRITE_SECURE_SETTINGS));
        }
        if (!installed.asksFor(Manifest.permission.WRITE_SETTINGS)) {
            throw new SecurityException(installed.info.packageName + " was not granted  this permission: "
                    + Manifest.permission.WRITE_SETTINGS + ".");
        }
        if (!Settings.System.PUBLIC_SETTINGS.contains(name)) {
            refuseOwn(name);
        }
    }

    /** The system's table is not for an application's own. */
    private void refuseOwn(String name) {
        boolean isPrivate = Settings.System.PRIVATE_SETTINGS.contains(name);
        if (installed.application.targetSdkVersion <= Build.VERSION_CODES.LOLLIPOP_MR1) {
            Log.w(TAG, isPrivate ? "You shouldn't not change private system settings. This will soon become an error."
                    : "You shouldn't keep your settings in the secure settings. This will soon become an error.");
            return;
        }
        throw new IllegalArgumentException(isPrivate ? "You cannot change private secure settings."
                : "You cannot keep your settings in the secure settings.");
    }

    private void put(String table, String name, String value) throws RemoteException {
        if (name.length() > TEXT_MAX || (value != null && value.length() > TEXT_MAX)) {
            throw new IllegalArgumentException("a setting has at most " + TEXT_MAX + " characters");
        }
        if (!store(table + "/" + name, value)) {
            return;
        }
        Uri changed = Uri.parse("content://" + Settings.AUTHORITY + "/" + table + "/" + name);
        contents.notifyChange(new Uri[] {changed}, null, false, 0, AppProcess.USER, Build.VERSION.SDK_INT, null);
    }

    /** Writes the file before it answers; false if nothing changes. */
    private synchronized boolean store(String key, String value) {
        if (settings.containsKey(key) && Objects.equals(settings.get(key), value)) {
            return false;
        }
        if (!settings.containsKey(key) && settings.size() >= SETTINGS_MAX) {
            throw new IllegalStateException("there are " + SETTINGS_MAX + " settings already");
        }
        settings.put(key, value);
        write();
        return true;
    }

    private void write() {
        FileOutputStream out = null;
        try {
            JSONObject kept = new JSONObject();
            for (Map.Entry<String, String> setting : settings.entrySet()) {
                kept.put(setting.getKey(), setting.getValue() == null ? JSONObject.NULL : setting.getValue());
            }
            out = file.startWrite();
            out.write(kept.toString(1).getBytes(StandardCharsets.UTF_8));
            file.finishWrite(out);
        } catch (IOException | JSONException e) {
            file.failWrite(out);
            throw new IllegalStateException("cannot keep the settings in " + file.getBaseFile(), e);
        }
    }
}
