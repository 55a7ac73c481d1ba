// SPDX-License-Identifier: Apache-2.0
package takt.framework.binder;

import android.os.Bundle;
import android.os.IBinder;
import android.os.RemoteException;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import takt.test.IGolden;
import takt.test.IGoldenCallback;

/** The golden interface, by the stubs that Debian's aidl makes. */
final class Golden extends IGolden.Stub {
    private static final long BOUND_SECONDS = 20;

    private volatile IGoldenCallback callback;

    /** Says a line for each call of it, over whatever lies between. */
    static void check(IGolden golden) throws RemoteException {
        Peer.check("golden: numbers", !golden.not(true) && golden.negative(7) == -7 && golden.half(5) == 2.5
                && golden.twice(1L << 40) == 1L << 41);
        Peer.check("golden: text", golden.greet("\u00e4").equals("hello \u00e4") && golden.greet(null) == null
                && golden.words("a b").equals(List.of("a", "b")));
        int[] filled = new int[3];
        golden.fill(filled);
        int[] sorted = {3, 1, 2};
        golden.sort(sorted);
        String[] joined = golden.joined(new String[] {"a"}, new String[] {"b", null});
        Peer.check("golden: arrays", Arrays.equals(golden.reversed(new byte[] {1, 2}), new byte[] {2, 1})
                && Arrays.equals(filled, new int[] {0, 1, 2}) && Arrays.equals(sorted, new int[] {1, 2, 3})
                && Arrays.equals(joined, new String[] {"a", "b", null}));
        Bundle bundle = new Bundle();
        bundle.putInt("number", 1);
        Bundle with = golden.with(bundle, "key", "value");
        Peer.check("golden: parcelable", with.getInt("number") == 1 && with.getString("key").equals("value"));
        Peer.check("golden: binders", golden.same(golden.asBinder()) == golden.asBinder());
        Peer.check("golden: oneway and callback", isTold(golden));
        Peer.check("golden: exception", isRefused(golden));
    }

    private static boolean isTold(IGolden golden) throws RemoteException {
        BlockingQueue<Integer> told = new LinkedBlockingQueue<>();
        golden.watch(new IGoldenCallback.Stub() {
            @Override
            public void told(int number) {
                told.add(number);
            }
        });
        golden.tell(1);
        golden.tell(2);
        try {
            return Integer.valueOf(1).equals(told.poll(BOUND_SECONDS, TimeUnit.SECONDS))
                    && Integer.valueOf(2).equals(told.poll(BOUND_SECONDS, TimeUnit.SECONDS));
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private static boolean isRefused(IGolden golden) throws RemoteException {
        try {
            golden.refuse("because");
            return false;
        } catch (IllegalArgumentException e) {
            return e.getMessage().equals("because");
        }
    }

    @Override
    public boolean not(boolean value) {
        return !value;
    }

    @Override
    public int negative(int value) {
        return -value;
    }

    @Override
    public long twice(long value) {
        return 2 * value;
    }

    @Override
    public double half(double value) {
        return value / 2;
    }

    @Override
    public String greet(String name) {
        return name == null ? null : "hello " + name;
    }

    @Override
    public byte[] reversed(byte[] bytes) {
        byte[] reversed = new byte[bytes.length];
        for (int index = 0; index < bytes.length; index++) {
            reversed[index] = bytes[bytes.length - 1 - index];
        }
        return reversed;
    }

    @Override
    public void fill(int[] numbers) {
        Arrays.setAll(numbers, it -> it);
    }

    @Override
    public void sort(int[] numbers) {
        Arrays.sort(numbers);
    }

    @Override
    public List<String> words(String text) {
        return Arrays.asList(text.split(" "));
    }

    @Override
    public String[] joined(String[] left, String[] right) {
        String[] joined = Arrays.copyOf(left, left.length + right.length);
        System.arraycopy(right, 0, joined, left.length, right.length);
        return joined;
    }

    @Override
    public Bundle with(Bundle bundle, String key, String value) {
        bundle.putString(key, value);
        return bundle;
    }

    @Override
    public IBinder same(IBinder binder) {
        return binder;
    }

    @Override
    public void watch(IGoldenCallback watcher) {
        callback = watcher;
    }

    @Override
    public void tell(int number) {
        try {
            callback.told(number);
        } catch (RemoteException e) {
            throw e.rethrowFromSystemServer();
        }
    }

    @Override
    public void refuse(String why) {
        throw new IllegalArgumentException(why);
    }
}
