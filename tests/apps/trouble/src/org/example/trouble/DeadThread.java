// SPDX-License-Identifier: Apache-2.0
package org.example.trouble;

import android.content.Intent;
import android.os.Handler;
import android.os.HandlerThread;

/**
 * Sends to handlers of threads that are gone: one has quit, one has died of an exception that it
 * caught itself.
 */
public final class DeadThread extends Trouble {
    @Override
    public int onStartCommand(Intent intent, int flags, int startId) {
        HandlerThread quitter = new HandlerThread("quitter");
        quitter.start();
        Handler toQuitter = new Handler(quitter.getLooper());
        quitter.quit();
        end(quitter);
        log("to the one that quit: " + toQuitter.sendEmptyMessage(1) + " " + toQuitter.post(() -> log("never")));

        HandlerThread dying = new HandlerThread("dying");
        dying.setUncaughtExceptionHandler((thread, e) -> log(thread.getName() + " dies of " + e.getMessage()));
        dying.start();
        Handler toDying = new Handler(dying.getLooper());
        toDying.post(() -> {
            throw new IllegalStateException("its own message");
        });
        end(dying);
        log("to the one that died: " + toDying.sendEmptyMessage(2) + ", waiting " + toDying.hasMessages(2));
        // HandlerThread.quit does nothing once its thread is dead.
        toDying.getLooper().quit();
        log("after quit: " + toDying.sendEmptyMessage(3) + ", waiting " + toDying.hasMessages(2));
        stopSelf();
        return START_NOT_STICKY;
    }

    private static void end(Thread thread) {
        try {
            thread.join();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
