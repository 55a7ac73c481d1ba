// SPDX-License-Identifier: Apache-2.0
package org.example.taker;

import android.app.Activity;
import android.app.PendingIntent;
import android.content.ContentResolver;
import android.content.ContentValues;
import android.content.Intent;
import android.database.ContentObserver;
import android.database.Cursor;
import android.net.Uri;
import android.os.Bundle;
import android.os.Handler;
import android.os.Looper;
import android.os.Message;
import android.os.Messenger;
import android.os.Parcel;
import android.os.Process;
import android.os.ResultReceiver;
import android.util.Log;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;

/** Uses what another package provides, and sends what that gives away. */
public final class Main extends Activity {
    private static final String TAG = "Taker";
    private static final Uri NOTES = Uri.parse("content://org.example.giver.notes/notes");
    /** Behind it nothing holds the provider any more. */
    private static final long RELEASED_MILLIS = 3_000;

    static PendingIntent kept;

    private final Handler main = new Handler(Looper.getMainLooper());

    @Override
    protected void onCreate(Bundle state) {
        super.onCreate(state);
        ContentResolver resolver = getContentResolver();
        resolver.registerContentObserver(NOTES, true, new ContentObserver(main) {
            @Override
            public void onChange(boolean isOwn, Uri uri) {
                Log.i("Observer", "changed " + uri.getLastPathSegment() + " by itself " + isOwn);
            }
        });
        change(resolver);
        read(resolver);
        refused("hidden", resolver);
        refused("locked", resolver);
        Intent give = new Intent().setClassName("org.example.giver", "org.example.giver.Give");
        give.putExtra("to", new Messenger(new Handler(Looper.getMainLooper(), this::take)));
        give.putExtra("result", plain(new ResultReceiver(main) {
            @Override
            protected void onReceiveResult(int code, Bundle data) {
                Log.i(TAG, "result " + code + " " + data.getString("said"));
            }
        }));
        startActivity(give);
    }

    /** Of Android's own class: another package does not have this one's. */
    private static ResultReceiver plain(ResultReceiver own) {
        Parcel parcel = Parcel.obtain();
        own.writeToParcel(parcel, 0);
        parcel.setDataPosition(0);
        ResultReceiver plain = ResultReceiver.CREATOR.createFromParcel(parcel);
        parcel.recycle();
        return plain;
    }

    private static ContentValues text(String text) {
        ContentValues values = new ContentValues();
        values.put("text", text);
        return values;
    }

    private static void change(ContentResolver resolver) {
        Uri first = resolver.insert(NOTES, text("first"));
        Uri second = resolver.insert(NOTES, text("second"));
        Log.i(TAG, "inserted " + first + " and " + second.getLastPathSegment());
        int updated = resolver.update(first, text("better"), null, null);
        int deleted = resolver.delete(second, null, null);
        Log.i(TAG, "updated " + updated + ", deleted " + deleted + ", again " + resolver.delete(second, null, null));
        Bundle answer = resolver.call(NOTES, "say", "it", null);
        boolean isElsewhere = answer.getInt("pid") != Process.myPid();
        Log.i(TAG, answer.getString("said") + " elsewhere " + isElsewhere + ", type " + resolver.getType(NOTES));
    }

    private void read(ContentResolver resolver) {
        try (Cursor cursor = resolver.query(NOTES, null, null, null, null)) {
            while (cursor.moveToNext()) {
                Log.i(TAG, "row " + cursor.getLong(0) + " " + cursor.getString(1) + " " + cursor.getDouble(2) + " "
                        + cursor.getBlob(3).length + " " + cursor.isNull(4) + " of " + cursor.getColumnCount());
            }
        }
        try (Cursor cursor = resolver.query(NOTES, null, "30000", null, null)) {
            long sum = 0;
            while (cursor.moveToNext()) {
                sum += cursor.getLong(0);
            }
            Log.i(TAG, "many " + cursor.getCount() + " " + sum);
        }
        try (BufferedReader file = new BufferedReader(new InputStreamReader(resolver.openInputStream(NOTES)))) {
            Log.i(TAG, "read " + file.readLine());
        } catch (IOException e) {
            Log.e(TAG, "no file", e);
        }
    }

    private static void refused(String which, ContentResolver resolver) {
        Uri uri = Uri.parse("content://org.example.giver." + which + "/notes");
        try (Cursor cursor = resolver.query(uri, null, null, null, null)) {
            Log.e(TAG, which + " gives " + cursor);
        } catch (SecurityException e) {
            Log.i(TAG, which + " is refused");
        }
    }

    /** Another package's PendingIntents: each starts what only that package reaches. */
    private boolean take(Message message) {
        Bundle given = message.getData();
        Intent added = new Intent().putExtra("added", "taker's");
        kept = given.getParcelable("once", PendingIntent.class);
        Log.i(TAG, "given by " + kept.getCreatorPackage());
        try {
            given.getParcelable("activity", PendingIntent.class).send(this, 0, added);
            given.getParcelable("service", PendingIntent.class).send(this, 0, added);
            given.getParcelable("fixed", PendingIntent.class).send(this, 0, added);
            PendingIntent broadcast = given.getParcelable("broadcast", PendingIntent.class);
            broadcast.send(this, 41, added, (pending, intent, code, data, extras) ->
                    Log.i(TAG, "finished " + code + " " + data), main);
            kept.send();
            kept.send();
        } catch (PendingIntent.CanceledException e) {
            Log.i(TAG, "once is once");
        }
        kept = given.getParcelable("broadcast", PendingIntent.class);
        main.postDelayed(() -> Log.i(TAG, "released"), RELEASED_MILLIS);
        return true;
    }
}
