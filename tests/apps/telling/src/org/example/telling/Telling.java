// SPDX-License-Identifier: Apache-2.0
package org.example.telling;

import android.app.Notification;
import android.app.NotificationChannel;
import android.app.NotificationManager;
import android.app.Service;
import android.content.Intent;
import android.os.IBinder;
import android.service.notification.StatusBarNotification;
import android.util.Log;
import java.util.Arrays;
import java.util.stream.Collectors;

/** Shows notifications, takes some away, and says which are there. */
public final class Telling extends Service {
    private static final String TAG = "Telling";
    private NotificationManager manager;

    @Override
    public int onStartCommand(Intent intent, int flags, int start) {
        manager = getSystemService(NotificationManager.class);
        manager.createNotificationChannel(new NotificationChannel("news", "News", NotificationManager.IMPORTANCE_LOW));
        say("enabled " + manager.areNotificationsEnabled() + ", channels " + manager.getNotificationChannels().size());
        manager.notify(1, notification("news", "one"));
        manager.notify("tag", 2, notification("news", "two"));
        manager.notify(3, notification("news", "three"));
        manager.notify(4, notification("none", "four"));
        startForeground(9, notification("news", "runs"));
        say(shown());
        manager.notify(1, notification("news", "first"));
        manager.cancel(3);
        // A service's own stays.
        manager.cancel(9);
        say(shown());
        stopForeground(STOP_FOREGROUND_DETACH);
        manager.cancelAll();
        say(shown());
        manager.notify("tag", 2, notification("news", "two"));
        startForeground(9, notification("news", "runs"));
        say("stays " + shown());
        return START_NOT_STICKY;
    }

    private Notification notification(String channel, String title) {
        return new Notification.Builder(this, channel)
                .setSmallIcon(android.R.drawable.ic_dialog_info)
                .setContentTitle(title)
                .setContentText("text of " + title)
                .build();
    }

    private String shown() {
        return Arrays.stream(manager.getActiveNotifications())
                .map(Telling::described)
                .sorted()
                .collect(Collectors.joining(", ", "shown ", ""));
    }

    private static String described(StatusBarNotification one) {
        String title = one.getNotification().extras.getString(Notification.EXTRA_TITLE);
        return one.getId() + " " + one.getTag() + " " + title + (one.isOngoing() ? " ongoing" : "");
    }

    private static void say(String text) {
        Log.i(TAG, text);
    }

    @Override
    public IBinder onBind(Intent intent) {
        return null;
    }
}
