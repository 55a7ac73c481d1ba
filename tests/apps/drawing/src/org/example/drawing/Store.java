// SPDX-License-Identifier: Apache-2.0
package org.example.drawing;

import android.content.ContentValues;
import android.content.Context;
import android.database.Cursor;
import android.database.sqlite.SQLiteConstraintException;
import android.database.sqlite.SQLiteDatabase;
import android.database.sqlite.SQLiteOpenHelper;

/** A database in the package's own folder. */
final class Store extends SQLiteOpenHelper {
    private static final int ROWS = 5000;

    Store(Context context) {
        super(context, "store.db", null, 1);
    }

    @Override
    public void onCreate(SQLiteDatabase database) {
        database.execSQL("create table line (id integer primary key, text text not null, length real, bytes blob)");
    }

    @Override
    public void onUpgrade(SQLiteDatabase database, int old, int now) {
        throw new IllegalStateException(old + " to " + now);
    }

    void use() {
        SQLiteDatabase database = getWritableDatabase();
        database.beginTransaction();
        for (int index = 0; index < ROWS; index++) {
            database.insertOrThrow("line", null, row(index));
        }
        database.setTransactionSuccessful();
        database.endTransaction();
        database.beginTransaction();
        database.delete("line", null, null);
        database.endTransaction();
        String[] columns = {"id", "text", "length", "bytes"};
        int count = 0;
        long sum = 0;
        // More than one window's worth of rows.
        try (Cursor cursor = database.query("line", columns, "id >= ?", new String[] {"2500"}, null, null, "id desc")) {
            while (cursor.moveToNext()) {
                count++;
                sum += cursor.getLong(0) + cursor.getBlob(3).length;
            }
            cursor.moveToPosition(1);
            Sheet.log("row: " + cursor.getString(1) + " " + cursor.getDouble(2) + " " + cursor.getColumnName(3));
        }
        Sheet.log("rows: " + count + " " + sum + " " + database.isDatabaseIntegrityOk());
        try {
            database.insertOrThrow("line", null, row(7));
        } catch (SQLiteConstraintException e) {
            Sheet.log("refused: " + e.getMessage().contains("UNIQUE"));
        }
    }

    private static ContentValues row(int index) {
        ContentValues row = new ContentValues();
        row.put("id", index);
        row.put("text", "line " + index);
        row.put("length", index / 2.0);
        row.put("bytes", new byte[index % 7 * 200]);
        return row;
    }
}
