// SPDX-License-Identifier: Apache-2.0
package takt.framework.binder;

import android.os.Binder;
import android.os.Bundle;
import android.os.IBinder;
import android.os.Message;
import android.os.Messenger;
import android.os.Parcel;
import android.os.Process;
import android.os.RemoteException;
import android.os.ResultReceiver;
import android.os.SharedMemory;
import android.system.ErrnoException;
import android.system.Os;
import java.io.FileDescriptor;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import takt.framework.Neighbours;
import takt.framework.RealtimeThread;

/** A service with one call for each thing that calls between processes do. */
class Player extends Binder {
    static final String DESCRIPTOR = "takt.test.IPlayer";
    /** An int and a string, which come back. */
    static final int ECHO = FIRST_CALL_TRANSACTION;
    /** Calls the binder back so often, each deeper, and gives all threads by number. */
    static final int DOWN = ECHO + 1;
    /** Throws what the int says. */
    static final int THROW = ECHO + 2;
    /** Caller, and what it is when cleared and restored. */
    static final int WHO = ECHO + 3;
    /** Keeps an int; oneway. */
    static final int NOTE = ECHO + 4;
    /** The ints that were kept. */
    static final int NOTES = ECHO + 5;
    /** Keeps binders, each under an int. */
    static final int KEEP = ECHO + 6;
    /** Drops all binders; gives how many proxies are left. */
    static final int DROP = ECHO + 7;
    /** How urgent the serving thread is: to the scheduler, and to a handler. */
    static final int URGENCY = ECHO + 8;
    /** Kills its process. */
    static final int DIE = ECHO + 9;
    /** Gives a binder back. */
    static final int SAME = ECHO + 10;
    /** A file of the caller's to write into. */
    static final int WRITE = ECHO + 11;
    /** A Bundle with a Messenger and a ResultReceiver, to which it sends. */
    static final int BUNDLE = ECHO + 12;
    /** Shared memory, in whose second byte it writes what the first holds. */
    static final int SHARE = ECHO + 13;
    /** Much of it. */
    static final int MUCH = ECHO + 14;

    /** What a call with THROW throws. */
    static final int SECURITY = 0;
    static final int ARGUMENT = 1;
    static final int STATE = 2;
    static final int OWN = 3;

    private final List<Integer> notes = new ArrayList<>();
    private final List<IBinder> kept = new ArrayList<>();

    Player() {
        attachInterface(null, DESCRIPTOR);
    }

    @Override
    protected boolean onTransact(int code, Parcel data, Parcel reply, int flags) throws RemoteException {
        if (code < ECHO || code > MUCH) {
            return super.onTransact(code, data, reply, flags);
        }
        data.enforceInterface(DESCRIPTOR);
        switch (code) {
            case ECHO -> echo(data, reply);
            case DOWN -> down(data, reply);
            case THROW -> throwOf(data.readInt());
            case WHO -> who(reply);
            case NOTE -> note(data.readInt());
            case NOTES -> notes(reply);
            case KEEP -> keep(data.readStrongBinder());
            case DROP -> drop(reply);
            case URGENCY -> urgency(reply);
            case DIE -> Process.killProcess(Process.myPid());
            case SAME -> same(data, reply);
            case WRITE -> write(data, reply);
            case BUNDLE -> bundle(data, reply);
            case SHARE -> share(data, reply);
            default -> much(data, reply);
        }
        return true;
    }

    private static void echo(Parcel data, Parcel reply) {
        int number = data.readInt();
        String text = data.readString();
        reply.writeNoException();
        reply.writeInt(number);
        reply.writeString(text);
    }

    private static void down(Parcel data, Parcel reply) throws RemoteException {
        IBinder other = data.readStrongBinder();
        IBinder own = data.readStrongBinder();
        int depth = data.readInt();
        List<Integer> threads = new ArrayList<>();
        threads.add(Process.myTid());
        if (depth > 0) {
            threads.addAll(Calls.down(other, own, other, depth - 1));
        }
        reply.writeNoException();
        reply.writeInt(threads.size());
        threads.forEach(reply::writeInt);
    }

    private static void throwOf(int what) {
        switch (what) {
            case SECURITY -> throw new SecurityException("no");
            case ARGUMENT -> throw new IllegalArgumentException("what");
            case STATE -> throw new IllegalStateException("not now");
            default -> throw new ArithmeticException("not carried");
        }
    }

    private static void who(Parcel reply) {
        int pid = getCallingPid();
        int uid = getCallingUid();
        long token = clearCallingIdentity();
        int cleared = getCallingPid();
        restoreCallingIdentity(token);
        reply.writeNoException();
        reply.writeInt(pid);
        reply.writeInt(uid);
        reply.writeInt(cleared == Process.myPid() ? 1 : 0);
        reply.writeInt(getCallingPid());
    }

    private synchronized void note(int number) {
        notes.add(number);
    }

    private synchronized void notes(Parcel reply) {
        reply.writeNoException();
        reply.writeInt(notes.size());
        notes.forEach(reply::writeInt);
    }

    private synchronized void keep(IBinder binder) {
        kept.add(binder);
    }

    private synchronized void drop(Parcel reply) {
        kept.clear();
        System.gc();
        reply.writeNoException();
        reply.writeString(Neighbours.dump());
    }

    private static void urgency(Parcel reply) {
        reply.writeNoException();
        reply.writeInt(scheduled());
        reply.writeInt(RealtimeThread.priority());
    }

    /** What the scheduler goes by for this thread, what is lent included; 0 for an ordinary one. */
    private static int scheduled() {
        Path stat = Path.of("/proc/self/task", Integer.toString(Process.myTid()), "stat");
        try {
            String text = Files.readString(stat);
            String[] fields = text.substring(text.lastIndexOf(')') + 2).split(" ");
            return Math.max(0, -1 - Integer.parseInt(fields[15]));
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    private static void same(Parcel data, Parcel reply) {
        IBinder binder = data.readStrongBinder();
        reply.writeNoException();
        reply.writeStrongBinder(binder);
    }

    private static void write(Parcel data, Parcel reply) {
        FileDescriptor file = data.readRawFileDescriptor();
        try {
            byte[] text = ("from " + Process.myPid()).getBytes(StandardCharsets.UTF_8);
            Os.write(file, text, 0, text.length);
            Os.close(file);
        } catch (ErrnoException | InterruptedIOException e) {
            throw new IllegalStateException(e);
        }
        reply.writeNoException();
    }

    private static void bundle(Parcel data, Parcel reply) throws RemoteException {
        Bundle bundle = data.readTypedObject(Bundle.CREATOR);
        bundle.setClassLoader(Player.class.getClassLoader());
        Messenger messenger = bundle.getParcelable("messenger", Messenger.class);
        Message message = Message.obtain(null, bundle.getInt("what"));
        message.replyTo = messenger;
        messenger.send(message);
        Bundle result = new Bundle();
        result.putBinder("binder", bundle.getBinder("binder"));
        bundle.getParcelable("receiver", ResultReceiver.class).send(Process.myPid(), result);
        reply.writeNoException();
    }

    private static void share(Parcel data, Parcel reply) {
        try (SharedMemory memory = data.readTypedObject(SharedMemory.CREATOR)) {
            ByteBuffer buffer = memory.mapReadWrite();
            buffer.put(1, buffer.get(0));
            SharedMemory.unmap(buffer);
            reply.writeNoException();
        } catch (ErrnoException e) {
            throw new SecurityException(e);
        }
    }

    private static void much(Parcel data, Parcel reply) {
        reply.writeNoException();
        reply.writeByteArray(new byte[data.readInt()]);
    }
}
