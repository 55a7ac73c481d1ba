// SPDX-License-Identifier: Apache-2.0
package org.example.mixed.hog;

import android.app.Service;
import android.content.Intent;
import android.os.IBinder;
import android.util.Log;
import java.io.File;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/** Leaves a program behind, takes memory until there is none, and fails by that. */
public final class Hog extends Service {
    private static final int PIECE = 1 << 20;
    private static final int PIECES_MAX = 4_096;

    @Override
    public int onStartCommand(Intent intent, int flags, int start) {
        try {
            new ProcessBuilder("sleep", "1000").redirectErrorStream(true).start();
        } catch (IOException e) {
            Log.i("Hog", "no program: " + e.getMessage());
        }
        Log.i("Hog", "eats, in " + new File(".").getAbsolutePath());
        List<byte[]> all = new ArrayList<>();
        while (all.size() < PIECES_MAX) {
            all.add(new byte[PIECE]);
        }
        throw new IllegalStateException("there is still memory after " + all.size() + " MB");
    }

    @Override
    public IBinder onBind(Intent intent) {
        return null;
    }
}
