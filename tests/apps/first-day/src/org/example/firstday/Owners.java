// SPDX-License-Identifier: Apache-2.0
package org.example.firstday;

import android.os.Binder;
import android.os.IBinder;
import android.os.Parcel;
import android.os.Process;
import dalvik.system.VMRuntime;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.List;

/** Who calls, and whose memory it is. */
public final class Owners extends Day {
    private static final int CALL = IBinder.FIRST_CALL_TRANSACTION;
    private static final long PIECE_BYTES = 80L << 20;
    private static final int PIECES_MAX = 400;

    @Override
    void day() throws InterruptedException {
        identity();
        say("address", () -> {
            int[] numbers = {1, 2, 3};
            long place = VMRuntime.getRuntime().addressOf(numbers);
            return (place != 0) + " " + place % 4 + " " + VMRuntime.getRuntime().addressOf(null);
        });
        say("fixed", () -> {
            byte[] bytes = (byte[]) VMRuntime.getRuntime().newNonMovableArray(byte.class, 8);
            return bytes.length + " " + (VMRuntime.getRuntime().addressOf(bytes) != 0);
        });
        say("not numbers", () -> VMRuntime.getRuntime().addressOf("text"));
        say("registered", () -> isCollected());
        say("negative", () -> {
            VMRuntime.getRuntime().registerNativeAllocation(-1L);
            return "registered";
        });
    }

    /** A small object, which is garbage when this returns, with much native memory. */
    private static WeakReference<Object> register() {
        Object[] owner = new Object[1];
        owner[0] = owner;
        VMRuntime.getRuntime().registerNativeAllocation(PIECE_BYTES);
        return new WeakReference<>(owner);
    }

    /** One after the other becomes garbage; nobody asks for a collection but the one who counts. */
    private static boolean isCollected() throws InterruptedException {
        List<WeakReference<Object>> pieces = new ArrayList<>();
        for (int tries = 0; tries < PIECES_MAX; tries++) {
            pieces.add(register());
            Thread.sleep(50);
            if (pieces.stream().anyMatch(it -> it.get() == null)) {
                VMRuntime.getRuntime().registerNativeFree(PIECE_BYTES * pieces.size());
                return true;
            }
        }
        return false;
    }

    private static void identity() throws InterruptedException {
        Binder binder = new Binder() {
            @Override
            protected boolean onTransact(int code, Parcel data, Parcel reply, int flags) {
                reply.writeInt(getCallingUid());
                reply.writeInt(getCallingPid());
                return true;
            }
        };
        say("caller", () -> {
            Parcel data = Parcel.obtain();
            Parcel reply = Parcel.obtain();
            binder.transact(CALL, data, reply, 0);
            return (reply.readInt() == Process.myUid()) + " " + (reply.readInt() == Process.myPid());
        });
        say("own", () -> (Binder.getCallingUid() == Process.myUid()) + " "
                + (Binder.getCallingPid() == Process.myPid()) + " " + Binder.getCallingUserHandle());
        say("cleared", () -> {
            long outer = Binder.clearCallingIdentity();
            long inner = Binder.clearCallingIdentity();
            Binder.restoreCallingIdentity(inner);
            boolean isOwn = Binder.getCallingUidOrThrow() == Process.myUid();
            Binder.restoreCallingIdentity(outer);
            return isOwn;
        });
        say("with", () -> Binder.withCleanCallingIdentity(() -> Binder.getCallingUid() == Process.myUid()));
        // A looper's thread has said so for good.
        say("looper", () -> Binder.getCallingUidOrThrow() == Process.myUid());
        elsewhere(() -> say("refused", Binder::getCallingUidOrThrow));
        say("handling", Binder::isDirectlyHandlingTransaction);
    }
}
