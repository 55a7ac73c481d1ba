// SPDX-License-Identifier: Apache-2.0
package takt.bench;

import android.os.Binder;
import android.os.IBinder;
import android.os.Parcel;
import android.os.Process;
import android.os.RemoteException;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import takt.framework.Natives;
import takt.framework.Neighbours;
import takt.framework.RealtimeThread;

/**
 * What {@code takt bench rpc} and {@code ipc} have Java do: one program is {@code serve}, another
 * calls it.
 *
 * <p>{@code rpc K CALLS} calls periodically beside K ordinary threads, and prints its figures.
 * {@code trips} makes for each line of its standard input, bytes and a count, so many round trips;
 * it prints how long each took.
 */
public final class CallLoad {
    /** As the native server's codes; TIMESTAMP gives the clock, ECHO gives bytes back. */
    private static final int TIMESTAMP = IBinder.FIRST_CALL_TRANSACTION;
    private static final int ECHO = TIMESTAMP + 1;

    private static final int PRIORITY = 80;
    /** Not a divisor of the kernel's tick: releases drift past it. */
    private static final long PERIOD_NANOS = 1_003_000;
    private static final int WARM_UP = 100;
    /** Calls that each ordinary thread makes before anything counts. */
    private static final int WARM_UP_ORDINARY = 2;
    private static final long BOUND_NANOS = 60_000_000_000L;

    private final IBinder remote;
    private final AtomicLong others = new AtomicLong();
    private volatile boolean isOver;
    private boolean isRealtime;

    private CallLoad(IBinder remote) {
        this.remote = remote;
    }

    /** See the class. */
    public static void main(String[] args) throws IOException, InterruptedException {
        Natives.load();
        if (args[0].equals("serve")) {
            serve();
        }
        CallLoad load = new CallLoad(Neighbours.join());
        Thread caller = new Thread(() -> load.run(args), "caller");
        caller.start();
        caller.join();
        System.exit(0);
    }

    /** Until its standard input ends. */
    private static void serve() throws IOException {
        Neighbours.listen(new Served());
        System.out.println("ready");
        while (System.in.read() >= 0) {
            // It says nothing that counts.
            continue;
        }
        System.exit(0);
    }

    /** In the thread that is measured. */
    private void run(String[] args) {
        try {
            if (args[0].equals("trips")) {
                makeTrips();
            } else {
                callBeside(Integer.parseInt(args[1]), Integer.parseInt(args[2]));
            }
        } catch (RemoteException | IOException e) {
            throw new IllegalStateException(e);
        }
    }

    private void callBeside(int callers, int calls) throws RemoteException {
        for (int index = 0; index < callers; index++) {
            Thread ordinary = new Thread(this::callOn, "ordinary-" + index);
            ordinary.setDaemon(true);
            ordinary.start();
        }
        long due = System.nanoTime() + BOUND_NANOS;
        while (others.get() < (long) callers * WARM_UP_ORDINARY) {
            if (System.nanoTime() > due) {
                throw new IllegalStateException("ordinary threads' calls are not served");
            }
            LockSupport.parkNanos(PERIOD_NANOS);
        }
        isRealtime = RealtimeThread.setPriority(Process.myTid(), PRIORITY);
        long[] there = new long[calls];
        long[] back = new long[calls];
        callPeriodically(there, back);
        isOver = true;
        System.out.println("{\"is_real_time\":" + isRealtime + ",\"others\":" + others.get() + ",\"call\":"
                + times(there) + ",\"back\":" + times(back) + "}");
    }

    private void callPeriodically(long[] there, long[] back) throws RemoteException {
        Parcel data = Parcel.obtain();
        Parcel reply = Parcel.obtain();
        long release = System.nanoTime();
        for (int index = -WARM_UP; index < there.length; index++) {
            release += PERIOD_NANOS;
            for (long left = release - System.nanoTime(); left > 0; left = release - System.nanoTime()) {
                LockSupport.parkNanos(left);
            }
            long before = System.nanoTime();
            remote.transact(TIMESTAMP, data, reply, 0);
            long after = System.nanoTime();
            long at = reply.readLong();
            if (index >= 0) {
                there[index] = at - before;
                back[index] = after - at;
            }
        }
    }

    /** An ordinary thread: calls without a pause. */
    private void callOn() {
        Parcel data = Parcel.obtain();
        Parcel reply = Parcel.obtain();
        try {
            while (!isOver) {
                remote.transact(TIMESTAMP, data, reply, 0);
                others.incrementAndGet();
            }
        } catch (RemoteException e) {
            throw new IllegalStateException(e);
        }
    }

    private static String times(long[] samples) {
        Arrays.sort(samples);
        return "{\"p50_ns\":" + at(samples, 0.5) + ",\"p99_ns\":" + at(samples, 0.99) + ",\"max_ns\":"
                + at(samples, 1) + "}";
    }

    private static long at(long[] sorted, double quantile) {
        return sorted[Math.max(0, (int) Math.ceil(quantile * sorted.length) - 1)];
    }

    private void makeTrips() throws RemoteException, IOException {
        isRealtime = RealtimeThread.setPriority(Process.myTid(), PRIORITY);
        System.out.println(isRealtime);
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
        for (String line = commands.readLine(); line != null; line = commands.readLine()) {
            String[] words = line.split(" ");
            byte[] message = new byte[Integer.parseInt(words[0])];
            Arrays.fill(message, (byte) 7);
            System.out.println(trips(message, new long[Integer.parseInt(words[1])]));
        }
    }

    private String trips(byte[] message, long[] times) throws RemoteException {
        Parcel data = Parcel.obtain();
        Parcel reply = Parcel.obtain();
        byte[] answer = new byte[message.length];
        for (int index = -WARM_UP; index < times.length; index++) {
            Arrays.fill(answer, (byte) 0);
            long start = System.nanoTime();
            data.setDataSize(0);
            data.writeByteArray(message);
            remote.transact(ECHO, data, reply, 0);
            reply.readByteArray(answer);
            long took = System.nanoTime() - start;
            if (!Arrays.equals(answer, message)) {
                throw new IllegalStateException("other bytes came back");
            }
            if (index >= 0) {
                times[index] = took;
            }
        }
        data.recycle();
        reply.recycle();
        StringBuilder text = new StringBuilder();
        for (long it : times) {
            text.append(it).append(' ');
        }
        return text.toString();
    }

    /** The node. */
    private static final class Served extends Binder {
        @Override
        protected boolean onTransact(int code, Parcel data, Parcel reply, int flags) throws RemoteException {
            switch (code) {
                case TIMESTAMP -> reply.writeLong(System.nanoTime());
                case ECHO -> reply.writeByteArray(data.createByteArray());
                default -> {
                    return super.onTransact(code, data, reply, flags);
                }
            }
            return true;
        }
    }
}
