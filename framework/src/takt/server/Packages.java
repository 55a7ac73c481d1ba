// SPDX-License-Identifier: Apache-2.0
package takt.server;

import android.content.ComponentName;
import android.content.Intent;
import android.content.pm.ActivityInfo;
import android.content.pm.ApplicationInfo;
import android.content.pm.ComponentInfo;
import android.content.pm.PackageInfo;
import android.content.pm.PackageManager;
import android.content.pm.ParceledListSlice;
import android.content.pm.ProviderInfo;
import android.content.pm.ResolveInfo;
import android.content.pm.ServiceInfo;
import java.util.ArrayList;
import java.util.List;

/** IPackageManager: a world with one package. */
final class Packages {
    private final InstalledPackage installed;

    Packages(InstalledPackage installed) {
        this.installed = installed;
    }

    /** Null for every other package: the client makes NameNotFoundException of it. */
    public PackageInfo getPackageInfo(String name, long flags, int user) {
        return isOwn(name) ? installed.info : null;
    }

    /** As getPackageInfo. */
    public ApplicationInfo getApplicationInfo(String name, long flags, int user) {
        return isOwn(name) ? new ApplicationInfo(installed.application) : null;
    }

    /** Null if there is no such activity. */
    public ActivityInfo getActivityInfo(ComponentName name, long flags, int user) {
        return (ActivityInfo) info(InstalledPackage.ACTIVITY, name);
    }

    /** Null if there is no such receiver. */
    public ActivityInfo getReceiverInfo(ComponentName name, long flags, int user) {
        return (ActivityInfo) info(InstalledPackage.RECEIVER, name);
    }

    /** Null if there is no such service. */
    public ServiceInfo getServiceInfo(ComponentName name, long flags, int user) {
        return (ServiceInfo) info(InstalledPackage.SERVICE, name);
    }

    /** Null if there is no such provider. */
    public ProviderInfo getProviderInfo(ComponentName name, long flags, int user) {
        return (ProviderInfo) info(InstalledPackage.PROVIDER, name);
    }

    /** Null for an authority of nobody. */
    public ProviderInfo resolveContentProvider(String authority, long flags, int user) {
        return installed.provider(authority);
    }

    /** The first activity that the intent reaches. */
    public ResolveInfo resolveIntent(Intent intent, String type, long flags, int user) {
        return first(query(InstalledPackage.ACTIVITY, intent));
    }

    /** The first service that the intent reaches. */
    public ResolveInfo resolveService(Intent intent, String type, long flags, int user) {
        return first(query(InstalledPackage.SERVICE, intent));
    }

    /** All activities that the intent reaches. */
    public ParceledListSlice<ResolveInfo> queryIntentActivities(Intent intent, String type, long flags, int user) {
        return new ParceledListSlice<>(query(InstalledPackage.ACTIVITY, intent));
    }

    /** All services that the intent reaches. */
    public ParceledListSlice<ResolveInfo> queryIntentServices(Intent intent, String type, long flags, int user) {
        return new ParceledListSlice<>(query(InstalledPackage.SERVICE, intent));
    }

    /** All receivers of the manifest that the intent reaches. */
    public ParceledListSlice<ResolveInfo> queryIntentReceivers(Intent intent, String type, long flags, int user) {
        return new ParceledListSlice<>(query(InstalledPackage.RECEIVER, intent));
    }

    /** There is one package. */
    public ParceledListSlice<PackageInfo> getInstalledPackages(long flags, int user) {
        return new ParceledListSlice<>(List.of(installed.info));
    }

    /** There is one package. */
    public ParceledListSlice<ApplicationInfo> getInstalledApplications(long flags, int user) {
        return new ParceledListSlice<>(List.of(installed.application));
    }

    /** The process's own user runs the package. */
    public String[] getPackagesForUid(int uid) {
        return uid == installed.application.uid ? new String[] {installed.info.packageName} : null;
    }

    /** As getPackagesForUid. */
    public String getNameForUid(int uid) {
        return uid == installed.application.uid ? installed.info.packageName : null;
    }

    /** No camera, no screen, no telephone: a headless machine has no feature of Android's list. */
    public boolean hasSystemFeature(String name, int version) {
        return false;
    }

    /** What the manifest asks for is granted. */
    public int checkPermission(String permission, String name, int user) {
        boolean isGranted = isOwn(name) && installed.asksFor(permission);
        return isGranted ? PackageManager.PERMISSION_GRANTED : PackageManager.PERMISSION_DENIED;
    }

    /** As the manifest says. */
    public int getComponentEnabledSetting(ComponentName name, int user) {
        return PackageManager.COMPONENT_ENABLED_STATE_DEFAULT;
    }

    /** As the manifest says. */
    public int getApplicationEnabledSetting(String name, int user) {
        return PackageManager.COMPONENT_ENABLED_STATE_DEFAULT;
    }

    /** Nobody installed it but the command. */
    public String getInstallerPackageName(String name) {
        return null;
    }

    /** Nothing here runs other people's libraries in a process of their own. */
    public String getSdkSandboxPackageName() {
        return null;
    }

    /** Safe mode is for devices. */
    public boolean isSafeMode() {
        return false;
    }

    /** Statistics of use, which nobody keeps. */
    public void notifyPackageUse(String name, int reason) {}

    private boolean isOwn(String name) {
        return installed.info.packageName.equals(name);
    }

    private ComponentInfo info(String kind, ComponentName name) {
        InstalledPackage.Component component = installed.named(kind, name.getClassName());
        return component != null && isOwn(name.getPackageName()) ? component.info : null;
    }

    private List<ResolveInfo> query(String kind, Intent intent) {
        List<ResolveInfo> found = new ArrayList<>();
        for (InstalledPackage.Component component : installed.matching(kind, intent)) {
            ResolveInfo resolved = new ResolveInfo();
            if (component.info instanceof ServiceInfo service) {
                resolved.serviceInfo = service;
            } else {
                resolved.activityInfo = (ActivityInfo) component.info;
            }
            resolved.filter = component.filters.isEmpty() ? null : component.filters.get(0);
            found.add(resolved);
        }
        return found;
    }

    private static ResolveInfo first(List<ResolveInfo> found) {
        return found.isEmpty() ? null : found.get(0);
    }
}
