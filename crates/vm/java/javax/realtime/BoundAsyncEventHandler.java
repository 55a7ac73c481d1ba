// SPDX-License-Identifier: Apache-2.0
package javax.realtime;

/** A handler with a thread of its own. Every handler here has one. */
public class BoundAsyncEventHandler extends AsyncEventHandler {
    /** For subclasses with {@link #handleAsyncEvent}. */
    public BoundAsyncEventHandler() {}

    /** With a priority and limits; each may be null. */
    public BoundAsyncEventHandler(SchedulingParameters scheduling, ReleaseParameters release, Runnable logic) {
        super(scheduling, release, logic);
    }
}
