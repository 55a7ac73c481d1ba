// SPDX-License-Identifier: Apache-2.0
package android.os;

import android.os.MessageQueue.OnFileDescriptorEventListener;
import java.io.FileDescriptor;
import java.util.ArrayList;

/**
 * Files that a looper listens to, beside its messages. Any thread adds and removes; the looper
 * waits and calls listeners, at the priority that it has. Its lock is the last of all, and is not
 * held while a listener runs. Waiting for files allocates: it is not for real-time loopers.
 */
final class FileWatches {
    private static final int ERROR = OnFileDescriptorEventListener.EVENT_ERROR;
    /** An answer for a number that is no open file. */
    private static final int GONE = 1 << 3;

    private static final class Watch {
        final FileDescriptor file;
        final int number;
        final OnFileDescriptorEventListener listener;
        int events;

        Watch(FileDescriptor file, int number, OnFileDescriptorEventListener listener, int events) {
            this.file = file;
            this.number = number;
            this.listener = listener;
            this.events = events;
        }
    }

    private final ArrayList<Watch> watches = new ArrayList<>();
    private volatile boolean isWatching;

    /** The number of an open file; -1 for a closed one. */
    private static native int nativeNumber(FileDescriptor file);

    /** As {@link MessageQueue#nativePollUntil}, or until a file has one of its events. */
    private static native void nativeWait(long queue, long untilNanos, int[] numbers, int[] events);

    /** In place of the events those that are there; does not wait. */
    private static native void nativeLook(int[] numbers, int[] events);

    /** Is there any? */
    boolean isWatching() {
        return isWatching;
    }

    /** In place of what was there for the file. */
    void add(FileDescriptor file, int events, OnFileDescriptorEventListener listener) {
        if (file == null || listener == null) {
            throw new IllegalArgumentException((file == null ? "fd" : "listener") + " must not be null");
        }
        int number = nativeNumber(file);
        synchronized (watches) {
            watches.removeIf(it -> it.number == number);
            if (events != 0) {
                watches.add(new Watch(file, number, listener, events | ERROR));
            }
            isWatching = !watches.isEmpty();
        }
    }

    void remove(FileDescriptor file) {
        if (file == null) {
            throw new IllegalArgumentException("fd must not be null");
        }
        int number = nativeNumber(file);
        synchronized (watches) {
            // One that is closed already has no number.
            watches.removeIf(it -> it.number == number || it.file == file);
            isWatching = !watches.isEmpty();
        }
    }

    /** By the looper. */
    void await(long queue, long untilNanos) {
        Watch[] watched = snapshot();
        nativeWait(queue, untilNanos, numbers(watched), events(watched));
    }

    /** Calls the listeners of files that have events; false if none has. */
    boolean dispatch() {
        Watch[] watched = snapshot();
        int[] events = events(watched);
        nativeLook(numbers(watched), events);
        boolean isAny = false;
        for (int index = 0; index < watched.length; index++) {
            if (events[index] == GONE) {
                change(watched[index], 0);
            } else if (events[index] != 0) {
                isAny |= dispatch(watched[index], events[index]);
            }
        }
        return isAny;
    }

    private boolean dispatch(Watch watch, int seen) {
        int events;
        synchronized (watches) {
            events = watches.contains(watch) ? seen & watch.events : 0;
        }
        if (events != 0) {
            int wanted = watch.listener.onFileDescriptorEvents(watch.file, events);
            change(watch, wanted == 0 ? 0 : wanted | ERROR);
        }
        return events != 0;
    }

    /** None: the file is no longer listened to. */
    private void change(Watch watch, int events) {
        synchronized (watches) {
            watch.events = events;
            if (events == 0) {
                watches.remove(watch);
                isWatching = !watches.isEmpty();
            }
        }
    }

    private Watch[] snapshot() {
        synchronized (watches) {
            return watches.toArray(new Watch[0]);
        }
    }

    private static int[] numbers(Watch[] watched) {
        int[] numbers = new int[watched.length];
        for (int index = 0; index < watched.length; index++) {
            numbers[index] = watched[index].number;
        }
        return numbers;
    }

    private static int[] events(Watch[] watched) {
        int[] events = new int[watched.length];
        for (int index = 0; index < watched.length; index++) {
            events[index] = watched[index].events;
        }
        return events;
    }
}
