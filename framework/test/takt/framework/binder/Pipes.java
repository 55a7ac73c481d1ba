// SPDX-License-Identifier: Apache-2.0
package takt.framework.binder;

import android.os.Binder;
import android.os.DeadObjectException;
import android.os.IBinder;
import android.os.Parcel;
import android.os.ParcelFileDescriptor;
import android.os.Parcelable;
import android.os.Process;
import android.os.RemoteException;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.function.Consumer;

/** Files that go to another process, and the errors that follow them. */
final class Pipes extends Binder {
    private static final String DESCRIPTOR = "takt.test.IPipes";
    /** Reads a file to its end; gives the text and the error that follows. */
    private static final int READ = FIRST_CALL_TRANSACTION;
    /** Makes a pipe (0) or a pair of sockets (1); gives one end and keeps the other. */
    private static final int MAKE = READ + 1;
    /** Writes into the end that it keeps, and does away with it. */
    private static final int END = READ + 2;
    /** Reads what the other end of a pair said last, and the error that follows. */
    private static final int HEAR = READ + 3;
    /** How many pipes and sockets it has open. */
    private static final int COUNT = READ + 4;

    /** How an end is done away with. */
    private static final int CLOSE = 0;
    private static final int ERROR = 1;
    private static final int DETACH = 2;
    private static final int DIE = 3;
    /** With nothing written. */
    private static final int SHUT = 4;

    private static final String TEXT = "from the other process";
    private static final String WHY = "because";
    private static final int BYTES_MAX = 256;

    private ParcelFileDescriptor kept;

    @Override
    protected boolean onTransact(int code, Parcel data, Parcel reply, int flags) throws RemoteException {
        if (code < READ || code > COUNT) {
            return super.onTransact(code, data, reply, flags);
        }
        data.enforceInterface(DESCRIPTOR);
        try {
            switch (code) {
                case READ -> said(reply, data.readTypedObject(ParcelFileDescriptor.CREATOR), true);
                case MAKE -> make(data.readInt(), reply);
                case END -> {
                    end(kept, data.readInt());
                    reply.writeNoException();
                }
                case HEAR -> said(reply, kept, false);
                default -> {
                    reply.writeNoException();
                    reply.writeInt(files());
                }
            }
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
        return true;
    }

    private void make(int kind, Parcel reply) throws IOException {
        ParcelFileDescriptor[] ends = kind == 0 ? ParcelFileDescriptor.createReliablePipe()
                : ParcelFileDescriptor.createReliableSocketPair();
        kept = ends[1];
        reply.writeNoException();
        reply.writeTypedObject(ends[0], Parcelable.PARCELABLE_WRITE_RETURN_VALUE);
    }

    private static void said(Parcel reply, ParcelFileDescriptor file, boolean isClosed) throws IOException {
        String text = text(file);
        String error = error(file);
        if (isClosed) {
            file.close();
        }
        reply.writeNoException();
        reply.writeString(text);
        reply.writeString(error);
    }

    /** Writes, and does away with it. */
    private static void end(ParcelFileDescriptor file, int how) throws IOException {
        if (how == SHUT) {
            file.close();
            return;
        }
        FileOutputStream out = new FileOutputStream(file.getFileDescriptor());
        out.write(TEXT.getBytes(StandardCharsets.UTF_8));
        switch (how) {
            case CLOSE -> file.close();
            case ERROR -> file.closeWithError(WHY);
            case DETACH -> ParcelFileDescriptor.adoptFd(file.detachFd()).close();
            default -> Process.killProcess(Process.myPid());
        }
    }

    /** All up to the end. */
    private static String text(ParcelFileDescriptor file) throws IOException {
        // Not readNBytes, which in the JDK seeks.
        FileInputStream in = new FileInputStream(file.getFileDescriptor());
        byte[] bytes = new byte[BYTES_MAX];
        int size = 0;
        for (int read = in.read(bytes); read > 0; read = in.read(bytes, size, BYTES_MAX - size)) {
            size += read;
        }
        return new String(bytes, 0, size, StandardCharsets.UTF_8);
    }

    /** What the other end's end was; null if it was in order. */
    private static String error(ParcelFileDescriptor file) {
        try {
            file.checkError();
            return null;
        } catch (IOException e) {
            return e.getClass().getSimpleName() + ": " + e.getMessage();
        }
    }

    /** Says a line for each thing that it sees of another process's. */
    static void check(IBinder pipes) throws RemoteException, IOException, InterruptedException {
        Peer.check("a pipe without errors", isRead(pipes, ParcelFileDescriptor.createPipe(), CLOSE, null));
        // The first file that is closed makes a pair of sockets, which stays.
        int ours = files();
        int theirs = count(pipes);
        Peer.check("a reliable pipe is closed", isRead(pipes, ParcelFileDescriptor.createReliablePipe(), CLOSE, null));
        Peer.check("a reliable pipe's error", isRead(pipes, ParcelFileDescriptor.createReliablePipe(), ERROR,
                "IOException: Remote error: " + WHY));
        Peer.check("a reliable pipe's end is detached", isRead(pipes, ParcelFileDescriptor.createReliablePipe(), DETACH,
                "FileDescriptorDetachedException: Remote side is detached"));
        Peer.check("a reliable pair's error", isRead(pipes, ParcelFileDescriptor.createReliableSocketPair(), ERROR,
                "IOException: Remote error: " + WHY));
        for (int kind = 0; kind <= 1; kind++) {
            Peer.check("theirs of kind " + kind + " is closed", isHeard(pipes, kind, CLOSE, null));
            Peer.check("theirs of kind " + kind + " has an error", isHeard(pipes, kind, ERROR,
                    "IOException: Remote error: " + WHY));
        }
        Peer.check("a pair's errors go both ways", isToldBack(pipes));
        Peer.check("no file is left here", Keeper.await(() -> files() == ours));
        Peer.check("no file is left there", count(pipes) == theirs);
        Peer.check("the other process dies", isDead(pipes));
    }

    /** What we write into one end is read there out of the other, and then the error. */
    private static boolean isRead(IBinder pipes, ParcelFileDescriptor[] ends, int how, String error)
            throws RemoteException, IOException {
        end(ends[1], how);
        // Handed over: to close this end of it would be an answer.
        Said said = of(pipes, READ, data -> data.writeTypedObject(ends[0], Parcelable.PARCELABLE_WRITE_RETURN_VALUE));
        return said.equals(new Said(TEXT, error));
    }

    /** The same, of ends that the other process makes. */
    private static boolean isHeard(IBinder pipes, int kind, int how, String error) throws RemoteException, IOException {
        try (ParcelFileDescriptor file = made(pipes, kind)) {
            call(pipes, END, data -> data.writeInt(how)).recycle();
            return file.canDetectErrors() && text(file).equals(TEXT)
                    && (error == null ? error(file) == null : error.equals(error(file)));
        }
    }

    private static boolean isToldBack(IBinder pipes) throws RemoteException, IOException {
        end(made(pipes, 1), ERROR);
        Said said = of(pipes, HEAR, data -> {});
        boolean isTold = said.equals(new Said(TEXT, "IOException: Remote error: " + WHY));
        call(pipes, END, data -> data.writeInt(SHUT)).recycle();
        return isTold;
    }

    private static boolean isDead(IBinder pipes) throws RemoteException, IOException, InterruptedException {
        try (ParcelFileDescriptor file = made(pipes, 0)) {
            try {
                call(pipes, END, data -> data.writeInt(DIE)).recycle();
                return false;
            } catch (DeadObjectException e) {
                // A process that ends closes one file after the other: the error's may be the last.
                return text(file).equals(TEXT)
                        && Keeper.await(() -> "IOException: Remote side is dead".equals(error(file)));
            }
        }
    }

    private static ParcelFileDescriptor made(IBinder pipes, int kind) throws RemoteException {
        Parcel reply = call(pipes, MAKE, data -> data.writeInt(kind));
        ParcelFileDescriptor file = reply.readTypedObject(ParcelFileDescriptor.CREATOR);
        reply.recycle();
        return file;
    }

    private static int count(IBinder pipes) throws RemoteException {
        Parcel reply = call(pipes, COUNT, data -> {});
        int count = reply.readInt();
        reply.recycle();
        return count;
    }

    /** What READ and HEAR give. */
    private record Said(String text, String error) {}

    private static Said of(IBinder pipes, int code, Consumer<Parcel> in) throws RemoteException {
        Parcel reply = call(pipes, code, in);
        Said said = new Said(reply.readString(), reply.readString());
        reply.recycle();
        return said;
    }

    private static Parcel call(IBinder pipes, int code, Consumer<Parcel> in) throws RemoteException {
        Parcel data = Parcel.obtain();
        Parcel reply = Parcel.obtain();
        data.writeInterfaceToken(DESCRIPTOR);
        in.accept(data);
        pipes.transact(code, data, reply, 0);
        data.recycle();
        reply.readException();
        return reply;
    }

    /** Pipes and sockets that are open. */
    private static int files() {
        return Keeper.count("fd", name -> {
            String kind = Keeper.kindOf(name);
            return kind.startsWith("pipe") || kind.startsWith("socket");
        });
    }
}
