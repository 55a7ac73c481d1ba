// SPDX-License-Identifier: Apache-2.0
package org.example.asker;

import android.app.Activity;
import android.content.BroadcastReceiver;
import android.content.ComponentName;
import android.content.Context;
import android.content.Intent;
import android.content.IntentFilter;
import android.content.ServiceConnection;
import android.content.pm.PackageInfo;
import android.content.pm.PackageManager;
import android.content.pm.ResolveInfo;
import android.os.Bundle;
import android.os.Handler;
import android.os.IBinder;
import android.os.Looper;
import android.os.Message;
import android.os.Messenger;
import android.os.Process;
import android.os.RemoteException;
import android.util.Log;

/** Asks a service and an activity of another package, in another process. */
public final class Main extends Activity implements ServiceConnection {
    private static final String TAG = "Asker";
    private static final int PICK = 7;

    @Override
    protected void onCreate(Bundle state) {
        super.onCreate(state);
        Log.i(TAG, "greeting " + getIntent().getStringExtra("greeting"));
        tryHidden();
        look();
        IntentFilter heard = new IntentFilter("org.example.asker.HEAR");
        registerReceiver(new BroadcastReceiver() {
            @Override
            public void onReceive(Context context, Intent intent) {
                Log.i(TAG, "heard " + intent.getStringExtra("text"));
            }
        }, heard, RECEIVER_EXPORTED);
        Intent intent = new Intent().setClassName("org.example.meter", "org.example.meter.Meter");
        boolean isThere = bindService(intent.putExtra("for", "asker"), this, Context.BIND_AUTO_CREATE);
        Log.i(TAG, "bind " + isThere);
    }

    private void tryHidden() {
        Intent hidden = new Intent().setClassName("org.example.meter", "org.example.meter.Hidden");
        try {
            Log.e(TAG, "hidden " + bindService(hidden, this, Context.BIND_AUTO_CREATE));
        } catch (SecurityException e) {
            Log.i(TAG, "hidden is refused");
        }
    }

    /** What it sees of another package. */
    private void look() {
        PackageManager packages = getPackageManager();
        try {
            PackageInfo meter = packages.getPackageInfo("org.example.meter", PackageManager.GET_SERVICES);
            boolean isOther = meter.applicationInfo.uid != getApplicationInfo().uid;
            Log.i(TAG, "sees " + meter.versionName + " with " + meter.services.length + " services, of another user "
                    + isOther);
            packages.getPackageInfo("org.example.none", 0);
        } catch (PackageManager.NameNotFoundException e) {
            Log.i(TAG, "there is no " + e.getMessage());
        }
        for (ResolveInfo it : packages.queryIntentActivities(new Intent("org.example.meter.PICK"), 0)) {
            Log.i(TAG, "takes it: " + it.activityInfo.name);
        }
    }

    @Override
    public void onServiceConnected(ComponentName name, IBinder service) {
        Log.i(TAG, "connected to " + name.flattenToShortString());
        Message message = Message.obtain(null, 0, 41, 0);
        message.replyTo = new Messenger(new Handler(Looper.getMainLooper(), this::hear));
        try {
            new Messenger(service).send(message);
        } catch (RemoteException e) {
            Log.e(TAG, "nobody hears", e);
        }
    }

    private boolean hear(Message answer) {
        boolean isElsewhere = answer.arg2 != Process.myPid();
        Log.i(TAG, "answer " + answer.arg1 + " from elsewhere " + isElsewhere);
        startActivityForResult(new Intent("org.example.meter.PICK").putExtra("number", 21), PICK);
        return true;
    }

    @Override
    protected void onActivityResult(int request, int code, Intent data) {
        int number = data == null ? -1 : data.getIntExtra("number", 0);
        Log.i(TAG, "result " + request + " " + code + " " + number);
        sendBroadcast(new Intent("org.example.meter.READ").putExtra("text", "asker"));
    }

    @Override
    public void onServiceDisconnected(ComponentName name) {
        Log.i(TAG, "disconnected from " + name.flattenToShortString());
    }
}
