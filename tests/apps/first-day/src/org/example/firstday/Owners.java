// SPDX-License-Identifier: Apache-2.0
package org.example.firstday;

import android.os.Binder;
import android.os.IBinder;
import android.os.Parcel;
import android.os.Process;
import dalvik.system.VMRuntime;
import java.lang.ref.WeakReference;

/** Who calls, and whose memory it is. */
public final class Owners extends Day {
    private static final int CALL = IBinder.FIRST_CALL_TRANSACTION;

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
        say("registered", () -> isCollected(register()));
        say("negative", () -> {
            VMRuntime.getRuntime().registerNativeAllocation(-1L);
            return "registered";
        });
    }

    /** A small object, which is garbage when this returns, with much native memory. */
    private static WeakReference<Object> register() {
        Object[] owner = new Object[1];
        owner[0] = owner;
        VMRuntime.getRuntime().registerNativeAllocation(1L << 30);
        return new WeakReference<>(owner);
    }

    /** Nobody asks for a collection but the one who counts. */
    private static boolean isCollected(WeakReference<Object> garbage) throws InterruptedException {
        for (int tries = 0; tries < 1000 && garbage.get() != null; tries++) {
            Thread.sleep(20);
        }
        VMRuntime.getRuntime().registerNativeFree(1L << 30);
        return garbage.get() == null;
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
