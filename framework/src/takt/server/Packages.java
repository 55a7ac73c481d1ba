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
import android.os.RemoteException;
import java.util.ArrayList;
import java.util.List;

/**
 * IPackageManager: what the system server has installed, which is one package under {@code takt
 * run}. Every package sees every other.
 */
final class Packages {
    private final InstalledPackage installed;
    private final OtherPackages others;

    Packages(InstalledPackage installed, OtherPackages others) {
        this.installed = installed;
        this.others = others;
    }

    /** Null for a package that is not there: the client makes NameNotFoundException of it. */
    public PackageInfo getPackageInfo(String name, long flags, int user) throws RemoteException {
        if (isOwn(name)) {
            return installed.info;
        }
        InstalledPackage other = others.named(name, flags);
        return other == null ? null : other.info;
    }

    /** As getPackageInfo. */
    public ApplicationInfo getApplicationInfo(String name, long flags, int user) throws RemoteException {
        if (isOwn(name)) {
            return new ApplicationInfo(installed.application);
        }
        InstalledPackage other = others.named(name, flags);
        return other == null ? null : other.application;
    }

    /** Null if there is no such activity. */
    public ActivityInfo getActivityInfo(ComponentName name, long flags, int user) throws RemoteException {
        return (ActivityInfo) info(InstalledPackage.ACTIVITY, name, flags);
    }

    /** Null if there is no such receiver. */
    public ActivityInfo getReceiverInfo(ComponentName name, long flags, int user) throws RemoteException {
        return (ActivityInfo) info(InstalledPackage.RECEIVER, name, flags);
    }

    /** Null if there is no such service. */
    public ServiceInfo getServiceInfo(ComponentName name, long flags, int user) throws RemoteException {
        return (ServiceInfo) info(InstalledPackage.SERVICE, name, flags);
    }

    /** Null if there is no such provider. */
    public ProviderInfo getProviderInfo(ComponentName name, long flags, int user) throws RemoteException {
        return (ProviderInfo) info(InstalledPackage.PROVIDER, name, flags);
    }

    /** Null for an authority of nobody. */
    public ProviderInfo resolveContentProvider(String authority, long flags, int user) throws RemoteException {
        ProviderInfo own = installed.provider(authority);
        if (own != null) {
            return own;
        }
        InstalledPackage.Component other = others.provider(authority);
        return other == null ? null : (ProviderInfo) other.info;
    }

    /** The first activity that the intent reaches. */
    public ResolveInfo resolveIntent(Intent intent, String type, long flags, int user) throws RemoteException {
        return first(query(InstalledPackage.ACTIVITY, intent, type, flags));
    }

    /** The first service that the intent reaches. */
    public ResolveInfo resolveService(Intent intent, String type, long flags, int user) throws RemoteException {
        return first(query(InstalledPackage.SERVICE, intent, type, flags));
    }

    /** All activities that the intent reaches. */
    public ParceledListSlice<ResolveInfo> queryIntentActivities(Intent intent, String type, long flags, int user)
            throws RemoteException {
        return new ParceledListSlice<>(query(InstalledPackage.ACTIVITY, intent, type, flags));
    }

    /** All services that the intent reaches. */
    public ParceledListSlice<ResolveInfo> queryIntentServices(Intent intent, String type, long flags, int user)
            throws RemoteException {
        return new ParceledListSlice<>(query(InstalledPackage.SERVICE, intent, type, flags));
    }

    /** All receivers of the manifest that the intent reaches. */
    public ParceledListSlice<ResolveInfo> queryIntentReceivers(Intent intent, String type, long flags, int user)
            throws RemoteException {
        return new ParceledListSlice<>(query(InstalledPackage.RECEIVER, intent, type, flags));
    }

    /** All packages. */
    public ParceledListSlice<PackageInfo> getInstalledPackages(long flags, int user) throws RemoteException {
        return new ParceledListSlice<>(all(flags).stream().map(it -> it.info).toList());
    }

    /** All packages. */
    public ParceledListSlice<ApplicationInfo> getInstalledApplications(long flags, int user) throws RemoteException {
        return new ParceledListSlice<>(all(flags).stream().map(it -> it.application).toList());
    }

    private List<InstalledPackage> all(long flags) throws RemoteException {
        return others.all(flags);
    }

    /** The process's own user runs the package; under the system server each package has one. */
    public String[] getPackagesForUid(int uid) throws RemoteException {
        if (uid == installed.application.uid) {
            return new String[] {installed.info.packageName};
        }
        return others.ofUser(uid);
    }

    /** As getPackagesForUid. */
    public String getNameForUid(int uid) throws RemoteException {
        String[] names = getPackagesForUid(uid);
        return names == null ? null : names[0];
    }

    /** No camera, no screen, no telephone: a headless machine has no feature of Android's list. */
    public boolean hasSystemFeature(String name, int version) {
        return false;
    }

    /** What the manifest asks for is granted. */
    public int checkPermission(String permission, String name, int user) throws RemoteException {
        return isOwn(name) ? own(permission) : others.check(permission, name);
    }

    private int own(String permission) {
        return installed.asksFor(permission) ? PackageManager.PERMISSION_GRANTED : PackageManager.PERMISSION_DENIED;
    }

    /** By default as the manifest says. */
    public int getComponentEnabledSetting(ComponentName name, int user) throws RemoteException {
        return others.enabledOf(name.getPackageName(), name.getClassName());
    }

    /** By default as the manifest says. */
    public int getApplicationEnabledSetting(String name, int user) throws RemoteException {
        return others.enabledOf(name, null);
    }

    /** A package switches its own components. Its processes end, unless the flags keep them. */
    public void setComponentEnabledSetting(ComponentName name, int state, int flags, int user, String caller)
            throws RemoteException {
        others.setEnabled(name.getPackageName(), name.getClassName(), state, flags);
    }

    /** The same, of the whole application. */
    public void setApplicationEnabledSetting(String name, int state, int flags, int user, String caller)
            throws RemoteException {
        others.setEnabled(name, null, state, flags);
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

    /** Null also for what is switched off, unless the flags ask for that. */
    private ComponentInfo info(String kind, ComponentName name, long flags) throws RemoteException {
        InstalledPackage.Component found = isOwn(name.getPackageName())
                ? installed.named(kind, name.getClassName()) : others.component(kind, name);
        boolean isSeen = found != null
                && (found.info.isEnabled() || (flags & PackageManager.MATCH_DISABLED_COMPONENTS) != 0);
        return isSeen ? found.info : null;
    }

    private List<ResolveInfo> query(String kind, Intent intent, String type, long flags) throws RemoteException {
        List<ResolveInfo> found = new ArrayList<>();
        for (InstalledPackage.Component component : others.query(kind, intent, type, flags)) {
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
