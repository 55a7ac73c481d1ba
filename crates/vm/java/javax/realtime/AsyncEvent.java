// SPDX-License-Identifier: Apache-2.0
package javax.realtime;

import java.util.Arrays;

/** Something that happens, and releases its handlers. */
public class AsyncEvent {
    private volatile AsyncEventHandler[] handlers = {};

    /** Without handlers. */
    public AsyncEvent() {}

    /** One more handler, unless it is one already. Starts its thread. */
    public synchronized void addHandler(AsyncEventHandler handler) {
        if (handler == null || handledBy(handler)) {
            return;
        }
        handler.startServer();
        AsyncEventHandler[] more = Arrays.copyOf(handlers, handlers.length + 1);
        more[handlers.length] = handler;
        handlers = more;
    }

    /** This handler alone; null is none. */
    public synchronized void setHandler(AsyncEventHandler handler) {
        handlers = new AsyncEventHandler[0];
        addHandler(handler);
    }

    /** One handler less. Its thread stays, for other events. */
    public synchronized void removeHandler(AsyncEventHandler handler) {
        handlers = Arrays.stream(handlers).filter(it -> it != handler).toArray(AsyncEventHandler[]::new);
    }

    /** Whether this is one of the handlers. */
    public boolean handledBy(AsyncEventHandler handler) {
        return Arrays.asList(handlers).contains(handler);
    }

    /** Parameters for a handler of this event. */
    public ReleaseParameters createReleaseParameters() {
        return new AperiodicParameters();
    }

    /** It happens: one system call per handler that waits. Takes no lock, allocates nothing. */
    public void fire() {
        for (AsyncEventHandler handler : handlers) {
            handler.release();
        }
    }
}
