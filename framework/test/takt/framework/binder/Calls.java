// SPDX-License-Identifier: Apache-2.0
package takt.framework.binder;

import android.os.IBinder;
import android.os.Parcel;
import android.os.RemoteException;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Function;

/** Calls of a {@link Player}. */
final class Calls {
    private Calls() {}

    /** One call, as a stub of AIDL makes it. */
    static <T> T of(IBinder binder, int code, Consumer<Parcel> in, Function<Parcel, T> out) throws RemoteException {
        Parcel data = Parcel.obtain();
        Parcel reply = Parcel.obtain();
        try {
            data.writeInterfaceToken(Player.DESCRIPTOR);
            in.accept(data);
            binder.transact(code, data, reply, 0);
            reply.readException();
            return out.apply(reply);
        } finally {
            reply.recycle();
            data.recycle();
        }
    }

    /** A call without an answer. */
    static void send(IBinder binder, int code, Consumer<Parcel> in) throws RemoteException {
        Parcel data = Parcel.obtain();
        try {
            data.writeInterfaceToken(Player.DESCRIPTOR);
            in.accept(data);
            binder.transact(code, data, null, IBinder.FLAG_ONEWAY);
        } finally {
            data.recycle();
        }
    }

    static String echo(IBinder binder, int number, String text) throws RemoteException {
        return of(binder, Player.ECHO, data -> {
            data.writeInt(number);
            data.writeString(text);
        }, reply -> reply.readInt() + reply.readString());
    }

    /** To {@code to}, which calls {@code back}, and so on. */
    static List<Integer> down(IBinder to, IBinder back, IBinder own, int depth) throws RemoteException {
        return of(to, Player.DOWN, data -> {
            data.writeStrongBinder(back);
            data.writeStrongBinder(own);
            data.writeInt(depth);
        }, Calls::ints);
    }

    static void keep(IBinder to, IBinder binder) throws RemoteException {
        of(to, Player.KEEP, data -> data.writeStrongBinder(binder), reply -> null);
    }

    static IBinder same(IBinder to, IBinder binder) throws RemoteException {
        return of(to, Player.SAME, data -> data.writeStrongBinder(binder), Parcel::readStrongBinder);
    }

    /** A count, and so many. */
    static List<Integer> ints(Parcel parcel) {
        List<Integer> ints = new ArrayList<>();
        for (int left = parcel.readInt(); left > 0; left--) {
            ints.add(parcel.readInt());
        }
        return ints;
    }
}
