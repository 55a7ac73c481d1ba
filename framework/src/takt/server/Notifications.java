// SPDX-License-Identifier: Apache-2.0
package takt.server;

import android.Manifest;
import android.app.Notification;
import android.app.NotificationChannel;
import android.app.NotificationChannelGroup;
import android.app.NotificationManager;
import android.app.Service;
import android.content.pm.ParceledListSlice;
import android.os.Build;
import android.os.IBinder;
import android.os.Process;
import android.os.RemoteException;
import android.os.UserHandle;
import android.service.notification.StatusBarNotification;
import android.util.Log;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import takt.system.ISystem;
import takt.system.Notice;

/**
 * The part of INotificationManager that an application speaks of itself with: channels, and what it
 * shows. Nobody draws a notification: it goes to the log, and {@code takt system} lists it.
 *
 * <p>Channels, and what the application asks of its own notifications, live with the process.
 */
public final class Notifications {
    private static final String TAG = "Takt";
    /** Of one package, as on Android. */
    private static final int MAX = 50;
    /** What no application sets itself. */
    private static final int SYSTEM_FLAGS = Notification.FLAG_FOREGROUND_SERVICE;
    private static Notifications current;

    private record Key(String tag, int id) {}

    private final InstalledPackage installed;
    /** Null: this process is the only one. */
    private final ISystem system;
    private final Map<String, NotificationChannel> channels = new LinkedHashMap<>();
    private final Map<String, NotificationChannelGroup> groups = new LinkedHashMap<>();
    private final Map<Key, StatusBarNotification> shown = new LinkedHashMap<>();
    /** By services: the number of the one that it is in the foreground with. */
    private final Map<IBinder, Integer> foreground = new HashMap<>();

    Notifications(InstalledPackage installed, ISystem system) {
        this.installed = installed;
        this.system = system;
        if (installed.application.targetSdkVersion < Build.VERSION_CODES.O) {
            channels.put(NotificationChannel.DEFAULT_CHANNEL_ID, new NotificationChannel(
                    NotificationChannel.DEFAULT_CHANNEL_ID, "Uncategorized", NotificationManager.IMPORTANCE_UNSPECIFIED));
        }
    }

    static synchronized void makeCurrent(Notifications notifications) {
        current = notifications;
    }

    /** Those of this process: toasts are calls of the same interface. */
    public static synchronized Object current() {
        return current;
    }

    /** From Android 13 on it is a permission. */
    private boolean areAllowed() {
        return installed.application.targetSdkVersion < Build.VERSION_CODES.TIRAMISU
                || installed.asksFor(Manifest.permission.POST_NOTIFICATIONS);
    }

    private void ours(String name) {
        if (!installed.info.packageName.equals(name)) {
            throw new SecurityException(name + " is not the package of this process");
        }
    }

    public boolean areNotificationsEnabled(String name) {
        return areAllowed();
    }

    public boolean areNotificationsEnabledForPackage(String name, int uid) {
        ours(name);
        return areAllowed();
    }

    public int getPackageImportance(String name) {
        return areAllowed() ? NotificationManager.IMPORTANCE_DEFAULT : NotificationManager.IMPORTANCE_NONE;
    }

    /** Nothing floats above other windows. */
    public boolean areBubblesAllowed(String name) {
        return false;
    }

    public boolean areBubblesEnabled(UserHandle user) {
        return false;
    }

    /** Nobody asks not to be disturbed. */
    public int getZenMode() {
        return 0;
    }

    public boolean isNotificationPolicyAccessGranted(String name) {
        return false;
    }

    /** As on Android, one that is there keeps what a person may have set. */
    public synchronized void createNotificationChannels(String name, ParceledListSlice<NotificationChannel> list) {
        ours(name);
        for (NotificationChannel channel : list.getList()) {
            NotificationChannel known = channels.get(channel.getId());
            if (known == null) {
                channels.put(channel.getId(), channel);
            } else {
                known.setName(channel.getName());
                known.setDescription(channel.getDescription());
                if (known.getGroup() == null) {
                    known.setGroup(channel.getGroup());
                }
                if (channel.getImportance() < known.getImportance()) {
                    known.setImportance(channel.getImportance());
                }
            }
        }
    }

    public synchronized NotificationChannel getNotificationChannel(String caller, int user, String name, String id) {
        ours(name);
        return channels.get(id == null ? NotificationChannel.DEFAULT_CHANNEL_ID : id);
    }

    public synchronized ParceledListSlice<NotificationChannel> getNotificationChannels(String caller, String name,
            int user) {
        ours(name);
        return slice(channels.values());
    }

    /** What it has shown goes with it. */
    public synchronized void deleteNotificationChannel(String name, String id) throws RemoteException {
        ours(name);
        if (NotificationChannel.DEFAULT_CHANNEL_ID.equals(id)) {
            throw new IllegalArgumentException("Cannot delete default channel");
        }
        channels.remove(id);
        for (Map.Entry<Key, StatusBarNotification> each : List.copyOf(shown.entrySet())) {
            if (each.getValue().getNotification().getChannelId().equals(id)) {
                withdraw(each.getKey());
            }
        }
    }

    public synchronized void createNotificationChannelGroups(String name,
            ParceledListSlice<NotificationChannelGroup> list) {
        ours(name);
        list.getList().forEach(it -> groups.put(it.getId(), it));
    }

    public synchronized NotificationChannelGroup getNotificationChannelGroup(String name, String id) {
        ours(name);
        NotificationChannelGroup group = groups.get(id);
        return group == null ? null : whole(group);
    }

    public synchronized ParceledListSlice<NotificationChannelGroup> getNotificationChannelGroups(String name) {
        ours(name);
        return slice(groups.values().stream().map(this::whole).toList());
    }

    /** Its channels go with it. */
    public synchronized void deleteNotificationChannelGroup(String name, String id) throws RemoteException {
        ours(name);
        groups.remove(id);
        for (NotificationChannel channel : List.copyOf(channels.values())) {
            if (id.equals(channel.getGroup())) {
                deleteNotificationChannel(name, channel.getId());
            }
        }
    }

    private NotificationChannelGroup whole(NotificationChannelGroup group) {
        NotificationChannelGroup whole = group.clone();
        whole.setChannels(channels.values().stream().filter(it -> group.getId().equals(it.getGroup())).toList());
        return whole;
    }

    private static <T extends android.os.Parcelable> ParceledListSlice<T> slice(Collection<T> all) {
        return new ParceledListSlice<>(new ArrayList<>(all));
    }

    /** Shows one, in the place of an older one of the same tag and number. */
    public synchronized void enqueueNotificationWithTag(String name, String caller, String tag, int id,
            Notification given, int user) throws RemoteException {
        ours(name);
        Notification notification = given.clone();
        StatusBarNotification older = shown.get(new Key(tag, id));
        boolean isOfService = tag == null && foreground.containsValue(id);
        notification.flags &= ~SYSTEM_FLAGS;
        notification.flags |= isOfService && older != null ? older.getNotification().flags & SYSTEM_FLAGS : 0;
        if (!isOfService && !areAllowed()) {
            Log.w(TAG, "notification " + id + " is not shown: the manifest does not ask for POST_NOTIFICATIONS");
            return;
        }
        post(tag, id, notification);
    }

    private void post(String tag, int id, Notification notification) throws RemoteException {
        Key key = new Key(tag, id);
        String channel = Objects.requireNonNullElse(notification.getChannelId(), NotificationChannel.DEFAULT_CHANNEL_ID);
        if (installed.application.targetSdkVersion >= Build.VERSION_CODES.O && !channels.containsKey(channel)) {
            Log.e("NotificationService", "No Channel found for pkg=" + installed.info.packageName + ", channelId="
                    + notification.getChannelId() + ", id=" + id + ", tag=" + tag);
            return;
        }
        if (!shown.containsKey(key) && shown.size() >= MAX) {
            Log.e("NotificationService", "Package has already posted " + MAX + " notifications: " + id + " is dropped");
            return;
        }
        Notice notice = new Notice();
        notice.tag = tag;
        notice.id = id;
        notice.channel = channel;
        notice.title = text(notification, Notification.EXTRA_TITLE);
        notice.text = text(notification, Notification.EXTRA_TEXT);
        notice.isOngoing = (notification.flags & Notification.FLAG_ONGOING_EVENT) != 0;
        notice.isOfService = (notification.flags & Notification.FLAG_FOREGROUND_SERVICE) != 0;
        if (system != null) {
            system.post(notice);
        }
        String name = installed.info.packageName;
        shown.remove(key);
        shown.put(key, new StatusBarNotification(name, name, id, tag, Process.myUid(), Process.myPid(), notification,
                UserHandle.of(AppProcess.USER), null, System.currentTimeMillis()));
        Log.i(TAG, "notification " + id + " in " + channel + ": " + notice.title + ": " + notice.text);
    }

    private static String text(Notification notification, String extra) {
        CharSequence text = notification.extras.getCharSequence(extra);
        return text == null ? "" : text.toString();
    }

    /** A service's own is not taken away so. */
    public synchronized void cancelNotificationWithTag(String name, String caller, String tag, int id, int user)
            throws RemoteException {
        ours(name);
        Key key = new Key(tag, id);
        if (!isOfService(shown.get(key))) {
            withdraw(key);
        }
    }

    public synchronized void cancelAllNotifications(String name, int user) throws RemoteException {
        ours(name);
        shown.values().removeIf(it -> !isOfService(it));
        if (system != null) {
            system.withdrawAll();
        }
    }

    private static boolean isOfService(StatusBarNotification one) {
        return one != null && (one.getNotification().flags & Notification.FLAG_FOREGROUND_SERVICE) != 0;
    }

    private void withdraw(Key key) throws RemoteException {
        StatusBarNotification gone = shown.remove(key);
        // One of an earlier process of this package may be there.
        if (system != null) {
            system.withdraw(key.tag, key.id, isOfService(gone));
        }
    }

    public synchronized ParceledListSlice<StatusBarNotification> getAppActiveNotifications(String name, int user) {
        ours(name);
        return slice(shown.values());
    }

    /** A service is in the foreground with a notification, or with none from now on: number 0. */
    synchronized void setForeground(IBinder service, int id, Notification given, int flags) throws RemoteException {
        Integer older = id == 0 ? foreground.remove(service) : foreground.put(service, id);
        if (older != null && older != id) {
            boolean isKept = id == 0 && (flags & Service.STOP_FOREGROUND_REMOVE) == 0;
            leave(new Key(null, older), isKept);
        }
        if (id != 0) {
            Notification notification = given.clone();
            notification.flags |= Notification.FLAG_FOREGROUND_SERVICE | Notification.FLAG_ONGOING_EVENT;
            post(null, id, notification);
        }
    }

    /** A service is gone. */
    synchronized void serviceEnded(IBinder service) throws RemoteException {
        Integer id = foreground.remove(service);
        if (id != null) {
            leave(new Key(null, id), false);
        }
    }

    /** No service is in the foreground with it any more. */
    private void leave(Key key, boolean isKept) throws RemoteException {
        StatusBarNotification one = shown.get(key);
        if (one == null || foreground.containsValue(key.id)) {
            return;
        }
        if (isKept) {
            Notification notification = one.getNotification().clone();
            notification.flags &= ~Notification.FLAG_FOREGROUND_SERVICE;
            post(null, key.id, notification);
        } else {
            withdraw(key);
        }
    }
}
