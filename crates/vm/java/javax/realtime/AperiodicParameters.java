// SPDX-License-Identifier: Apache-2.0
package javax.realtime;

/** Released whenever something happens. */
public class AperiodicParameters extends ReleaseParameters {
    /** Without a limit. */
    public AperiodicParameters() {
        this(null, null, null, null);
    }

    /** See {@link PeriodicParameters}; every parameter may be null. */
    public AperiodicParameters(
            RelativeTime cost,
            RelativeTime deadline,
            AsyncEventHandler overrunHandler,
            AsyncEventHandler missHandler) {
        super(cost, deadline, overrunHandler, missHandler);
    }
}
