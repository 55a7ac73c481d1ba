// SPDX-License-Identifier: Apache-2.0
package takt.framework;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import android.content.ComponentName;
import android.content.Intent;
import android.net.Uri;
import android.os.Binder;
import android.os.Bundle;
import android.os.IBinder;
import android.os.Parcel;
import android.os.RemoteException;
import android.system.ErrnoException;
import android.system.Os;
import java.io.FileDescriptor;
import java.io.InterruptedIOException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** AOSP's Parcel, Bundle, Intent and Binder over our native methods. */
final class ParcelTest {
    private final Parcel parcel = Parcel.obtain();

    @BeforeAll
    static void load() {
        Natives.load();
    }

    @AfterEach
    void recycle() {
        parcel.recycle();
    }

    @Test
    void whatIsWrittenIsRead() {
        parcel.writeInt(-7);
        parcel.writeLong(Long.MIN_VALUE);
        parcel.writeFloat(1.5f);
        parcel.writeDouble(Math.PI);
        parcel.writeString("g\u00e4nse\u0000\ud83d\ude00");
        parcel.writeString(null);
        parcel.writeString8("acht");
        parcel.writeByteArray(new byte[] {1, 2, 3});
        parcel.writeIntArray(new int[] {4, 5});
        assertEquals(0, parcel.dataSize() % 4);
        parcel.setDataPosition(0);
        assertEquals(-7, parcel.readInt());
        assertEquals(Long.MIN_VALUE, parcel.readLong());
        assertEquals(1.5f, parcel.readFloat());
        assertEquals(Math.PI, parcel.readDouble());
        assertEquals("g\u00e4nse\u0000\ud83d\ude00", parcel.readString());
        assertNull(parcel.readString());
        assertEquals("acht", parcel.readString8());
        assertArrayEquals(new byte[] {1, 2, 3}, parcel.createByteArray());
        assertArrayEquals(new int[] {4, 5}, parcel.createIntArray());
        assertEquals(0, parcel.dataAvail());
        assertEquals(0, parcel.readInt(), "behind the end there are zeros, as AOSP's");
    }

    @Test
    void marshalledBytesComeBack() {
        parcel.writeString("text");
        byte[] bytes = parcel.marshall();
        assertArrayEquals(new byte[] {4, 0, 0, 0, 't', 0, 'e', 0, 'x', 0, 't', 0, 0, 0, 0, 0}, bytes);
        Parcel other = Parcel.obtain();
        other.unmarshall(bytes, 0, bytes.length);
        other.setDataPosition(0);
        assertEquals("text", other.readString());
        other.recycle();
    }

    @Test
    void aBundleSurvivesAParcel() {
        Bundle inner = new Bundle();
        inner.putStringArray("names", new String[] {"a", "b"});
        Bundle bundle = new Bundle();
        bundle.putInt("int", 42);
        bundle.putBundle("inner", inner);
        bundle.putParcelable("uri", Uri.parse("content://a/b"));
        parcel.writeBundle(bundle);
        parcel.setDataPosition(0);
        Bundle read = parcel.readBundle(getClass().getClassLoader());
        assertEquals(42, read.getInt("int"));
        assertArrayEquals(new String[] {"a", "b"}, read.getBundle("inner").getStringArray("names"));
        assertEquals(Uri.parse("content://a/b"), read.getParcelable("uri", Uri.class));
    }

    @Test
    void anIntentSurvivesAParcel() {
        Intent intent = new Intent("org.example.ACTION", Uri.parse("tel:1"));
        intent.setComponent(new ComponentName("org.example", "org.example.Main"));
        intent.addCategory("org.example.CATEGORY").putExtra("level", 3L).addFlags(Intent.FLAG_ACTIVITY_NEW_TASK);
        intent.writeToParcel(parcel, 0);
        parcel.setDataPosition(0);
        Intent read = Intent.CREATOR.createFromParcel(parcel);
        assertTrue(intent.filterEquals(read));
        assertEquals(3L, read.getLongExtra("level", 0));
        assertEquals(Intent.FLAG_ACTIVITY_NEW_TASK, read.getFlags());
    }

    @Test
    void aBinderTravelsAsItself() {
        Binder binder = new Binder();
        parcel.writeStrongBinder(binder);
        parcel.writeStrongBinder(null);
        parcel.setDataPosition(0);
        assertSame(binder, parcel.readStrongBinder());
        assertNull(parcel.readStrongBinder());
        assertThrows(RuntimeException.class, parcel::marshall);
    }

    @Test
    void aCallInsideTheProcessReachesItsBinder() throws RemoteException {
        IBinder binder = new Binder() {
            @Override
            protected boolean onTransact(int code, Parcel data, Parcel reply, int flags) {
                data.enforceInterface("org.example.Adder");
                reply.writeInt(data.readInt() + data.readInt());
                return code == 1;
            }
        };
        Parcel reply = Parcel.obtain();
        parcel.writeInterfaceToken("org.example.Adder");
        parcel.writeInt(40);
        parcel.writeInt(2);
        assertTrue(binder.transact(1, parcel, reply, 0));
        reply.setDataPosition(0);
        assertEquals(42, reply.readInt());
        reply.recycle();
        Parcel wrong = Parcel.obtain();
        wrong.writeInterfaceToken("org.example.Other");
        assertThrows(SecurityException.class, () -> binder.transact(1, wrong, null, 0));
        wrong.recycle();
    }

    @Test
    void aFileDescriptorIsCopiedInAndOut() throws ErrnoException, InterruptedIOException {
        FileDescriptor[] pipe = Os.pipe2(0);
        assertFalse(parcel.hasFileDescriptors());
        parcel.writeInt(1);
        parcel.writeFileDescriptor(pipe[1]);
        assertTrue(parcel.hasFileDescriptors());
        Os.close(pipe[1]);
        parcel.setDataPosition(4);
        FileDescriptor copy = parcel.readRawFileDescriptor();
        Os.write(copy, new byte[] {7}, 0, 1);
        Os.close(copy);
        parcel.setDataSize(0);
        byte[] bytes = new byte[2];
        assertEquals(1, Os.read(pipe[0], bytes, 0, 2));
        assertEquals(0, Os.read(pipe[0], bytes, 0, 2), "no copy is open");
        Os.close(pipe[0]);
        assertThrows(RuntimeException.class, () -> parcel.writeFileDescriptor(pipe[0]));
    }
}
