// SPDX-License-Identifier: Apache-2.0
package takt.system;

/** An application's process, as the server sees it. */
interface IApp {
    /** There are steps to be fetched. */
    oneway void look();

    /** There is an urgent step, of this priority: for the one that {@code ISystem.attachUrgent} names. */
    oneway void hurry(int priority);

    /** A provider that was acquired is there, or could not be made. */
    oneway void provided(String component, boolean isThere);

    /** Memory is short: what ComponentCallbacks2.onTrimMemory says of this level. */
    oneway void trim(int level);
}
