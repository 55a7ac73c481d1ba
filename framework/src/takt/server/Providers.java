// SPDX-License-Identifier: Apache-2.0
package takt.server;

import android.app.ContentProviderHolder;
import android.app.IApplicationThread;
import android.content.IContentProvider;
import android.content.pm.ProviderInfo;
import android.os.IBinder;
import android.os.RemoteException;
import android.provider.Settings;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** Content providers: the part of IActivityManager that finds them, the settings' among them. */
final class Providers {
    private final AppProcess process;
    private final Map<String, ContentProviderHolder> published = new ConcurrentHashMap<>();
    private final ContentProviderHolder settingsHolder;
    /** Null: this package is the only one. */
    private final OtherProviders others;

    Providers(AppProcess process, DeviceSettings settings, OtherProviders others) {
        this.process = process;
        this.others = others;
        ProviderInfo info = new ProviderInfo();
        info.packageName = "com.android.providers.settings";
        info.name = "com.android.providers.settings.SettingsProvider";
        info.authority = Settings.AUTHORITY;
        info.applicationInfo = process.installed.application;
        settingsHolder = new ContentProviderHolder(info);
        settingsHolder.provider = LocalInterface.of(IContentProvider.class, settings);
        settingsHolder.noReleaseNeeded = true;
    }

    /** This process makes its own, the system server finds others; null if nobody provides it. */
    public ContentProviderHolder getContentProvider(IApplicationThread caller, String callingPackage,
            String authority, int user, boolean isStable) throws RemoteException {
        if (authority.equals(Settings.AUTHORITY)) {
            return settingsHolder;
        }
        ContentProviderHolder holder = published.get(authority);
        if (holder != null) {
            return holder;
        }
        ProviderInfo info = process.installed.provider(authority);
        boolean isOwn = info != null && (others == null || info.processName.equals(process.installed.processName));
        if (isOwn) {
            return new ContentProviderHolder(info);
        }
        return others == null ? null : others.acquire(authority, isStable);
    }

    /** The process has made its providers. */
    public void publishContentProviders(IApplicationThread caller, List<ContentProviderHolder> holders)
            throws RemoteException {
        for (ContentProviderHolder holder : holders) {
            for (String authority : holder.info.authority.split(";")) {
                published.put(authority, holder);
            }
        }
        if (others != null) {
            others.publish(holders);
        }
    }

    /** Who holds another process's provider fast ends with it. */
    public boolean refContentProvider(IBinder connection, int stable, int unstable) throws RemoteException {
        OtherProviders.change(connection, stable);
        return true;
    }

    /** As refContentProvider. */
    public void removeContentProvider(IBinder connection, boolean isStable) throws RemoteException {
        OtherProviders.change(connection, isStable ? -1 : 0);
    }

    /** The server has heard of it. */
    public void unstableProviderDied(IBinder connection) {}
}
