// SPDX-License-Identifier: Apache-2.0
package takt.test;

/** What programs of another Binder library do for ours, and ours for them. */
interface IPeer {
    @nullable String echo(@nullable String text);
    /** The process that calls, by the kernel's word. */
    int caller();
    /** A field of the serving thread's `stat` in /proc, as proc(5) numbers them. */
    int stat(int field);
    /** Keeps the binder; gives back the one before. */
    @nullable IBinder keep(@nullable IBinder binder);
    /** Thread numbers from the deepest call up, by turns between `back` and this one. */
    int[] threads(IPeer back, int depth);
    /** The other end of a stream that says what is written to it, once. */
    ParcelFileDescriptor stream(String text);
    /** Fails with a code of its own. */
    void fail(int code);
    oneway void tell(int number);
    /** What was told, in order. */
    int[] told();
    /** The process ends in the middle of the call. */
    void die();
}
