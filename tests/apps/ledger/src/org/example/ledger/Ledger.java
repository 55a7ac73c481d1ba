// SPDX-License-Identifier: Apache-2.0
package org.example.ledger;

import android.content.Context;
import android.database.Cursor;
import android.database.DatabaseUtils;
import android.database.sqlite.SQLiteDatabase;
import android.database.sqlite.SQLiteOpenHelper;
import android.database.sqlite.SQLiteStatement;

/** Entries by number from zero, without a gap: what a transaction has kept can be counted. */
final class Ledger extends SQLiteOpenHelper {
    Ledger(Context context) {
        super(context, "ledger.db", null, 1);
    }

    @Override
    public void onCreate(SQLiteDatabase database) {
        database.execSQL("create table entry (number integer primary key, amount integer not null, text text)");
        database.execSQL("create index by_amount on entry (amount)");
    }

    @Override
    public void onUpgrade(SQLiteDatabase database, int old, int now) {
        throw new IllegalStateException(old + " to " + now);
    }

    long count() {
        return DatabaseUtils.queryNumEntries(getReadableDatabase(), "entry");
    }

    /** What SQLite says of the whole file. */
    String integrity() {
        return DatabaseUtils.stringForQuery(getReadableDatabase(), "pragma integrity_check", null);
    }

    /** So many entries more, all or none. */
    void enter(long first, int count) {
        SQLiteDatabase database = getWritableDatabase();
        database.beginTransaction();
        try (SQLiteStatement insert = database.compileStatement("insert into entry values (?, ?, ?)")) {
            for (long number = first; number < first + count; number++) {
                insert.bindLong(1, number);
                insert.bindLong(2, amount(number));
                insert.bindString(3, "entry " + number);
                insert.executeInsert();
            }
            database.setTransactionSuccessful();
        } finally {
            database.endTransaction();
        }
    }

    /** Reads every entry in order, a window at a time; how many are as they were written. */
    long read() {
        long right = 0;
        try (Cursor cursor = getReadableDatabase().query("entry", null, null, null, null, null, "number")) {
            while (cursor.moveToNext()) {
                long number = cursor.getLong(0);
                boolean isRight = number == cursor.getPosition() && cursor.getLong(1) == amount(number)
                        && cursor.getString(2).equals("entry " + number);
                right += isRight ? 1 : 0;
            }
        }
        return right;
    }

    /** What the index says. */
    long countOf(long amount) {
        String[] arguments = {Long.toString(amount)};
        return DatabaseUtils.queryNumEntries(getReadableDatabase(), "entry", "amount = ?", arguments);
    }

    private static long amount(long number) {
        return number * 7919 % 1000;
    }
}
