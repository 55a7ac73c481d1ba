// SPDX-License-Identifier: Apache-2.0
package takt.server;

import android.app.ContentProviderHolder;
import android.app.IApplicationThread;
import android.content.IContentProvider;
import android.content.pm.ProviderInfo;
import android.os.IBinder;
import android.provider.Settings;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** Content providers: the part of IActivityManager that finds them, the settings' among them. */
final class Providers {
    private final AppProcess process;
    private final Map<String, ContentProviderHolder> published = new ConcurrentHashMap<>();
    private final ContentProviderHolder settingsHolder;

    Providers(AppProcess process, DeviceSettings settings) {
        this.process = process;
        ProviderInfo info = new ProviderInfo();
        info.packageName = "com.android.providers.settings";
        info.name = "com.android.providers.settings.SettingsProvider";
        info.authority = Settings.AUTHORITY;
        info.applicationInfo = process.installed.application;
        settingsHolder = new ContentProviderHolder(info);
        settingsHolder.provider = LocalInterface.of(IContentProvider.class, settings);
        settingsHolder.noReleaseNeeded = true;
    }

    /** The package's own are made by its process; null for what nobody provides. */
    public ContentProviderHolder getContentProvider(IApplicationThread caller, String callingPackage,
            String authority, int user, boolean isStable) {
        if (authority.equals(Settings.AUTHORITY)) {
            return settingsHolder;
        }
        ContentProviderHolder holder = published.get(authority);
        if (holder != null) {
            return holder;
        }
        ProviderInfo info = process.installed.provider(authority);
        return info == null ? null : new ContentProviderHolder(info);
    }

    /** The process has made its providers. */
    public void publishContentProviders(IApplicationThread caller, List<ContentProviderHolder> holders) {
        for (ContentProviderHolder holder : holders) {
            for (String authority : holder.info.authority.split(";")) {
                published.put(authority, holder);
            }
        }
    }

    /** Nobody's process ends because of a count. */
    public boolean refContentProvider(IBinder connection, int stable, int unstable) {
        return true;
    }

    /** As refContentProvider. */
    public void removeContentProvider(IBinder connection, boolean isStable) {}
}
