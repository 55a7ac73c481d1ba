// SPDX-License-Identifier: Apache-2.0
package org.example.life;

import android.content.ContentProvider;
import android.content.ContentValues;
import android.database.Cursor;
import android.database.MatrixCursor;
import android.net.Uri;
import android.util.Log;

/** A provider with three rows. */
public final class Facts extends ContentProvider {
    @Override
    public boolean onCreate() {
        Log.i(App.TAG, "Facts.onCreate");
        return true;
    }

    @Override
    public Cursor query(Uri uri, String[] columns, String where, String[] arguments, String order) {
        MatrixCursor cursor = new MatrixCursor(new String[] {"fact"});
        for (int fact = 1; fact <= 3; fact++) {
            cursor.addRow(new Object[] {fact});
        }
        return cursor;
    }

    @Override
    public String getType(Uri uri) {
        return null;
    }

    @Override
    public Uri insert(Uri uri, ContentValues values) {
        return null;
    }

    @Override
    public int delete(Uri uri, String where, String[] arguments) {
        return 0;
    }

    @Override
    public int update(Uri uri, ContentValues values, String where, String[] arguments) {
        return 0;
    }
}
