// SPDX-License-Identifier: Apache-2.0
package org.example.firstday;

import android.app.ActivityManager;
import android.app.AppOpsManager;
import android.content.ContentResolver;
import android.database.ContentObserver;
import android.net.Uri;

/** Who hears of changed contents, and what a call says whose callback nobody would call. */
public final class Observers extends Day {
    private static final Uri ITEMS = Uri.parse("content://org.example.firstday/items");

    private static final class Observer extends ContentObserver {
        private final String name;
        private final boolean wantsOwn;

        /** Hears at once, on the thread of the change. */
        Observer(String name, boolean wantsOwn) {
            super(null);
            this.name = name;
            this.wantsOwn = wantsOwn;
        }

        @Override
        public boolean deliverSelfNotifications() {
            return wantsOwn;
        }

        @Override
        public void onChange(boolean isOwn, Uri uri) {
            say(name, () -> uri.getPath() + " " + isOwn);
        }
    }

    @Override
    void day() {
        ContentResolver contents = getContentResolver();
        Observer list = new Observer("list", true);
        Observer below = new Observer("below", false);
        Observer one = new Observer("one", true);
        contents.registerContentObserver(ITEMS, false, list);
        contents.registerContentObserver(ITEMS, true, below);
        contents.registerContentObserver(Uri.withAppendedPath(ITEMS, "1"), false, one);
        contents.notifyChange(ITEMS, null);
        contents.notifyChange(Uri.withAppendedPath(ITEMS, "1"), null);
        contents.notifyChange(Uri.parse("content://org.example.other/items"), null);
        contents.notifyChange(ITEMS, list);
        contents.notifyChange(ITEMS, below);
        contents.unregisterContentObserver(list);
        contents.unregisterContentObserver(one);
        contents.notifyChange(ITEMS, null);
        say("callback", () -> {
            getSystemService(AppOpsManager.class).startWatchingMode(AppOpsManager.OPSTR_CAMERA, null,
                    (operation, name) -> {});
            return "registered";
        });
        say("memory", () -> {
            ActivityManager.MemoryInfo memory = new ActivityManager.MemoryInfo();
            getSystemService(ActivityManager.class).getMemoryInfo(memory);
            return memory.totalMem >= memory.availMem && memory.availMem > 0 && !memory.lowMemory;
        });
        say("importance", () -> {
            ActivityManager.RunningAppProcessInfo own = new ActivityManager.RunningAppProcessInfo();
            ActivityManager.getMyMemoryState(own);
            return own.importance;
        });
    }
}
