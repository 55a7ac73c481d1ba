// SPDX-License-Identifier: Apache-2.0
package takt.framework;

import android.database.Cursor;
import android.database.CursorWindow;
import android.database.SQLException;
import android.os.BadParcelableException;
import android.os.Parcel;
import android.os.SharedMemory;
import android.system.ErrnoException;
import android.system.OsConstants;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;

/**
 * A CursorWindow in a parcel, row by row: AOSP's library has it in memory of its own, in a form
 * that is nobody else's. A small one lies in the parcel itself, a large one in shared memory.
 *
 * <p>Called by CursorWindow's own natives, with the number that it knows its window by.
 */
final class CursorWindows {
    /** What lies in the parcel itself: a call has room for some times as much. */
    private static final int INLINE_MAX = 64 << 10;
    /** No window is larger on Android: its rows, and what describes them. */
    private static final int BYTES_MAX = 8 << 20;
    private static final int ROWS_MAX = 1 << 20;
    private static final int COLUMNS_MAX = 2_000;
    /** A window that has room for what was sent: each field takes 16 bytes beside its own. */
    private static final int SLACK = 64 << 10;

    private CursorWindows() {}

    /** Calls one of the window's own natives. */
    private static Object call(String name, Object... arguments) {
        Class<?>[] types = new Class<?>[arguments.length];
        for (int index = 0; index < types.length; index++) {
            types[index] = typeOf(arguments[index]);
        }
        try {
            Method method = CursorWindow.class.getDeclaredMethod(name, types);
            method.setAccessible(true);
            return method.invoke(null, arguments);
        } catch (InvocationTargetException e) {
            if (e.getCause() instanceof RuntimeException cause) {
                throw cause;
            }
            throw new IllegalStateException(e.getCause());
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException("CursorWindow is not AOSP 15's", e);
        }
    }

    private static Class<?> typeOf(Object argument) {
        if (argument instanceof Long) {
            return long.class;
        }
        if (argument instanceof Integer) {
            return int.class;
        }
        return argument instanceof Double ? double.class : argument.getClass();
    }

    /**
     * The first column that a window with rows does not have. Only asking for it tells, and the
     * library writes a line to the log then.
     */
    private static int columns(long window, int rows) {
        int columns = 0;
        while (rows > 0 && columns < COLUMNS_MAX && has(window, columns)) {
            columns++;
        }
        return columns;
    }

    private static boolean has(long window, int column) {
        try {
            call("nativeGetLong", window, 0, column);
            return true;
        } catch (SQLException e) {
            // A blob is no number, and is there.
            return true;
        } catch (IllegalStateException e) {
            return false;
        }
    }

    static void write(long window, Parcel target) throws ErrnoException {
        Parcel parcel = Parcel.obtain();
        try {
            writeRows(window, parcel);
            byte[] bytes = parcel.marshall();
            target.writeString((String) call("nativeGetName", window));
            target.writeInt(bytes.length);
            if (bytes.length <= INLINE_MAX) {
                target.writeByteArray(bytes);
                return;
            }
            try (SharedMemory memory = SharedMemory.create("CursorWindow", bytes.length)) {
                ByteBuffer buffer = memory.mapReadWrite();
                buffer.put(bytes);
                SharedMemory.unmap(buffer);
                memory.setProtect(OsConstants.PROT_READ);
                memory.writeToParcel(target, 0);
            }
        } finally {
            parcel.recycle();
        }
    }

    private static void writeRows(long window, Parcel parcel) {
        int rows = (int) call("nativeGetNumRows", window);
        int columns = columns(window, rows);
        parcel.writeInt(rows);
        parcel.writeInt(columns);
        for (int row = 0; row < rows; row++) {
            for (int column = 0; column < columns; column++) {
                int type = (int) call("nativeGetType", window, row, column);
                parcel.writeInt(type);
                switch (type) {
                    case Cursor.FIELD_TYPE_INTEGER -> parcel.writeLong((long) call("nativeGetLong", window, row, column));
                    case Cursor.FIELD_TYPE_FLOAT ->
                            parcel.writeDouble((double) call("nativeGetDouble", window, row, column));
                    case Cursor.FIELD_TYPE_STRING ->
                            parcel.writeString((String) call("nativeGetString", window, row, column));
                    case Cursor.FIELD_TYPE_BLOB ->
                            parcel.writeByteArray((byte[]) call("nativeGetBlob", window, row, column));
                    default -> { }
                }
            }
        }
    }

    /** Its number; what is no window throws. */
    static long read(Parcel source) throws ErrnoException {
        String name = source.readString();
        int size = source.readInt();
        if (size < 0 || size > BYTES_MAX) {
            throw new BadParcelableException("a CursorWindow of " + size + " bytes");
        }
        Parcel parcel = Parcel.obtain();
        try {
            byte[] bytes = size <= INLINE_MAX ? source.createByteArray() : mapped(source, size);
            if (bytes == null || bytes.length != size) {
                throw new BadParcelableException("a CursorWindow without its rows");
            }
            parcel.unmarshall(bytes, 0, size);
            parcel.setDataPosition(0);
            return readRows(name == null ? "" : name, parcel);
        } finally {
            parcel.recycle();
        }
    }

    private static byte[] mapped(Parcel source, int size) throws ErrnoException {
        try (SharedMemory memory = SharedMemory.CREATOR.createFromParcel(source)) {
            if (memory.getSize() < size) {
                return null;
            }
            ByteBuffer buffer = memory.mapReadOnly();
            byte[] bytes = new byte[size];
            buffer.get(bytes);
            SharedMemory.unmap(buffer);
            return bytes;
        }
    }

    private static long readRows(String name, Parcel parcel) {
        int rows = parcel.readInt();
        int columns = parcel.readInt();
        boolean isWindow = 0 <= rows && rows <= ROWS_MAX && 0 <= columns && columns <= COLUMNS_MAX;
        // Each field has at least its type.
        if (!isWindow || (long) rows * columns > parcel.dataAvail() / Integer.BYTES) {
            throw new BadParcelableException("a CursorWindow of " + rows + " rows and " + columns + " columns");
        }
        int fields = rows * columns;
        long window = (long) call("nativeCreate", name, SLACK + 2 * parcel.dataAvail() + 32 * fields + 128 * rows);
        boolean isWhole = columns == 0 || (boolean) call("nativeSetNumColumns", window, columns);
        for (int row = 0; isWhole && row < rows; row++) {
            isWhole = (boolean) call("nativeAllocRow", window);
            for (int column = 0; isWhole && column < columns; column++) {
                isWhole = readField(parcel, window, row, column);
            }
        }
        if (!isWhole) {
            call("nativeDispose", window);
            throw new BadParcelableException("a CursorWindow whose rows do not fit");
        }
        return window;
    }

    private static boolean readField(Parcel parcel, long window, int row, int column) {
        return (boolean) switch (parcel.readInt()) {
            case Cursor.FIELD_TYPE_INTEGER -> call("nativePutLong", window, parcel.readLong(), row, column);
            case Cursor.FIELD_TYPE_FLOAT -> call("nativePutDouble", window, parcel.readDouble(), row, column);
            case Cursor.FIELD_TYPE_STRING -> {
                String text = parcel.readString();
                yield call("nativePutString", window, text == null ? "" : text, row, column);
            }
            case Cursor.FIELD_TYPE_BLOB -> {
                byte[] blob = parcel.createByteArray();
                yield call("nativePutBlob", window, blob == null ? new byte[0] : blob, row, column);
            }
            default -> call("nativePutNull", window, row, column);
        };
    }
}
