// SPDX-License-Identifier: Apache-2.0
package android.os;

import android.util.Log;
import android.util.Printer;
import android.util.proto.ProtoOutputStream;
import java.io.FileDescriptor;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import takt.framework.Cleaner;
import takt.framework.InputSource;
import takt.framework.RealtimeThread;

/**
 * The queue of a {@link Looper}, in front of AOSP's class of the same name: messages have a
 * priority and times in nanoseconds; ordinary messages keep AOSP's order.
 *
 * <p>A message has its sender's real-time priority (0 for ordinary threads). The due message of the
 * highest priority is next; equal priorities keep time and arrival. A sender leaves its message
 * without taking a lock (an ordinary one takes that of {@link OrdinaryMessages} behind {@link
 * #UNSORTED_MAX} others). The next look into the queue sorts in what arrived, once, in O(1) if
 * it is due and O(log n) if it is delayed, the most urgent first; the looper only as far as it may
 * come before what is due. At most {@link #REALTIME_PENDING_MAX} real-time messages wait at once;
 * one more is refused and counted.
 *
 * <p>The looper's thread runs at the priority of what it dispatches. A sender that adds a more
 * urgent due message raises it with one system call; {@code rt::sync::boost} has the protocol, and
 * why no raise is lost. A message that becomes due while another is dispatched waits for that one
 * at that one's priority.
 *
 * <p>Lock order: this queue's (idle handlers, tokens of barriers), {@link OrdinaryMessages}',
 * {@link UrgentMessages}'; {@link FileWatches}' alone.
 */
public final class MessageQueue {
    private static final String TAG = "MessageQueue";

    /** Real-time messages that may wait at once: far more than AOSP recycles of all kinds (50). */
    public static final int REALTIME_PENDING_MAX = 1024;
    /**
     * Ordinary arrivals that nobody has sorted in; a sender that finds more sorts in {@link
     * #SENDER_STEPS} times some.
     */
    private static final int UNSORTED_MAX = 4096;
    private static final int SENDER_STEPS = 16;
    private static final long NANOS_PER_MILLI = 1_000_000;
    /**
     * Times that the looper waits for an offer: senders for ever earlier times would thwart each.
     */
    private static final int WAITS_MAX = 8;
    private static final int IDLE_HANDLERS_FIRST = 4;
    /** Values of {@link #rest}. */
    static final int AWAKE = 0;
    private static final int ASLEEP = 1;
    private static final int BEING_WOKEN = 2;
    private static final int BEHIND_SORTERS = 3;
    /** Answers of {@link #nativeAnnounce}, besides that the looper was urgent enough. */
    private static final int RAISED = 1;
    private static final int REFUSED = 2;
    /** Answers of {@link #nativeSettle}. */
    private static final int SETTLED = 0;
    private static final int LOOK_AGAIN = 1;

    private static final AtomicBoolean IS_REHEARSED = new AtomicBoolean();

    private final boolean quitAllowed;
    final UrgentMessages urgent = new UrgentMessages();
    final OrdinaryMessages ordinary = new OrdinaryMessages(urgent);
    private final AtomicLong refused = new AtomicLong();
    private final AtomicLong notRaised = new AtomicLong();
    /**
     * {@link #ASLEEP}: the looper waits, or is about to, until {@link #asleepUntilNanos}; who sends
     * for an earlier time wakes it. {@link #BEING_WOKEN}: somebody does. Who is urgent does not
     * rely on that: the other one may not get to run. {@link #BEHIND_SORTERS}: it waits for who
     * sorts in, or for what is urgent and for an earlier time.
     */
    final AtomicInteger rest = new AtomicInteger(AWAKE);
    private volatile long asleepUntilNanos;
    private volatile boolean isQuitting;

    // Of the holder of this object's lock.
    private final ArrayList<IdleHandler> idleHandlers = new ArrayList<>();
    private IdleHandler[] idleHandlersToRun = new IdleHandler[IDLE_HANDLERS_FIRST];
    private int nextBarrierToken;

    private final FileWatches files = new FileWatches();

    /** Replaced as a whole, by the holder of this object's lock. */
    private volatile InputSource[] inputs = {};

    // The looper's own.
    private final int basePriority;
    private int looperPriority;
    /** Where the announcements stood before the last search: see {@code rt::sync::boost}. */
    private int look;
    private boolean isClosed;
    /** A source has more than it brings in one look. */
    private boolean isInputLeft;

    /** Lives as long as this object: senders hold no lock. */
    private final long nativeQueue;

    private static native long nativeInit();

    private static native void nativeClose(long queue);

    private static native void nativeDestroy(long queue);

    /** Waits until {@code untilNanos} (uptime; {@link Long#MAX_VALUE}), or until woken. */
    private static native void nativePollUntil(long queue, long untilNanos);

    private static native void nativeWake(long queue);

    private static native boolean nativeIsPolling(long queue);

    /**
     * Raises the looper if it is less urgent, then wakes it if it is asleep: 0 it was urgent
     * enough, 1 raised, 2 refused.
     */
    private static native int nativeAnnounce(long queue, int priority, boolean isAsleep);

    private static native int nativeLook(long queue);

    private static native int nativeSettle(long queue, int look, int priority);

    MessageQueue(boolean quitAllowed) {
        this.quitAllowed = quitAllowed;
        nativeQueue = nativeInit();
        Cleaner.create(this, destroyer(nativeQueue));
        basePriority = RealtimeThread.priority();
        looperPriority = basePriority;
        if (IS_REHEARSED.compareAndSet(false, true)) {
            new QueueRehearsal(new MessageQueue(true)).run();
        }
    }

    private static Runnable destroyer(long queue) {
        return () -> nativeDestroy(queue);
    }

    /**
     * Adds a message for a time in uptime nanoseconds; the priority is capped to the sender's.
     * False if the looper has quit or {@link #REALTIME_PENDING_MAX} real-time messages wait: the
     * message is then still the caller's. Extends AOSP's interface.
     */
    public boolean enqueueRealtime(Message message, long whenNanos, int priority) {
        int sender = RealtimeThread.priority();
        message.when = whenNanos / NANOS_PER_MILLI;
        return enqueue(message, whenNanos, Math.max(0, Math.min(priority, sender)));
    }

    /** Real-time messages refused because too many were waiting. */
    public long refusedCount() {
        return refused.get();
    }

    /**
     * Times that the looper could not be given a message's priority: the process lacks
     * CAP_SYS_NICE.
     */
    public long notRaisedCount() {
        return notRaised.get();
    }

    /**
     * Puts a handler's due messages in front of all others, in their order: for the end of an
     * application, which must not wait for what it was sent in a storm. O(n log n) in the handler's
     * messages, and what arrived is sorted in first.
     */
    public void bringForward(Handler handler) {
        long nowNanos = SystemClock.uptimeNanos();
        synchronized (urgent) {
            urgent.sortInAll(nowNanos);
            urgent.sorted.bringForward(handler, nowNanos);
        }
        synchronized (ordinary) {
            ordinary.sortInAll(nowNanos);
            ordinary.sorted.bringForward(handler, nowNanos);
        }
    }

    boolean enqueueMessage(Message message, long when) {
        message.when = when;
        return enqueue(message, when * NANOS_PER_MILLI, RealtimeThread.priority());
    }

    private boolean enqueue(Message message, long whenNanos, int priority) {
        if (message.target == null) {
            throw new IllegalArgumentException("Message must have a target.");
        }
        if (!message.tryMarkInUse()) {
            throw new IllegalStateException(message + " This message is already in use.");
        }
        if (isQuitting) {
            String text = message.target + " sending message to a Handler on a dead thread";
            Log.w(TAG, text, new IllegalStateException(text));
            message.recycleUnchecked();
            return false;
        }
        if (priority > 0 && !urgent.tryReserve(REALTIME_PENDING_MAX)) {
            refused.incrementAndGet();
            message.markFree();
            return false;
        }
        QueueEntry entry = message.entry;
        entry.whenNanos = whenNanos;
        entry.priority = priority;
        entry.isAsynchronous = message.isAsynchronous();
        int unsorted = 0;
        if (priority > 0) {
            urgent.add(entry);
        } else {
            unsorted = ordinary.add(entry);
        }
        // From here on the message is the looper's.
        boolean wakes = rest.get() != AWAKE && whenNanos < asleepUntilNanos
                && (rest.compareAndSet(ASLEEP, BEING_WOKEN) || priority > 0);
        if (priority > 0 && whenNanos <= SystemClock.uptimeNanos()) {
            announce(priority, wakes);
        } else if (wakes) {
            nativeWake(nativeQueue);
        }
        if (isQuitting) {
            recycleArrivals();
        } else if (unsorted > UNSORTED_MAX) {
            sortInSome();
        }
        return true;
    }

    void announce(int priority, boolean wakes) {
        int outcome = nativeAnnounce(nativeQueue, priority, wakes);
        if (outcome == RAISED) {
            // The message may have been found, and done, before it was announced.
            urgent.isUnsettled = true;
        } else if (outcome == REFUSED) {
            countNotRaised(priority);
        }
    }

    private void countNotRaised(int priority) {
        if (notRaised.getAndIncrement() == 0) {
            Log.w(TAG, "SCHED_FIFO " + priority + " is not permitted (CAP_SYS_NICE or RLIMIT_RTPRIO): messages keep their"
                    + " order, the looper keeps its priority");
        }
    }

    /**
     * An ordinary sender's, when senders are faster than the looper: so a search or an earlier time
     * finds a bounded rest.
     */
    void sortInSome() {
        int left = SENDER_STEPS;
        while (left > 0) {
            left = ordinary.sortInSome(left);
            if (rest.get() == BEHIND_SORTERS && rest.compareAndSet(BEHIND_SORTERS, BEING_WOKEN)) {
                nativeWake(nativeQueue);
            }
        }
    }

    Message next() {
        if (isClosed) {
            return null; // The looper has quit and is asked again: as AOSP's.
        }
        int idleCount = -1;
        int waits = 0;
        long untilNanos = 0;
        // Before each message and after each wait, as AOSP's.
        boolean looksAtFiles = files.isWatching();
        boolean looksAtInputs = inputs.length > 0;
        while (true) {
            if (untilNanos != 0) {
                Binder.flushPendingCommands();
                looksAtFiles = sleep(untilNanos);
                looksAtInputs = inputs.length > 0;
                untilNanos = 0;
            }
            beginLook();
            long nowNanos = SystemClock.uptimeNanos();
            synchronized (urgent) {
                QueueEntry due = urgent.findDue(nowNanos);
                if (due != null) {
                    if (runAt(due.priority)) {
                        return urgent.take(due);
                    }
                    continue;
                }
            }
            if (looksAtInputs) {
                if (!isOrdinaryNext()) {
                    continue;
                }
                looksAtInputs = false;
                if (takeInputs()) {
                    continue;
                }
            }
            if (looksAtFiles) {
                looksAtFiles = false;
                if (files.dispatch()) {
                    continue; // A listener may have sent something urgent.
                }
            }
            QueueEntry offered = ordinary.offered();
            if (offered != null) {
                if (isOrdinaryNext() && ordinary.takeOffered(offered)) {
                    return offered.message;
                }
                continue;
            }
            // A real-time looper lends those who sort in its priority instead.
            if (basePriority == 0 && waits < WAITS_MAX && ordinary.isOfferToCome()) {
                waits++;
                untilNanos = fallAsleepBehindSorters();
                continue;
            }
            synchronized (ordinary) {
                QueueEntry due = ordinary.findDue(nowNanos);
                if (due != null && isOrdinaryNext()) {
                    return ordinary.take(due);
                }
                if (due != null || urgent.hasArrived()) {
                    continue;
                }
                if (isQuitting) {
                    if (runAt(basePriority)) {
                        close();
                        return null;
                    }
                    continue;
                }
                if (idleCount < 0 && ordinary.sorted.isIdleAt(nowNanos)) {
                    idleCount = prepareIdleHandlers();
                }
                if (idleCount <= 0 && isInputLeft) {
                    looksAtInputs = true;
                    continue;
                }
                if (idleCount <= 0) {
                    untilNanos = fallAsleep();
                    continue;
                }
            }
            runIdleHandlers(idleCount);
            idleCount = 0; // A handler may have added a message: look before waiting.
        }
    }

    /** Until a time or a wake-up; true if there are files to look at. */
    private boolean sleep(long untilNanos) {
        boolean isWatching = files.isWatching();
        if (isWatching) {
            files.await(nativeQueue, untilNanos);
        } else {
            nativePollUntil(nativeQueue, untilNanos);
        }
        rest.set(AWAKE);
        return isWatching;
    }

    /** Nothing urgent has come, and the looper runs as what is ordinary does. */
    boolean isOrdinaryNext() {
        return !urgent.hasArrived() && runAt(basePriority);
    }

    /** The looper has ended. */
    void close() {
        isClosed = true;
        nativeClose(nativeQueue);
    }

    /**
     * How long to wait; 0: look again. Asleep the looper keeps the priority of what it waits for:
     * that costs nothing. The caller holds the lock of what is ordinary: what another sorted in
     * meanwhile would not wake.
     */
    long fallAsleep() {
        synchronized (urgent) {
            long untilNanos = Math.min(urgent.sorted.nextTimeNanos(), ordinary.sorted.nextTimeNanos());
            return fallAsleep(ASLEEP, untilNanos) && stayAsleep(!ordinary.hasArrived()) ? untilNanos : 0;
        }
    }

    /** As {@link #fallAsleep}, until who sorts in has something to offer. */
    long fallAsleepBehindSorters() {
        synchronized (urgent) {
            long untilNanos = urgent.sorted.nextTimeNanos();
            boolean isAsleep = fallAsleep(BEHIND_SORTERS, untilNanos);
            return isAsleep && stayAsleep(ordinary.isOfferToCome() && ordinary.offered() == null) ? untilNanos : 0;
        }
    }

    private boolean fallAsleep(int how, long untilNanos) {
        if (!runAt(urgent.sorted.highestPriority())) {
            return false;
        }
        asleepUntilNanos = untilNanos;
        rest.set(how);
        return true;
    }

    /**
     * Who sent, or had sorted in, before it could see that the looper falls asleep did not wake it.
     */
    private boolean stayAsleep(boolean isOrdinaryQuiet) {
        if (isOrdinaryQuiet && !urgent.hasArrived()) {
            return true;
        }
        rest.set(AWAKE);
        return false;
    }

    /** Before a search, if the looper is raised or may have been. */
    void beginLook() {
        if (looperPriority != basePriority || urgent.isUnsettled || urgent.hasArrived()) {
            urgent.isUnsettled = true;
            look = nativeLook(nativeQueue);
        }
    }

    /**
     * The looper runs at a priority from here on; false if something was announced since {@link
     * #beginLook}.
     */
    boolean runAt(int wanted) {
        int priority = Math.max(basePriority, wanted);
        if (priority == looperPriority && !urgent.isUnsettled) {
            return true;
        }
        urgent.isUnsettled = false;
        int outcome = nativeSettle(nativeQueue, look, priority);
        if (outcome == LOOK_AGAIN) {
            urgent.isUnsettled = true;
            return false;
        }
        if (outcome == SETTLED) {
            looperPriority = priority;
        } else {
            countNotRaised(priority);
        }
        return true;
    }

    /** What was sent when the queue had quit already. */
    void recycleArrivals() {
        synchronized (urgent) {
            urgent.recycleArrivals();
        }
        synchronized (ordinary) {
            ordinary.recycleArrivals();
        }
    }

    private int prepareIdleHandlers() {
        synchronized (this) {
            idleHandlersToRun = idleHandlers.toArray(idleHandlersToRun);
            return idleHandlers.size();
        }
    }

    private void runIdleHandlers(int count) {
        for (int index = 0; index < count; index++) {
            IdleHandler idler = idleHandlersToRun[index];
            idleHandlersToRun[index] = null;
            boolean isKept = false;
            try {
                isKept = idler.queueIdle();
            } catch (Throwable t) {
                Log.wtf(TAG, "IdleHandler threw exception", t);
            }
            if (!isKept) {
                synchronized (this) {
                    idleHandlers.remove(idler);
                }
            }
        }
    }

    /** Is the calling thread's queue empty of due messages? */
    public boolean isIdle() {
        long nowNanos = SystemClock.uptimeNanos();
        synchronized (urgent) {
            urgent.sortInAll(nowNanos);
            if (!urgent.sorted.isIdleAt(nowNanos)) {
                return false;
            }
        }
        synchronized (ordinary) {
            ordinary.sortInAll(nowNanos);
            return ordinary.sorted.isIdleAt(nowNanos);
        }
    }

    /** Adds what runs when nothing is due. */
    public void addIdleHandler(IdleHandler handler) {
        if (handler == null) {
            throw new NullPointerException("Can't add a null IdleHandler");
        }
        synchronized (this) {
            idleHandlers.add(handler);
        }
    }

    /** Removes it. */
    public void removeIdleHandler(IdleHandler handler) {
        synchronized (this) {
            idleHandlers.remove(handler);
        }
    }

    /** Is the looper waiting for messages? */
    public boolean isPolling() {
        return !isQuitting && nativeIsPolling(nativeQueue);
    }

    /** Calls the listener on the looper's thread when the file has one of the events. */
    public void addOnFileDescriptorEventListener(FileDescriptor fd, int events, OnFileDescriptorEventListener listener) {
        files.add(fd, events, listener);
        wakeForFiles();
    }

    /** As if it had never been added. */
    public void removeOnFileDescriptorEventListener(FileDescriptor fd) {
        files.remove(fd);
        wakeForFiles();
    }

    /** A looper that sleeps listens to the files that there were when it fell asleep. */
    private void wakeForFiles() {
        if (rest.get() != AWAKE) {
            nativeWake(nativeQueue);
        }
    }

    /**
     * Asks the source before each message and whenever the looper was woken, until it is removed.
     * Extends AOSP's interface.
     */
    public void addInputSource(InputSource source) {
        synchronized (this) {
            ArrayList<InputSource> all = new ArrayList<>(List.of(inputs));
            all.add(source);
            inputs = all.toArray(new InputSource[0]);
        }
        // What it has was told to nobody.
        nativeWake(nativeQueue);
    }

    /** Asks it no longer. */
    public void removeInputSource(InputSource source) {
        synchronized (this) {
            ArrayList<InputSource> all = new ArrayList<>(List.of(inputs));
            all.remove(source);
            inputs = all.toArray(new InputSource[0]);
        }
    }

    /** True if any has run something. */
    private boolean takeInputs() {
        boolean isAny = false;
        isInputLeft = false;
        for (InputSource source : inputs) {
            int outcome = source.take();
            isAny |= outcome != InputSource.NOTHING;
            isInputLeft |= outcome == InputSource.MORE;
        }
        return isAny;
    }

    void quit(boolean isSafe) {
        if (!quitAllowed) {
            throw new IllegalStateException("Main thread not allowed to quit.");
        }
        // AOSP's two ways to quit: what is not due goes, or everything. Both locks: a sender that
        // finds the queue quitting recycles what has arrived, which must be only what came later.
        synchronized (ordinary) {
            synchronized (urgent) {
                if (isQuitting) {
                    return;
                }
                isQuitting = true;
                long nowNanos = SystemClock.uptimeNanos();
                long limitNanos = isSafe ? nowNanos : Long.MIN_VALUE;
                ordinary.sortInAll(nowNanos);
                ordinary.close(limitNanos);
                urgent.sortInAll(nowNanos);
                urgent.recycleAfter(limitNanos);
                if (!isSafe) {
                    ordinary.sorted.clearBarriers();
                    urgent.sorted.clearBarriers();
                }
            }
        }
        nativeWake(nativeQueue);
    }

    /** Holds back synchronous messages from now on. */
    public int postSyncBarrier() {
        synchronized (this) {
            int token = nextBarrierToken++;
            long nowNanos = SystemClock.uptimeNanos();
            long whenNanos = SystemClock.uptimeMillis() * NANOS_PER_MILLI;
            // What was sent before it lies before it.
            synchronized (urgent) {
                urgent.sortInAll(nowNanos);
                urgent.sorted.postBarrier(token, whenNanos);
            }
            synchronized (ordinary) {
                ordinary.sortInAll(nowNanos);
                ordinary.sorted.postBarrier(token, whenNanos);
            }
            return token;
        }
    }

    /** Lets them go. */
    public void removeSyncBarrier(int token) {
        boolean isFound;
        synchronized (urgent) {
            isFound = urgent.sorted.removeBarrier(token);
        }
        synchronized (ordinary) {
            isFound |= ordinary.sorted.removeBarrier(token);
        }
        if (!isFound) {
            throw new IllegalStateException("The specified message queue synchronization  barrier token has not been"
                    + " posted or has already been removed.");
        }
        // What it held back may be urgent: not left to another who wakes.
        if (rest.get() != AWAKE) {
            nativeWake(nativeQueue);
        }
    }

    /** Visits a chain of each kind: is there a match? */
    boolean contains(EntryMatch match, Handler handler, int what, Runnable callback, Object object) {
        if (handler == null) {
            return false;
        }
        long nowNanos = SystemClock.uptimeNanos();
        synchronized (urgent) {
            urgent.sortInAll(nowNanos);
            if (urgent.sorted.contains(match, handler, what, callback, object)) {
                return true;
            }
        }
        synchronized (ordinary) {
            ordinary.sortInAll(nowNanos);
            return ordinary.sorted.contains(match, handler, what, callback, object);
        }
    }

    /** Visits a chain of each kind and recycles what matches. */
    void remove(EntryMatch match, Handler handler, int what, Runnable callback, Object object) {
        if (handler == null) {
            return;
        }
        long nowNanos = SystemClock.uptimeNanos();
        synchronized (urgent) {
            urgent.sortInAll(nowNanos);
            urgent.recycleMatches(match, handler, what, callback, object);
        }
        synchronized (ordinary) {
            ordinary.sortInAll(nowNanos);
            ordinary.sorted.recycleMatches(match, handler, what, callback, object);
        }
    }

    boolean hasMessages(Handler handler, int what, Object object) {
        return contains(EntryMatch.WHAT, handler, what, null, object);
    }

    boolean hasEqualMessages(Handler handler, int what, Object object) {
        return contains(EntryMatch.EQUAL_WHAT, handler, what, null, object);
    }

    boolean hasMessages(Handler handler, Runnable callback, Object object) {
        return contains(EntryMatch.CALLBACK, handler, 0, callback, object);
    }

    boolean hasMessages(Handler handler) {
        return contains(EntryMatch.HANDLER, handler, 0, null, null);
    }

    void removeMessages(Handler handler, int what, Object object) {
        remove(EntryMatch.WHAT, handler, what, null, object);
    }

    void removeEqualMessages(Handler handler, int what, Object object) {
        remove(EntryMatch.EQUAL_WHAT, handler, what, null, object);
    }

    void removeMessages(Handler handler, Runnable callback, Object object) {
        if (callback != null) {
            remove(EntryMatch.CALLBACK, handler, 0, callback, object);
        }
    }

    void removeEqualMessages(Handler handler, Runnable callback, Object object) {
        if (callback != null) {
            remove(EntryMatch.EQUAL_CALLBACK, handler, 0, callback, object);
        }
    }

    void removeCallbacksAndMessages(Handler handler, Object object) {
        remove(EntryMatch.HANDLER, handler, 0, null, object);
    }

    void removeCallbacksAndEqualMessages(Handler handler, Object object) {
        remove(EntryMatch.EQUAL_HANDLER, handler, 0, null, object);
    }

    void dump(Printer printer, String prefix, Handler handler) {
        synchronized (this) {
            printer.println(prefix + "(takt queue, looper priority " + looperPriority + ", refused " + refused
                    + ", quitting=" + isQuitting + ")");
        }
    }

    void dumpDebug(ProtoOutputStream proto, long fieldId) {
        throw new UnsupportedOperationException("MessageQueue.dumpDebug is not supported by Takt yet");
    }

    /** What runs when nothing is due. */
    public interface IdleHandler {
        /** Runs; says whether it wants to run again. */
        boolean queueIdle();
    }

    /** As AOSP's. */
    public interface OnFileDescriptorEventListener {
        int EVENT_INPUT = 1 << 0;
        int EVENT_OUTPUT = 1 << 1;
        int EVENT_ERROR = 1 << 2;

        /** Answers the events to listen for from now on. */
        int onFileDescriptorEvents(FileDescriptor fd, int events);
    }
}
