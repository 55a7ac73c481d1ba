// SPDX-License-Identifier: Apache-2.0
package org.example.giver;

import android.content.ContentProvider;
import android.content.ContentUris;
import android.content.ContentValues;
import android.database.Cursor;
import android.database.MatrixCursor;
import android.net.Uri;
import android.os.Bundle;
import android.os.ParcelFileDescriptor;
import android.os.Process;
import android.util.Log;
import java.io.File;
import java.io.FileNotFoundException;
import java.io.FileWriter;
import java.io.IOException;
import java.util.TreeMap;

/** Notes in memory, by number. */
public class Notes extends ContentProvider {
    static final Uri ALL = Uri.parse("content://org.example.giver.notes/notes");
    private final TreeMap<Long, String> notes = new TreeMap<>();

    @Override
    public boolean onCreate() {
        Log.i("Notes", "made");
        return true;
    }

    /** Each type that a window has; as many rows as are asked for, above those that are there. */
    @Override
    public synchronized Cursor query(Uri uri, String[] columns, String selection, String[] arguments, String order) {
        MatrixCursor cursor = new MatrixCursor(new String[] {"_id", "text", "half", "bytes", "nothing"});
        notes.forEach((id, text) -> cursor.addRow(new Object[] {id, text, id / 2.0, new byte[] {1, 2, 3}, null}));
        long more = selection == null ? 0 : Long.parseLong(selection);
        for (long id = 0; id < more; id++) {
            cursor.addRow(new Object[] {1000 + id, "a line of text that fills the window", 0.5, new byte[16], null});
        }
        cursor.setNotificationUri(getContext().getContentResolver(), uri);
        return cursor;
    }

    @Override
    public synchronized Uri insert(Uri uri, ContentValues values) {
        long id = notes.isEmpty() ? 1 : notes.lastKey() + 1;
        notes.put(id, values.getAsString("text"));
        Uri added = ContentUris.withAppendedId(ALL, id);
        getContext().getContentResolver().notifyChange(added, null);
        return added;
    }

    @Override
    public synchronized int update(Uri uri, ContentValues values, String selection, String[] arguments) {
        return notes.replace(ContentUris.parseId(uri), values.getAsString("text")) == null ? 0 : 1;
    }

    @Override
    public synchronized int delete(Uri uri, String selection, String[] arguments) {
        return notes.remove(ContentUris.parseId(uri)) == null ? 0 : 1;
    }

    @Override
    public Bundle call(String method, String argument, Bundle extras) {
        Bundle answer = new Bundle();
        answer.putString("said", method + " " + argument + " by " + getCallingPackage());
        answer.putInt("pid", Process.myPid());
        return answer;
    }

    @Override
    public ParcelFileDescriptor openFile(Uri uri, String mode) throws FileNotFoundException {
        File file = new File(getContext().getFilesDir(), "note");
        try (FileWriter writer = new FileWriter(file)) {
            writer.write("from a file");
        } catch (IOException e) {
            throw new FileNotFoundException(e.getMessage());
        }
        return ParcelFileDescriptor.open(file, ParcelFileDescriptor.MODE_READ_ONLY);
    }

    @Override
    public String getType(Uri uri) {
        return "vnd.android.cursor.dir/note";
    }
}
