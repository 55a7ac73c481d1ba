// SPDX-License-Identifier: Apache-2.0
package javax.realtime;

import java.util.concurrent.atomic.AtomicInteger;

/**
 * What runs when an event happens: in a thread of its own, at its own priority, once for each time
 * it was released.
 */
public class AsyncEventHandler implements Schedulable {
    private final Runnable logic;
    private final AtomicInteger fireCount = new AtomicInteger();
    private SchedulingParameters scheduling;
    private ReleaseParameters release;
    private boolean isDaemon = true;
    private volatile Server server;

    /** For subclasses with {@link #handleAsyncEvent}. */
    public AsyncEventHandler() {
        this(null, null, null);
    }

    /** Runs something. */
    public AsyncEventHandler(Runnable logic) {
        this(null, null, logic);
    }

    /** With a priority and limits; each may be null. */
    public AsyncEventHandler(SchedulingParameters scheduling, ReleaseParameters release, Runnable logic) {
        this.scheduling = scheduling == null
                ? new PriorityParameters(PriorityScheduler.instance().getNormPriority())
                : scheduling;
        this.release = release;
        this.logic = logic;
    }

    /** The reaction. */
    public void handleAsyncEvent() {
        if (logic != null) {
            logic.run();
        }
    }

    /** Reacts until there is nothing left to react to. For the handler's thread. */
    @Override
    public final void run() {
        while (getAndDecrementPendingFireCount() > 0) {
            handleAsyncEvent();
        }
    }

    /** Releases this handler. */
    final void release() {
        fireCount.incrementAndGet();
        Server started = server;
        if (started != null) {
            Machine.fire(started.record());
        }
    }

    final synchronized void startServer() {
        if (server == null) {
            Server started = new Server(this);
            started.setDaemon(isDaemon);
            started.start();
            server = started;
            if (getPendingFireCount() > 0) {
                Machine.fire(started.record());
            }
        }
    }

    /** Releases not yet reacted to. */
    protected int getPendingFireCount() {
        return fireCount.get();
    }

    /** As {@link #getPendingFireCount}, one more afterwards. */
    protected int getAndIncrementPendingFireCount() {
        return fireCount.getAndIncrement();
    }

    /** As {@link #getPendingFireCount}, one less afterwards unless it was zero. */
    protected int getAndDecrementPendingFireCount() {
        int count = fireCount.get();
        while (count > 0 && !fireCount.compareAndSet(count, count - 1)) {
            count = fireCount.get();
        }
        return count;
    }

    /** As {@link #getPendingFireCount}, zero afterwards. */
    protected int getAndClearPendingFireCount() {
        return fireCount.getAndSet(0);
    }

    /** Whether its thread keeps nobody from ending the program: so it is at first. */
    public final boolean isDaemon() {
        return isDaemon;
    }

    /** Before it is a handler of anything. */
    public final void setDaemon(boolean isDaemon) {
        this.isDaemon = isDaemon;
    }

    @Override
    public SchedulingParameters getSchedulingParameters() {
        return scheduling;
    }

    @Override
    public void setSchedulingParameters(SchedulingParameters scheduling) {
        this.scheduling = scheduling;
        Server started = server;
        if (started != null) {
            started.setSchedulingParameters(scheduling);
        }
    }

    @Override
    public ReleaseParameters getReleaseParameters() {
        return release;
    }

    @Override
    public void setReleaseParameters(ReleaseParameters release) {
        this.release = release;
    }

    @Override
    public Scheduler getScheduler() {
        return PriorityScheduler.instance();
    }

    /** The thread of one handler. */
    private static final class Server extends RealtimeThread {
        private final AsyncEventHandler handler;

        Server(AsyncEventHandler handler) {
            super(handler.scheduling);
            this.handler = handler;
            setName("handler " + getName());
        }

        @Override
        Object[] roots() {
            Object[] roots = {this, handler, handler.logic};
            return roots;
        }

        @Override
        public void run() {
            while (!isInterrupted()) {
                Machine.waitForFire(record());
                while (handler.getPendingFireCount() > 0) {
                    try {
                        handler.run();
                    } catch (Throwable thrown) { // As of an event loop: the next event is handled all the same.
                        getUncaughtExceptionHandler().uncaughtException(this, thrown);
                    }
                }
            }
        }
    }
}
