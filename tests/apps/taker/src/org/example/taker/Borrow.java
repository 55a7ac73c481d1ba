// SPDX-License-Identifier: Apache-2.0
package org.example.taker;

import android.app.Activity;
import android.content.ContentResolver;
import android.content.ContentValues;
import android.content.Intent;
import android.content.UriPermission;
import android.content.pm.PackageManager;
import android.database.Cursor;
import android.net.Uri;
import android.os.Bundle;
import android.os.Process;
import android.util.Log;

/** Reaches what it was granted, and nothing beside. */
public final class Borrow extends Activity {
    private static final String TAG = "Borrow";

    private static Uri at(String path) {
        return Uri.parse("content://org.example.giver.lent/" + path);
    }

    @Override
    protected void onCreate(Bundle state) {
        super.onCreate(state);
        String action = getIntent().getAction();
        if ("look".equals(action)) {
            Log.i("Look", canRead(at("open/1")) ? "it is granted" : "it has ended");
            finish();
            return;
        }
        if (action == null) {
            read(getIntent().getData());
            read(at("open/2"));
            read(at("open/3"));
            write(at("open/1"));
            read(Uri.parse("content://org.example.giver.parts/news/1"));
            read(Uri.parse("content://org.example.giver.parts/other"));
            setResult(RESULT_OK);
        } else if (action.equals("again")) {
            read(at("open/kept"));
            write(at("open/all/below"));
            keep(at("open/all"));
            keep(at("open/kept"));
        } else {
            read(at("open/kept"));
            write(at("open/all/below"));
            getContentResolver().releasePersistableUriPermission(at("open/kept"), Intent.FLAG_GRANT_READ_URI_PERMISSION);
            read(at("open/kept"));
        }
        StringBuilder kept = new StringBuilder("kept");
        for (UriPermission it : getContentResolver().getPersistedUriPermissions()) {
            kept.append(' ').append(it.getUri().getPath()).append(it.isReadPermission() ? " r" : "")
                    .append(it.isWritePermission() ? " w" : "");
        }
        Log.i(TAG, kept.toString());
        finish();
    }

    private boolean canRead(Uri uri) {
        int granted = checkUriPermission(uri, Process.myPid(), Process.myUid(), Intent.FLAG_GRANT_READ_URI_PERMISSION);
        return granted == PackageManager.PERMISSION_GRANTED;
    }

    private void read(Uri uri) {
        String by = canRead(uri) ? ", granted" : "";
        try (Cursor cursor = getContentResolver().query(uri, null, null, null, null)) {
            Log.i(TAG, "reads " + uri.getPath() + " " + (cursor != null) + by);
        } catch (SecurityException e) {
            Log.i(TAG, "reads " + uri.getPath() + " not" + by);
        }
    }

    private void write(Uri uri) {
        ContentValues values = new ContentValues();
        values.put("text", "written");
        try {
            Log.i(TAG, "writes " + uri.getPath() + " " + (getContentResolver().insert(uri, values) != null));
        } catch (SecurityException e) {
            Log.i(TAG, "writes " + uri.getPath() + " not");
        }
    }

    private void keep(Uri uri) {
        ContentResolver resolver = getContentResolver();
        try {
            resolver.takePersistableUriPermission(uri, Intent.FLAG_GRANT_READ_URI_PERMISSION);
            Log.i(TAG, "keeps " + uri.getPath());
        } catch (SecurityException e) {
            Log.i(TAG, "keeps " + uri.getPath() + " not");
        }
    }
}
