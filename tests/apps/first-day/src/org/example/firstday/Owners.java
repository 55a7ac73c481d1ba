// SPDX-License-Identifier: Apache-2.0
package org.example.firstday;

import android.os.Binder;
import android.os.IBinder;
import android.os.Parcel;
import android.os.Process;
import dalvik.system.VMRuntime;

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
        say("registered", () -> {
            VMRuntime.getRuntime().registerNativeAllocation(1L << 20);
            VMRuntime.getRuntime().registerNativeFree(1L << 20);
            return "done";
        });
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
