// SPDX-License-Identifier: Apache-2.0
package takt.framework;

import android.os.IBinder;
import android.util.Log;
import java.io.IOException;
import java.io.UncheckedIOException;

/**
 * Another process of Takt's, found by the path of a socket: one process listens there, others join
 * it, and each of these is given the listener's root.
 *
 * <p>This stands in for the system server until there is one.
 */
public final class Neighbours {
    /** The property with the path at which this process listens. */
    public static final String LISTEN = "takt.binder.listen";
    /** The property with the path that this process joins. */
    public static final String JOIN = "takt.binder.join";

    private static final String TAG = "Takt";
    /** In which the one that listens has begun. */
    private static final long BEGIN_MILLIS = 20_000;

    private Neighbours() {}

    /** Listens if the property says so, and gives everybody who comes the root. */
    public static void listen(IBinder root) {
        String path = System.getProperty(LISTEN);
        if (path == null) {
            return;
        }
        try {
            listen(path, root);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        Thread thread = new Thread(Neighbours::admitAll, "neighbours");
        thread.setDaemon(true);
        thread.start();
    }

    private static void admitAll() {
        while (true) {
            try {
                admit();
            } catch (IOException e) {
                Log.w(TAG, e.getMessage());
            }
        }
    }

    /** The root of the process that the property names; null without one. */
    public static IBinder join() {
        String path = System.getProperty(JOIN);
        if (path == null) {
            return null;
        }
        try {
            return join(path, BEGIN_MILLIS);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /**
     * The root of the process that has started this one, at the socket that is its standard input:
     * which it is no more then.
     */
    public static IBinder joinParent(long millis) {
        try {
            return joinStandardInput(millis);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /**
     * What a service throws and no caller can be told: an Error, which ends an application, or an
     * exception that no parcel carries.
     */
    static void uncaught(Throwable e) {
        if (e instanceof Error) {
            Thread thread = Thread.currentThread();
            thread.getUncaughtExceptionHandler().uncaughtException(thread, e);
            return;
        }
        Log.e("JavaBinder", "*** Uncaught remote exception!  (Exceptions are not yet supported across processes.)", e);
    }

    /** Loopers, links and references of this process, for a person. */
    public static native String dump();

    private static native void listen(String path, IBinder root) throws IOException;

    private static native void admit() throws IOException;

    private static native IBinder joinStandardInput(long millis) throws IOException;

    private static native IBinder join(String path, long millis) throws IOException;
}
