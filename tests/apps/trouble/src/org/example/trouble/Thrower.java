// SPDX-License-Identifier: Apache-2.0
package org.example.trouble;

import android.content.Intent;
import android.os.Handler;
import android.os.HandlerThread;
import android.os.Looper;
import android.os.Message;

/** A handler that throws: on the main thread, or on the one that the extra names. */
public final class Thrower extends Trouble {
    private static final class Throwing extends Handler {
        Throwing(Looper looper) {
            super(looper);
        }

        @Override
        public void handleMessage(Message message) {
            throw new IllegalStateException("message " + message.what);
        }
    }

    @Override
    public int onStartCommand(Intent intent, int flags, int startId) {
        Looper looper = getMainLooper();
        if (intent.hasExtra("thread")) {
            HandlerThread thread = new HandlerThread(intent.getStringExtra("thread"));
            thread.start();
            looper = thread.getLooper();
        }
        new Throwing(looper).sendEmptyMessage(7);
        return START_NOT_STICKY;
    }
}
