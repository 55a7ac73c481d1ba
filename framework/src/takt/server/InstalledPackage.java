// SPDX-License-Identifier: Apache-2.0
package takt.server;

import android.content.ComponentName;
import android.content.IntentFilter;
import android.content.pm.ActivityInfo;
import android.content.pm.ApplicationInfo;
import android.content.pm.ComponentInfo;
import android.content.pm.PackageInfo;
import android.content.pm.PackageManager;
import android.content.pm.PathPermission;
import android.content.pm.ProviderInfo;
import android.content.pm.ServiceInfo;
import android.os.Bundle;
import android.os.PatternMatcher;
import android.os.Process;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.function.Consumer;
import org.json.JSONArray;
import org.json.JSONException;
import org.json.JSONObject;

/** A package that runs or that others ask about, as {@code takt} has read it from its manifest. */
public final class InstalledPackage {
    /** A component and what it answers to. */
    static final class Component {
        final String kind;
        final ComponentInfo info;
        final List<IntentFilter> filters;
        /** As the manifest says. */
        final boolean isEnabled;

        Component(String kind, ComponentInfo info, List<IntentFilter> filters) {
            this.kind = kind;
            this.info = info;
            this.filters = filters;
            isEnabled = info.enabled;
        }

        ComponentName name() {
            return new ComponentName(info.packageName, info.name);
        }

        boolean is(String wanted) {
            return kind.equals(wanted) || (kind.equals("activity-alias") && wanted.equals("activity"));
        }
    }

    static final String ACTIVITY = "activity";
    static final String SERVICE = "service";
    static final String RECEIVER = "receiver";
    static final String PROVIDER = "provider";

    final PackageInfo info = new PackageInfo();
    final ApplicationInfo application = new ApplicationInfo();
    final List<Component> components = new ArrayList<>();
    /** What the settings know the device by, for this application; null without a data folder. */
    final String androidId;
    /** The process that this is: the application's own, or one that components name. */
    final String processName;
    /** The application's elements of other namespaces, such as RTDroid's. */
    final JSONArray extensions;
    /** As the manifest says. */
    private boolean isEnabled;

    /**
     * Reads what `takt run` has written: the manifest, where the package lies, and its data
     * directory.
     */
    public InstalledPackage(JSONObject run) throws JSONException {
        androidId = text(run, "android_id");
        JSONObject manifest = run.getJSONObject("manifest");
        JSONObject declared = manifest.getJSONObject("application");
        info.packageName = manifest.getString("package");
        info.setLongVersionCode(manifest.getLong("version_code"));
        info.versionName = text(manifest, "version_name");
        info.applicationInfo = application;
        info.requestedPermissions = strings(manifest.getJSONArray("uses_permissions"));
        info.requestedPermissionsFlags = new int[info.requestedPermissions.length];
        readApplication(run, manifest, declared);
        processName = or(text(run, "process"), application.processName);
        extensions = declared.getJSONArray("extensions");
        JSONArray list = declared.getJSONArray("components");
        for (int index = 0; index < list.length(); index++) {
            components.add(readComponent(list.getJSONObject(index), text(declared, "affinity")));
        }
        completeAliases();
        readSwitches(run);
        info.activities = infos(ACTIVITY).toArray(new ActivityInfo[0]);
        info.receivers = infos(RECEIVER).toArray(new ActivityInfo[0]);
        info.services = infos(SERVICE).toArray(new ServiceInfo[0]);
        info.providers = infos(PROVIDER).toArray(new ProviderInfo[0]);
    }

    private void readSwitches(JSONObject run) throws JSONException {
        isEnabled = application.enabled;
        switched(null, run.optInt("enabled"));
        JSONObject all = run.optJSONObject("switched");
        for (Iterator<String> names = all == null ? Collections.emptyIterator() : all.keys(); names.hasNext();) {
            String name = names.next();
            switched(name, all.getInt(name));
        }
    }

    /** A component, or without a class the whole, is on or off now, by PackageManager's numbers. */
    void switched(String className, int state) {
        if (className == null) {
            application.enabled = isOn(state, isEnabled);
            application.enabledSetting = state;
        }
        for (Component component : components) {
            if (component.info.name.equals(className)) {
                component.info.enabled = isOn(state, component.isEnabled);
            }
        }
    }

    private static boolean isOn(int state, boolean byManifest) {
        return switch (state) {
            case PackageManager.COMPONENT_ENABLED_STATE_DEFAULT -> byManifest;
            case PackageManager.COMPONENT_ENABLED_STATE_ENABLED -> true;
            default -> false;
        };
    }

    private void readApplication(JSONObject run, JSONObject manifest, JSONObject declared) throws JSONException {
        String data = run.getString("data");
        application.packageName = info.packageName;
        application.processName = or(text(declared, "process"), info.packageName);
        application.className = text(declared, "name");
        application.name = application.className;
        application.appComponentFactory = text(declared, "component_factory");
        application.nonLocalizedLabel = text(declared, "label");
        application.sourceDir = run.getString("apk");
        application.publicSourceDir = application.sourceDir;
        application.dataDir = data;
        application.deviceProtectedDataDir = data;
        application.credentialProtectedDataDir = data;
        application.nativeLibraryDir = run.getString("libraries");
        application.primaryCpuAbi = "x86_64";
        application.uid = run.optInt("uid", Process.myUid());
        application.enabled = declared.getBoolean("is_enabled");
        application.minSdkVersion = manifest.getInt("min_sdk");
        application.targetSdkVersion = manifest.getInt("target_sdk");
        application.theme = declared.optInt("theme");
        application.metaData = metaData(declared);
        application.flags = ApplicationInfo.FLAG_SUPPORTS_RTL | ApplicationInfo.FLAG_INSTALLED
                | ApplicationInfo.FLAG_HARDWARE_ACCELERATED;
        if (declared.getBoolean("has_code")) {
            application.flags |= ApplicationInfo.FLAG_HAS_CODE;
        }
        if (declared.getBoolean("is_debuggable")) {
            application.flags |= ApplicationInfo.FLAG_DEBUGGABLE;
        }
    }

    /** {@code affinity}: the application's own, for activities that name none. */
    private Component readComponent(JSONObject declared, String affinity) throws JSONException {
        String kind = declared.getString("kind");
        ComponentInfo component = switch (kind) {
            case SERVICE -> new ServiceInfo();
            case PROVIDER -> provider(declared);
            default -> activity(declared, or(affinity, info.packageName));
        };
        component.packageName = info.packageName;
        component.name = declared.getString("name");
        component.applicationInfo = application;
        component.processName = or(text(declared, "process"), application.processName);
        component.nonLocalizedLabel = text(declared, "label");
        component.enabled = declared.getBoolean("is_enabled");
        component.exported = declared.getBoolean("is_exported");
        component.metaData =
                Urgency.declared(component.name, declared.getJSONArray("extensions"), metaData(declared));
        List<IntentFilter> filters = new ArrayList<>();
        JSONArray list = declared.getJSONArray("intent_filters");
        for (int index = 0; index < list.length(); index++) {
            filters.add(filter(list.getJSONObject(index)));
        }
        return new Component(kind, component, filters);
    }

    /** An alias has these of its target. */
    private void completeAliases() {
        for (Component component : components) {
            if (component.info instanceof ActivityInfo alias && alias.targetActivity != null) {
                Component target = named(ACTIVITY, alias.targetActivity);
                if (target != null) {
                    alias.configChanges = ((ActivityInfo) target.info).configChanges;
                }
            }
        }
    }

    private static ActivityInfo activity(JSONObject declared, String affinity) throws JSONException {
        ActivityInfo activity = new ActivityInfo();
        JSONObject launch = declared.getJSONObject("launch");
        activity.launchMode = launch.getInt("mode");
        activity.documentLaunchMode = launch.getInt("document_mode");
        String own = or(text(launch, "affinity"), affinity);
        activity.taskAffinity = own.isEmpty() ? null : own;
        if (launch.getBoolean("has_no_history")) {
            activity.flags |= ActivityInfo.FLAG_NO_HISTORY;
        }
        activity.configChanges = launch.getInt("told_changes");
        activity.targetActivity = text(declared, "target");
        activity.permission = text(declared, "permission");
        activity.theme = declared.optInt("theme");
        // AOSP's library draws by its renderer alone, which is what this flag asks for.
        activity.flags |= ActivityInfo.FLAG_HARDWARE_ACCELERATED;
        return activity;
    }

    private static ProviderInfo provider(JSONObject declared) throws JSONException {
        ProviderInfo provider = new ProviderInfo();
        provider.authority = String.join(";", strings(declared.getJSONArray("authorities")));
        provider.initOrder = declared.getInt("init_order");
        JSONObject access = declared.optJSONObject("access");
        JSONObject own = access == null ? new JSONObject() : access;
        provider.readPermission = or(text(own, "read"), text(declared, "permission"));
        provider.writePermission = or(text(own, "write"), text(declared, "permission"));
        if (access != null) {
            provider.grantUriPermissions = access.getBoolean("is_grantable");
            provider.uriPermissionPatterns = patterns(access.getJSONArray("granted_paths"));
            provider.pathPermissions = pathPermissions(access.getJSONArray("paths"));
        }
        return provider;
    }

    /** Null if there is none. */
    private static PatternMatcher[] patterns(JSONArray declared) throws JSONException {
        PatternMatcher[] found = new PatternMatcher[declared.length()];
        for (int index = 0; index < found.length; index++) {
            JSONObject pattern = declared.getJSONObject(index);
            found[index] = new PatternMatcher(pattern.getString("text"), pattern.getInt("kind"));
        }
        return found.length == 0 ? null : found;
    }

    /** Null if there is none. */
    private static PathPermission[] pathPermissions(JSONArray declared) throws JSONException {
        PathPermission[] found = new PathPermission[declared.length()];
        for (int index = 0; index < found.length; index++) {
            JSONObject one = declared.getJSONObject(index);
            JSONObject path = one.getJSONObject("path");
            found[index] = new PathPermission(path.getString("text"), path.getInt("kind"), text(one, "read"),
                    text(one, "write"));
        }
        return found.length == 0 ? null : found;
    }

    private static IntentFilter filter(JSONObject declared) throws JSONException {
        IntentFilter filter = new IntentFilter();
        filter.setPriority(declared.getInt("priority"));
        for (String action : strings(declared.getJSONArray("actions"))) {
            filter.addAction(action);
        }
        for (String category : strings(declared.getJSONArray("categories"))) {
            filter.addCategory(category);
        }
        JSONArray data = declared.getJSONArray("data");
        for (int index = 0; index < data.length(); index++) {
            addData(filter, data.getJSONObject(index));
        }
        return filter;
    }

    private static void addData(IntentFilter filter, JSONObject declared) {
        given(declared, "scheme", filter::addDataScheme);
        given(declared, "host", host -> filter.addDataAuthority(host, text(declared, "port")));
        given(declared, "path", path -> filter.addDataPath(path, PatternMatcher.PATTERN_LITERAL));
        given(declared, "path_prefix", path -> filter.addDataPath(path, PatternMatcher.PATTERN_PREFIX));
        given(declared, "path_pattern", path -> filter.addDataPath(path, PatternMatcher.PATTERN_SIMPLE_GLOB));
        given(declared, "mime_type", type -> {
            try {
                filter.addDataType(type);
            } catch (IntentFilter.MalformedMimeTypeException e) {
                throw new IllegalArgumentException("MIME type of a manifest: " + type, e);
            }
        });
    }

    private static Bundle metaData(JSONObject declared) throws JSONException {
        JSONArray list = declared.getJSONArray("meta_data");
        if (list.length() == 0) {
            return null;
        }
        Bundle bundle = new Bundle();
        for (int index = 0; index < list.length(); index++) {
            JSONObject item = list.getJSONObject(index);
            if (!item.isNull("resource")) {
                bundle.putInt(text(item, "name"), item.getInt("resource"));
            } else {
                bundle.putString(text(item, "name"), text(item, "value"));
            }
        }
        return bundle;
    }

    /** Does the manifest ask for a permission? */
    boolean asksFor(String permission) {
        return List.of(info.requestedPermissions).contains(permission);
    }

    /** The component of a kind with this name; null if there is none. */
    Component named(String kind, String className) {
        for (Component component : components) {
            if (component.is(kind) && component.info.name.equals(className)) {
                return component;
            }
        }
        return null;
    }

    /** The provider of an authority; null if there is none. */
    ProviderInfo provider(String authority) {
        for (ComponentInfo component : infos(PROVIDER)) {
            for (String own : ((ProviderInfo) component).authority.split(";")) {
                if (own.equals(authority)) {
                    return (ProviderInfo) component;
                }
            }
        }
        return null;
    }

    List<ComponentInfo> infos(String kind) {
        List<ComponentInfo> found = new ArrayList<>();
        for (Component component : components) {
            if (component.is(kind)) {
                found.add(component.info);
            }
        }
        return found;
    }

    private static void given(JSONObject object, String name, Consumer<String> use) {
        String text = text(object, name);
        if (text != null) {
            use.accept(text);
        }
    }

    private static String text(JSONObject object, String name) {
        return object.isNull(name) ? null : object.optString(name);
    }

    private static String or(String text, String otherwise) {
        return text != null ? text : otherwise;
    }

    private static String[] strings(JSONArray array) throws JSONException {
        String[] strings = new String[array.length()];
        for (int index = 0; index < strings.length; index++) {
            strings[index] = array.getString(index);
        }
        return strings;
    }
}
