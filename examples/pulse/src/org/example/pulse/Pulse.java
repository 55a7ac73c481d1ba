// SPDX-License-Identifier: Apache-2.0
package org.example.pulse;

import android.content.Intent;
import android.os.Handler;
import android.os.IBinder;
import android.os.Looper;
import android.os.SystemClock;
import android.util.Log;
import takt.os.RealtimeService;

/**
 * A service that its manifest declares periodic: {@code --extra releases=20} says after how many it
 * ends, {@code --extra slow=7} which of them works longer than its deadline.
 */
public final class Pulse extends RealtimeService {
    static final String TAG = "Pulse";
    /** Longer than the deadline in the manifest, shorter than two periods. */
    private static final long SLOW_NANOS = 30_000_000;
    private static final int RELEASES = 20;

    private final Handler main = new Handler(Looper.getMainLooper());
    private final int[] missedAfter = new int[1000];
    private int releases;
    private int slow;
    private volatile int done;
    private volatile boolean isDestroyed;

    @Override
    public int onStartCommand(Intent intent, int flags, int startId) {
        releases = number(intent, "releases", RELEASES);
        slow = number(intent, "slow", 0);
        Log.i(TAG, "onStartCommand, released " + done + " times");
        return super.onStartCommand(intent, flags, startId);
    }

    private static int number(Intent intent, String name, int otherwise) {
        String text = intent.getStringExtra(name);
        return text == null ? otherwise : Math.min(999, Integer.parseInt(text));
    }

    @Override
    protected void onRelease() {
        if (isDestroyed) {
            Log.e(TAG, "released behind its end");
        }
        int index = done + 1;
        long end = System.nanoTime() + (index == slow ? SLOW_NANOS : 0);
        while (System.nanoTime() < end) {
            Thread.onSpinWait();
        }
        done = index;
        if (index == releases) {
            main.post(this::stopSelf);
        }
    }

    /** Behind the release that it is about. */
    @Override
    protected void onDeadlineMissed() {
        missedAfter[Math.min(done, 999)]++;
    }

    @Override
    public void onDestroy() {
        int priority = grantedPriority();
        super.onDestroy();
        isDestroyed = true;
        SystemClock.sleep(50);
        Log.i(TAG, "priority " + priority + ", releases " + done + ", missed " + deadlineMisses() + ", of release " + slow
                + " " + missedAfter[slow]);
    }

    @Override
    public IBinder onBind(Intent intent) {
        return null;
    }
}
