// SPDX-License-Identifier: Apache-2.0
package takt.server;

import android.content.ComponentName;
import android.content.Intent;
import android.content.pm.PackageManager;
import android.os.RemoteException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.json.JSONException;
import org.json.JSONObject;
import takt.system.ISystem;

/**
 * Packages that the system server knows. All but this process's own are asked for each time, as
 * they may change.
 */
final class OtherPackages {
    private final SystemLink link;
    private final ISystem system;
    private final InstalledPackage own;

    OtherPackages(SystemLink link, InstalledPackage own) {
        this.link = link;
        system = link.system();
        this.own = own;
    }

    /** What its manifest says; null if it is not installed. */
    InstalledPackage named(String name) throws RemoteException {
        if (name.equals(own.info.packageName)) {
            return own;
        }
        String text = system.describe(name);
        try {
            return text == null ? null : new InstalledPackage(new JSONObject(text));
        } catch (JSONException e) {
            throw new IllegalStateException("the description of " + name, e);
        }
    }

    /** The same, of another package with what the flags ask for alone. */
    InstalledPackage named(String name, long flags) throws RemoteException {
        InstalledPackage found = named(name);
        if (found != null && found != own) {
            trim(found, flags);
        }
        return found;
    }

    private static void trim(InstalledPackage found, long flags) {
        if ((flags & PackageManager.GET_ACTIVITIES) == 0) {
            found.info.activities = null;
        }
        if ((flags & PackageManager.GET_RECEIVERS) == 0) {
            found.info.receivers = null;
        }
        if ((flags & PackageManager.GET_SERVICES) == 0) {
            found.info.services = null;
        }
        if ((flags & PackageManager.GET_PROVIDERS) == 0) {
            found.info.providers = null;
        }
        if ((flags & PackageManager.GET_PERMISSIONS) == 0) {
            found.info.requestedPermissions = null;
            found.info.requestedPermissionsFlags = null;
        }
        if ((flags & PackageManager.GET_META_DATA) == 0) {
            found.application.metaData = null;
        }
    }

    /** Components of all packages that an intent reaches, the best first. */
    List<InstalledPackage.Component> query(String kind, Intent intent, String type, long flags)
            throws RemoteException {
        int number = switch (kind) {
            case InstalledPackage.ACTIVITY -> ISystem.ACTIVITIES;
            case InstalledPackage.SERVICE -> ISystem.SERVICES;
            case InstalledPackage.RECEIVER -> ISystem.RECEIVERS;
            default -> ISystem.PROVIDERS;
        };
        List<InstalledPackage.Component> found = new ArrayList<>();
        Map<String, InstalledPackage> known = new HashMap<>();
        for (String name : system.query(number, Wishes.asked(intent, type), flags)) {
            InstalledPackage.Component component = component(kind, ComponentName.unflattenFromString(name), known);
            if (component != null) {
                found.add(component);
            }
        }
        return found;
    }

    /** The component of a name; null if there is none. */
    InstalledPackage.Component component(String kind, ComponentName name) throws RemoteException {
        return component(kind, name, new HashMap<>());
    }

    private InstalledPackage.Component component(String kind, ComponentName name, Map<String, InstalledPackage> known)
            throws RemoteException {
        InstalledPackage of = known.get(name.getPackageName());
        if (of == null) {
            of = named(name.getPackageName());
            known.put(name.getPackageName(), of);
        }
        return of == null ? null : of.named(kind, name.getClassName());
    }

    /** The provider of an authority; null if there is none. */
    InstalledPackage.Component provider(String authority) throws RemoteException {
        String name = system.providerOf(authority);
        return name == null ? null : component(InstalledPackage.PROVIDER, ComponentName.unflattenFromString(name));
    }

    /** All. */
    List<InstalledPackage> all(long flags) throws RemoteException {
        List<InstalledPackage> all = new ArrayList<>();
        for (String name : system.packagesOf(false, 0)) {
            InstalledPackage found = named(name, flags);
            if (found != null) {
                all.add(found);
            }
        }
        return all;
    }

    /** Null if it is nobody's. */
    String[] ofUser(int uid) throws RemoteException {
        if (link.isHosted()) {
            // The server's users are no users of the kernel's.
            return null;
        }
        String[] names = system.packagesOf(true, uid);
        return names.length == 0 ? null : names;
    }

    int enabledOf(String name, String className) throws RemoteException {
        return system.enabledOf(name, className);
    }

    void setEnabled(String name, String className, int state, int flags) throws RemoteException {
        boolean areKept = link.isHosted() || (flags & PackageManager.DONT_KILL_APP) != 0;
        system.setEnabled(name, className, state, areKept);
        own.switched(className, state);
    }

    /** As the server has granted it. */
    int check(String permission, int pid, int uid) throws RemoteException {
        return system.has(permission, pid, uid)
                ? PackageManager.PERMISSION_GRANTED : PackageManager.PERMISSION_DENIED;
    }

    /** That of a package, whatever runs of it. */
    int check(String permission, String name) throws RemoteException {
        InstalledPackage found = named(name);
        return found == null ? PackageManager.PERMISSION_DENIED : check(permission, 0, found.application.uid);
    }
}
