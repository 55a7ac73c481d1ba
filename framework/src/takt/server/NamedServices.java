// SPDX-License-Identifier: Apache-2.0
package takt.server;

import android.os.IInterface;
import java.util.Map;

/**
 * Services that exist on Android and that nobody answers here yet: each call of theirs says its
 * name, where the client's own classes would fail on a missing service without one.
 */
final class NamedServices {
    private static final Map<String, String> INTERFACES = Map.ofEntries(
            Map.entry("account", "android.accounts.IAccountManager"),
            Map.entry("appwidget", "com.android.internal.appwidget.IAppWidgetService"),
            Map.entry("device_policy", "android.app.admin.IDevicePolicyManager"),
            Map.entry("deviceidle", "android.os.IDeviceIdleController"),
            Map.entry("game", "android.app.IGameManagerService"),
            Map.entry("input", "android.hardware.input.IInputManager"),
            Map.entry("input_method", "com.android.internal.view.IInputMethodManager"),
            Map.entry("launcherapps", "android.content.pm.ILauncherApps"),
            Map.entry("media_router", "android.media.IMediaRouterService"),
            Map.entry("media_session", "android.media.session.ISessionManager"),
            Map.entry("netpolicy", "android.net.INetworkPolicyManager"),
            Map.entry("netstats", "android.net.INetworkStatsService"),
            Map.entry("notification", "android.app.INotificationManager"),
            Map.entry("permissionmgr", "android.permission.IPermissionManager"),
            Map.entry("search", "android.app.ISearchManager"),
            Map.entry("servicediscovery", "android.net.nsd.INsdManager"),
            Map.entry("shortcut", "android.content.pm.IShortcutService"),
            Map.entry("statusbar", "com.android.internal.statusbar.IStatusBarService"),
            Map.entry("thermalservice", "android.os.IThermalService"),
            Map.entry("wallpaper", "android.app.IWallpaperManager"),
            Map.entry("wifi", "android.net.wifi.IWifiManager"));

    private NamedServices() {}

    /** Names of interfaces by names of services. */
    static Map<String, String> all() {
        return INTERFACES;
    }

    /** The interface behind a service's name; null for one that is not in the list. */
    static Class<? extends IInterface> interfaceOf(String service) {
        String name = INTERFACES.get(service);
        if (name == null) {
            return null;
        }
        try {
            return Class.forName(name).asSubclass(IInterface.class);
        } catch (ClassNotFoundException e) {
            throw new IllegalStateException("AOSP's classes lack " + name, e);
        }
    }
}
