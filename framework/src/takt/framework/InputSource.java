// SPDX-License-Identifier: Apache-2.0
package takt.framework;

/**
 * What a looper takes beside its messages, in bounded time and without waiting. Who adds to it
 * wakes the looper if it had nothing. Our MessageQueue asks it, which AOSP's does not.
 */
public interface InputSource {
    int NOTHING = 0;
    int SOME = 1;
    /** There may be more than it brings in one look. */
    int MORE = 2;

    /** On the looper's thread. */
    int take();
}
