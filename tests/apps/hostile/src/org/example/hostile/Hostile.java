// SPDX-License-Identifier: Apache-2.0
package org.example.hostile;

import android.app.Service;
import android.content.ComponentName;
import android.content.Context;
import android.content.Intent;
import android.content.ServiceConnection;
import android.os.Binder;
import android.os.Handler;
import android.os.IBinder;
import android.os.Looper;
import android.os.Message;
import android.os.Messenger;
import android.os.RemoteException;
import android.util.Log;
import java.io.File;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeUnit;

/**
 * Tries what no package may do, and says of each attempt what came of it. Where its victims are
 * stands in the intent's extras.
 */
public final class Hostile extends Service implements ServiceConnection {
    private static final String TAG = "Hostile";
    private static final String METER = "org.example.meter";
    /** A user that is not its own: the system's. */
    private static final long FOREIGN_IDENTITY = 1000L << 32 | 1;
    /** What {@code Meter} answers by the user who asks. */
    private static final int WHO = 1;
    private static final int CONNECT_MILLIS = 2_000;
    private static final long PROGRAM_SECONDS = 60;

    private interface Attempt {
        void run() throws Exception;
    }

    @Override
    public int onStartCommand(Intent intent, int flags, int start) {
        // Its looper must hear the answers.
        new Thread(() -> tryAll(intent), "hostile").start();
        return START_NOT_STICKY;
    }

    private void tryAll(Intent intent) {
        String data = intent.getStringExtra("data");
        String pid = intent.getStringExtra("pid");
        attempt("read", () -> new FileInputStream(data + "/secret").close());
        attempt("write", () -> new FileOutputStream(data + "/secret").close());
        attempt("make", () -> new FileOutputStream(data + "/new").close());
        attempt("list", () -> present(new File(data).list()));
        attempt("remove", () -> held(new File(data, "secret").delete()));
        attempt("signal", () -> program("/bin/sh", "-c", "kill -9 " + pid));
        attempt("environment", () -> new FileInputStream("/proc/" + pid + "/environ").read());
        attempt("memory", () -> new FileInputStream("/proc/" + pid + "/mem").close());
        attempt("devices", () -> present(new File("/dev").list()));
        for (String name : intent.getStringExtra("devices").split(" ")) {
            attempt("device " + name, () -> new FileInputStream("/dev/" + name).close());
        }
        attempt("real time", () -> program("chrt", "-f", "10", "true"));
        attempt("nice", () -> program("/bin/sh", "-c", "nice -n -5 true 2>&1 | grep -q . && exit 1 || exit 0"));
        attempt("door", () -> program(intent.getStringExtra("takt"), "ps", "--socket",
                intent.getStringExtra("socket")));
        attempt("network", this::connect);
        attempt("protected broadcast", () -> sendBroadcast(new Intent(Intent.ACTION_BOOT_COMPLETED)));
        int number = 0;
        for (String store : intent.getStringExtra("stores").split(":")) {
            String name = "poison " + number++;
            attempt(name, () -> new FileOutputStream(store + "/poison").close());
        }
        attempt("hidden service", () -> held(bindService(meter("Hidden"), this, Context.BIND_AUTO_CREATE)));
        attempt("hidden activity", () -> startActivity(meter("Vault").addFlags(Intent.FLAG_ACTIVITY_NEW_TASK)));
        attempt("hidden start", () -> held(startService(meter("Hidden")) != null));
        fill();
        bindService(meter("Meter"), this, Context.BIND_AUTO_CREATE);
    }

    private static Intent meter(String name) {
        return new Intent().setClassName(METER, METER + "." + name).putExtra("for", "hostile");
    }

    private static void attempt(String name, Attempt attempt) {
        try {
            attempt.run();
            Log.e(TAG, name + " is done");
        } catch (Exception | LinkageError e) {
            Log.i(TAG, name + " is refused");
            Log.d("HostileWhy", name + ": " + e);
        }
    }

    private static void present(Object found) throws IOException {
        held(found != null);
    }

    private static void held(boolean isDone) throws IOException {
        if (!isDone) {
            throw new IOException("nothing came of it");
        }
    }

    private void connect() throws IOException {
        try (Socket socket = new Socket()) {
            socket.connect(new InetSocketAddress("127.0.0.1", 1), CONNECT_MILLIS);
        } catch (java.net.ConnectException e) {
            // Somebody has answered that nobody listens.
            if (e.getMessage() != null && e.getMessage().contains("refused")) {
                return;
            }
            throw e;
        }
    }

    /** Ends well, or is refused. */
    private static void program(String... words) throws Exception {
        Process process = new ProcessBuilder(words).redirectErrorStream(true).start();
        String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        if (!process.waitFor(PROGRAM_SECONDS, TimeUnit.SECONDS) || process.exitValue() != 0) {
            throw new IOException("code " + process.exitValue() + ": " + said);
        }
    }

    /** As many processes as it gets; they stay until somebody ends them. */
    private void fill() {
        File count = new File(getFilesDir(), "count");
        File wait = new File(getFilesDir(), "wait");
        // The waiter holds the other end too, so nothing ever comes.
        String loop = "mkfifo " + wait + "; exec 3<>" + wait + "; n=0; while :; do (read x <&3) > /dev/null 2>&1 &"
                + " n=$((n+1)); echo $n > " + count + "; done";
        try {
            program("/bin/sh", "-c", loop);
            Log.e(TAG, "processes without end");
        } catch (Exception e) {
            String filled = "";
            try (FileInputStream in = new FileInputStream(count)) {
                filled = new String(in.readAllBytes(), StandardCharsets.UTF_8).trim();
            } catch (IOException unread) {
                Log.e(TAG, "no count", unread);
            }
            Log.i(TAG, "processes " + filled);
        }
    }

    @Override
    public void onServiceConnected(ComponentName name, IBinder service) {
        Message asked = Message.obtain(null, WHO);
        asked.replyTo = new Messenger(new Handler(Looper.getMainLooper(), answer -> {
            Log.i(TAG, "is taken for " + answer.arg1);
            return true;
        }));
        Binder.restoreCallingIdentity(FOREIGN_IDENTITY);
        Log.i(TAG, "claims to be " + Binder.getCallingUid());
        try {
            new Messenger(service).send(asked);
        } catch (RemoteException e) {
            Log.e(TAG, "nobody hears", e);
        }
    }

    @Override
    public void onServiceDisconnected(ComponentName name) {}

    @Override
    public IBinder onBind(Intent intent) {
        return null;
    }
}
