// SPDX-License-Identifier: Apache-2.0
package takt.framework.binder;

import android.os.Binder;
import android.os.Bundle;
import android.os.DeadObjectException;
import android.os.Handler;
import android.os.HandlerThread;
import android.os.IBinder;
import android.os.Message;
import android.os.Messenger;
import android.os.Parcel;
import android.os.Process;
import android.os.RemoteException;
import android.os.ResultReceiver;
import android.os.ServiceManager;
import android.os.SharedMemory;
import android.os.TransactionTooLargeException;
import android.system.ErrnoException;
import android.system.Os;
import android.system.OsConstants;
import java.io.FileDescriptor;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.lang.ref.WeakReference;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import takt.framework.Natives;
import takt.framework.RealtimeThread;
import takt.test.IGolden;

/**
 * One of two programs that call each other: {@code serve} has a {@link Player}, {@code call} says
 * a line for each thing that it has seen of it. See tests/e2e/tests/binder.rs.
 */
public final class Peer {
    private static final String NAME = "player";
    private static final String GOLDEN = "golden";
    private static final String PIPES = "pipes";
    /** Time in which anything comes that has to. */
    private static final long BOUND_MILLIS = 20_000;
    private static final int PRIORITY = 20;
    private static final int NOTES = 50;
    private static final int KEPT = 20;

    private static int failures;

    private Peer() {}

    /** The part. */
    public static void main(String[] arguments) throws RemoteException, IOException, InterruptedException {
        Natives.load();
        switch (arguments[0]) {
            case "serve" -> serve();
            case "call" -> call(arguments.length > 1 ? arguments[1] : NAME);
            case "golden" -> golden();
            case "keep" -> Keeper.keep(Integer.parseInt(arguments[1]));
            case "victim" -> victim(arguments[1]);
            case "calls" -> Keeper.callOn(arguments[1]);
            case "pipes" -> Pipes.check(await(PIPES));
            default -> throw new IllegalArgumentException(arguments[0]);
        }
        System.exit(failures);
    }

    private static void serve() throws IOException {
        ServiceManager.addService(NAME, new Player());
        ServiceManager.addService(GOLDEN, new Golden());
        ServiceManager.addService(PIPES, new Pipes());
        System.out.println("ready");
        System.in.read();
    }

    private static void victim(String name) throws IOException {
        ServiceManager.addService(name, new Player());
        System.in.read();
    }

    /** The service of this name may be a third process's. */
    private static void call(String name) throws RemoteException, InterruptedException {
        IBinder player = await(name);
        Player own = new Player();
        check("echo", isEchoed(player));
        check("ping", player.pingBinder() && player.isBinderAlive());
        check("descriptor", Player.DESCRIPTOR.equals(player.getInterfaceDescriptor()));
        check("no local interface", player.queryLocalInterface(Player.DESCRIPTOR) == null);
        check("same proxy", player == ServiceManager.getService(name));
        check("same proxy out of a parcel", player == Calls.same(player, player));
        check("own object comes back", own == Calls.same(player, own));
        check("null comes back", Calls.same(player, null) == null);
        check("unknown code", !player.transact(Player.MUCH + 1, Parcel.obtain(), Parcel.obtain(), 0));
        check("call back on the waiting thread", isNested(player, own));
        exceptions(player);
        check("caller", isCaller(player));
        check("oneway in order", isInOrder(player));
        check("an interrupted thread's call", isAnsweredAllTheSame(player));
        check("too large", isTooLarge(player));
        check("references are let go", areLetGo(player));
        check("priority", isLent(player));
        check("a message carries the priority", isCarried(player));
        check("a file", isWritten(player));
        check("bundle, messenger, receiver", isAnswered(player));
        check("shared memory", isShared(player));
        golden();
        death(player);
    }

    private static void golden() throws RemoteException, InterruptedException {
        Golden.check(IGolden.Stub.asInterface(await(GOLDEN)));
    }

    private static boolean isEchoed(IBinder player) throws RemoteException {
        for (int index = 0; index < 1000; index++) {
            if (!Calls.echo(player, index, "\u00e4\ud83d\ude00").equals(index + "\u00e4\ud83d\ude00")) {
                return false;
            }
        }
        return true;
    }

    /** No call ends because its thread is interrupted, as on Android. */
    private static boolean isAnsweredAllTheSame(IBinder player) throws RemoteException {
        Thread.currentThread().interrupt();
        boolean isAnswered = Calls.echo(player, 1, "x").equals("1x");
        return Thread.interrupted() && isAnswered;
    }

    /** Threads take turns: all calls to one end arrive on one thread of it. */
    private static boolean isNested(IBinder player, Player own) throws RemoteException {
        List<Integer> threads = Calls.down(player, own, player, 5);
        boolean isNested = threads.size() == 6;
        for (int index = 0; index < threads.size(); index++) {
            boolean isOurs = index % 2 == 1;
            isNested &= (threads.get(index) == Process.myTid()) == isOurs;
            isNested &= threads.get(index).equals(threads.get(index % 2));
        }
        return isNested;
    }

    private static void exceptions(IBinder player) throws RemoteException {
        check("SecurityException", thrown(player, Player.SECURITY) instanceof SecurityException e
                && e.getMessage().equals("no"));
        check("IllegalArgumentException", thrown(player, Player.ARGUMENT) instanceof IllegalArgumentException);
        check("IllegalStateException", thrown(player, Player.STATE) instanceof IllegalStateException);
        Parcel data = Parcel.obtain();
        data.writeInterfaceToken(Player.DESCRIPTOR);
        data.writeInt(Player.OWN);
        check("an exception that no parcel carries", !player.transact(Player.THROW, data, Parcel.obtain(), 0));
        Parcel foreign = Parcel.obtain();
        foreign.writeInterfaceToken("takt.test.IOther");
        Parcel reply = Parcel.obtain();
        player.transact(Player.ECHO, foreign, reply, 0);
        try {
            reply.readException();
            check("another interface's token", false);
        } catch (SecurityException e) {
            check("another interface's token", true);
        }
    }

    private static RuntimeException thrown(IBinder player, int what) throws RemoteException {
        try {
            Calls.of(player, Player.THROW, data -> data.writeInt(what), reply -> null);
            return null;
        } catch (RuntimeException e) {
            return e;
        }
    }

    private static boolean isCaller(IBinder player) throws RemoteException {
        return Calls.of(player, Player.WHO, data -> {}, reply -> {
            boolean isOurs = reply.readInt() == Process.myPid() && reply.readInt() == Process.myUid();
            return isOurs && reply.readInt() == 1 && reply.readInt() == Process.myPid();
        }) && Binder.getCallingPid() == Process.myPid();
    }

    private static boolean isInOrder(IBinder player) throws RemoteException, InterruptedException {
        List<Integer> expected = new ArrayList<>();
        for (int index = 0; index < NOTES; index++) {
            int number = index;
            expected.add(number);
            Calls.send(player, Player.NOTE, data -> data.writeInt(number));
        }
        long due = System.currentTimeMillis() + BOUND_MILLIS;
        List<Integer> notes;
        do {
            Thread.sleep(1);
            notes = Calls.of(player, Player.NOTES, data -> {}, Calls::ints);
        } while (notes.size() < NOTES && System.currentTimeMillis() < due);
        return notes.equals(expected);
    }

    private static boolean isTooLarge(IBinder player) throws RemoteException {
        boolean isRefused = false;
        try {
            Calls.of(player, Player.ECHO, data -> data.writeByteArray(new byte[1 << 20]), reply -> null);
        } catch (TransactionTooLargeException e) {
            isRefused = true;
        }
        boolean isAnswerRefused = false;
        try {
            Calls.of(player, Player.MUCH, data -> data.writeInt(1 << 20), reply -> null);
        } catch (TransactionTooLargeException e) {
            isAnswerRefused = true;
        }
        int size = (1 << 20) - 64;
        byte[] much = Calls.of(player, Player.MUCH, data -> data.writeInt(size), Parcel::createByteArray);
        return isRefused && isAnswerRefused && much.length == size;
    }

    /** The collector frees the service's proxies, which lets go of our objects. */
    private static boolean areLetGo(IBinder player) throws RemoteException, InterruptedException {
        List<WeakReference<Binder>> binders = new ArrayList<>();
        for (int index = 0; index < KEPT; index++) {
            Binder binder = new Binder();
            Calls.keep(player, binder);
            binders.add(new WeakReference<>(binder));
        }
        System.gc();
        boolean areKept = binders.stream().noneMatch(it -> it.get() == null);
        long due = System.currentTimeMillis() + BOUND_MILLIS;
        boolean isGone;
        do {
            Calls.of(player, Player.DROP, data -> {}, Parcel::readString);
            System.gc();
            Thread.sleep(10);
            isGone = binders.stream().allMatch(it -> it.get() == null);
        } while (!isGone && System.currentTimeMillis() < due);
        return areKept && isGone;
    }

    /** Without the right to a priority, that of an ordinary thread is none. */
    private static boolean isLent(IBinder player) throws RemoteException {
        boolean isGranted = RealtimeThread.setPriority(Process.myTid(), PRIORITY);
        int expected = isGranted ? PRIORITY : 0;
        List<Integer> urgent = urgency(player);
        RealtimeThread.setPriority(Process.myTid(), 0);
        List<Integer> ordinary = urgency(player);
        return urgent.equals(List.of(expected, expected)) && ordinary.equals(List.of(0, 0));
    }

    /** A call back posts a message to a looper of ours: it runs at what our own thread waits at. */
    private static boolean isCarried(IBinder player) throws RemoteException, InterruptedException {
        HandlerThread thread = new HandlerThread("urgent");
        thread.start();
        Handler handler = new Handler(thread.getLooper());
        BlockingQueue<Integer> seen = new LinkedBlockingQueue<>();
        Binder posting = new Player() {
            @Override
            protected boolean onTransact(int code, Parcel data, Parcel reply, int flags) {
                handler.post(() -> seen.add(RealtimeThread.priority()));
                reply.writeNoException();
                reply.writeInt(0);
                return true;
            }
        };
        boolean isGranted = RealtimeThread.setPriority(Process.myTid(), PRIORITY);
        Calls.down(player, posting, player, 1);
        RealtimeThread.setPriority(Process.myTid(), 0);
        Calls.down(player, posting, player, 1);
        boolean isCarried = taken(seen) == (isGranted ? PRIORITY : 0) && taken(seen) == 0;
        thread.quit();
        return isCarried;
    }

    private static <T> T taken(BlockingQueue<T> queue) throws InterruptedException {
        return queue.poll(BOUND_MILLIS, TimeUnit.MILLISECONDS);
    }

    /** The end of a pipe goes to the other process, which closes its copies. */
    private static boolean isWritten(IBinder player) throws RemoteException {
        try {
            FileDescriptor[] pipe = Os.pipe2(0);
            Calls.of(player, Player.WRITE, data -> data.writeFileDescriptor(pipe[1]), reply -> null);
            Os.close(pipe[1]);
            byte[] bytes = new byte[64];
            int size = Os.read(pipe[0], bytes, 0, bytes.length);
            int end = Os.read(pipe[0], bytes, size, bytes.length - size);
            Os.close(pipe[0]);
            String text = new String(bytes, 0, size, StandardCharsets.UTF_8);
            return end == 0 && text.startsWith("from ") && !text.equals("from " + Process.myPid());
        } catch (ErrnoException | InterruptedIOException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Each sees what the other writes; without the right to write the other has none. */
    private static boolean isShared(IBinder player) throws RemoteException {
        try (SharedMemory memory = SharedMemory.create("peer", 5000)) {
            ByteBuffer buffer = memory.mapReadWrite();
            buffer.put(0, (byte) 7);
            Calls.of(player, Player.SHARE, data -> data.writeTypedObject(memory, 0), reply -> null);
            boolean isSeen = buffer.get(1) == 7 && memory.getSize() == 5000;
            boolean isSealed = memory.setProtect(OsConstants.PROT_READ);
            boolean isRefused = false;
            try {
                Calls.of(player, Player.SHARE, data -> data.writeTypedObject(memory, 0), reply -> null);
            } catch (SecurityException e) {
                isRefused = true;
            }
            ByteBuffer onlyRead = memory.mapReadOnly();
            boolean isRead = onlyRead.isReadOnly() && onlyRead.get(0) == 7;
            SharedMemory.unmap(onlyRead);
            SharedMemory.unmap(buffer);
            return isSeen && isSealed && isRefused && isRead && buffer.get(0) == 0;
        } catch (ErrnoException e) {
            throw new IllegalStateException(e);
        }
    }

    private static boolean isAnswered(IBinder player) throws RemoteException, InterruptedException {
        HandlerThread thread = new HandlerThread("answers");
        thread.start();
        BlockingQueue<Message> messages = new LinkedBlockingQueue<>();
        BlockingQueue<Bundle> results = new LinkedBlockingQueue<>();
        Handler handler = new Handler(thread.getLooper(), message -> messages.add(Message.obtain(message)));
        Messenger messenger = new Messenger(handler);
        Binder own = new Binder();
        Bundle bundle = new Bundle();
        bundle.putInt("what", 7);
        bundle.putBinder("binder", own);
        bundle.putParcelable("messenger", messenger);
        bundle.putParcelable("receiver", new ResultReceiver(handler) {
            @Override
            protected void onReceiveResult(int code, Bundle result) {
                results.add(result);
            }
        });
        Calls.of(player, Player.BUNDLE, data -> data.writeTypedObject(bundle, 0), reply -> null);
        Message message = taken(messages);
        Bundle result = taken(results);
        thread.quit();
        return message.what == 7 && messenger.equals(message.replyTo) && result.getBinder("binder") == own;
    }

    private static List<Integer> urgency(IBinder player) throws RemoteException {
        return Calls.of(player, Player.URGENCY, data -> {}, reply -> List.of(reply.readInt(), reply.readInt()));
    }

    private static void death(IBinder player) throws RemoteException, InterruptedException {
        AtomicInteger notices = new AtomicInteger();
        AtomicInteger unlinked = new AtomicInteger();
        IBinder.DeathRecipient taken = unlinked::incrementAndGet;
        player.linkToDeath(notices::incrementAndGet, 0);
        player.linkToDeath(taken, 0);
        check("unlinkToDeath", player.unlinkToDeath(taken, 0));
        try {
            player.unlinkToDeath(taken, 0);
            check("a recipient that was never linked", false);
        } catch (java.util.NoSuchElementException e) {
            check("a recipient that was never linked", true);
        }
        check("DeadObjectException", isDead(() -> Calls.of(player, Player.DIE, data -> {}, reply -> null)));
        long due = System.currentTimeMillis() + BOUND_MILLIS;
        while (notices.get() == 0 && System.currentTimeMillis() < due) {
            Thread.sleep(1);
        }
        Thread.sleep(50);
        check("death is told once", notices.get() == 1 && unlinked.get() == 0);
        check("dead", !player.isBinderAlive() && !player.pingBinder());
        check("dead to calls", isDead(() -> Calls.echo(player, 0, "")));
        check("dead to recipients", isDead(() -> player.linkToDeath(taken, 0)));
    }

    /** What may find its peer dead. */
    interface Call {
        void run() throws RemoteException;
    }

    static boolean isDead(Call call) throws RemoteException {
        try {
            call.run();
            return false;
        } catch (DeadObjectException e) {
            return true;
        }
    }

    static IBinder await(String name) throws InterruptedException {
        long due = System.currentTimeMillis() + BOUND_MILLIS;
        IBinder found = ServiceManager.getService(name);
        while (found == null && System.currentTimeMillis() < due) {
            Thread.sleep(2);
            found = ServiceManager.getService(name);
        }
        if (found == null) {
            throw new IllegalStateException("no service " + name);
        }
        return found;
    }

    static void check(String what, boolean isSo) {
        System.out.println((isSo ? "yes " : "NO  ") + what);
        failures += isSo ? 0 : 1;
    }

}
