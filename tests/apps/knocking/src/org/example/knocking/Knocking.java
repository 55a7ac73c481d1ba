// SPDX-License-Identifier: Apache-2.0
package org.example.knocking;

import android.Manifest;
import android.app.Service;
import android.content.Intent;
import android.content.pm.PackageManager;
import android.os.IBinder;
import android.util.Log;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketException;
import java.util.HexFormat;

/** Has the network, and knocks at a door of this machine with the bytes of an extra. */
public final class Knocking extends Service {
    private static final String TAG = "Knocking";
    private static final int MILLIS = 60_000;

    @Override
    public int onStartCommand(Intent intent, int flags, int start) {
        int port = Integer.parseInt(intent.getStringExtra("port"));
        byte[] hello = HexFormat.of().parseHex(intent.getStringExtra("hello"));
        boolean isGranted = checkSelfPermission(Manifest.permission.INTERNET) == PackageManager.PERMISSION_GRANTED;
        Log.i(TAG, "network granted " + isGranted);
        new Thread(() -> Log.i(TAG, "heard " + knock(port, hello)), "knocking").start();
        return START_NOT_STICKY;
    }

    /** How many bytes come back, at most four: none if it is closed there. -1 if nobody hears. */
    private static int knock(int port, byte[] hello) {
        try (Socket socket = new Socket()) {
            socket.connect(new InetSocketAddress("127.0.0.1", port), MILLIS);
            socket.setSoTimeout(MILLIS);
            return answer(socket, hello);
        } catch (IOException e) {
            Log.i(TAG, "why " + e);
            return -1;
        }
    }

    private static int answer(Socket socket, byte[] hello) throws IOException {
        try {
            socket.getOutputStream().write(hello);
            return socket.getInputStream().readNBytes(4).length;
        } catch (SocketException e) {
            // What was sent came too late: the kernel says so in place of the end.
            return 0;
        }
    }

    @Override
    public IBinder onBind(Intent intent) {
        return null;
    }
}
