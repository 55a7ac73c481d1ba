// SPDX-License-Identifier: Apache-2.0
package android.os;

import android.util.Log;
import android.util.Printer;
import android.util.proto.ProtoOutputStream;
import java.io.FileDescriptor;
import java.util.ArrayList;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import takt.framework.Cleaner;
import takt.framework.RealtimeThread;

/**
 * The queue of a {@link Looper}, in front of AOSP's class of the same name: messages have a priority and times in
 * nanoseconds; ordinary messages keep AOSP's order.
 *
 * <p>A message has its sender's real-time priority (0 for ordinary threads). The due message of the highest priority is
 * next; equal priorities keep time and arrival. A sender leaves its message in {@link Arrivals} and takes no lock (an ordinary
 * one does behind {@link #UNSORTED_MAX} others). Whoever next looks into the queue sorts in what arrived, once, in O(1) if it is
 * due and O(log n) if it is delayed, the most urgent first; the looper only as far as it may come before what is due. At most
 * {@link #REALTIME_PENDING_MAX} real-time messages wait at once; one more is refused and counted.
 *
 * <p>The looper's thread runs at the priority of what it dispatches. A sender that adds a more urgent due message raises it
 * with one system call; {@code rt::sync::boost} has the protocol, and why no raise is lost. A message that becomes due
 * while another is dispatched waits for that one at that one's priority.
 */
public final class MessageQueue {
    private static final String TAG = "MessageQueue";

    /** Real-time messages that may wait at once: far more than AOSP recycles of all kinds (50). */
    public static final int REALTIME_PENDING_MAX = 1024;
    /** Ordinary arrivals that nobody has sorted in; a sender that finds more sorts in {@link #SENDER_STEPS} times some. */
    private static final int UNSORTED_MAX = 4096;
    private static final int SENDER_STEPS = 16;
    private static final long NANOS_PER_MILLI = 1_000_000;
    private static final long FOREVER = Long.MAX_VALUE;
    private static final int IDLE_HANDLERS_FIRST = 4;
    /** Values of {@link #rest}. */
    static final int AWAKE = 0;
    private static final int ASLEEP = 1;
    private static final int BEING_WOKEN = 2;
    /** Answers of {@link #nativeSettle}. */
    private static final int SETTLED = 0;
    private static final int LOOK_AGAIN = 1;

    private static final AtomicBoolean IS_REHEARSED = new AtomicBoolean();

    private final boolean quitAllowed;
    final Arrivals arrivals = new Arrivals();
    /** Real-time messages that were sent and not taken. */
    final AtomicInteger realtimePending = new AtomicInteger();
    private final AtomicLong refused = new AtomicLong();
    private final AtomicLong notRaised = new AtomicLong();
    /** A sender has raised the looper, or its message was sorted in: the looper's priority is to be settled. */
    private volatile boolean isUnsettled;
    /**
     * {@link #ASLEEP}: the looper waits, or is about to, until {@link #asleepUntilNanos}; who sends for an earlier time wakes it.
     * {@link #BEING_WOKEN}: somebody does. Who is urgent does not rely on that: the other one may not get to run.
     */
    final AtomicInteger rest = new AtomicInteger(AWAKE);
    private volatile long asleepUntilNanos;
    private volatile boolean isQuitting;

    // What follows belongs to the holder of this object's lock: the looper, and who removes or searches.
    private final EntryLane synchronous = new EntryLane();
    private final EntryLane asynchronous = new EntryLane();
    private final EntryTable table = new EntryTable();
    private final ArrayList<IdleHandler> idleHandlers = new ArrayList<>();
    private IdleHandler[] idleHandlersToRun = new IdleHandler[IDLE_HANDLERS_FIRST];
    /** Barriers by time, then arrival; {@code message.arg1} is the token. */
    private final ArrayList<QueueEntry> barriers = new ArrayList<>();
    private long nextSequence = 1;
    private long nextFrontSequence = -1;
    private int nextBarrierToken;

    // The looper's own.
    private final int basePriority;
    private int looperPriority;
    /** Where the announcements stood before the last search: see {@code rt::sync::boost}. */
    private int look;
    private boolean isClosed;

    /** Lives as long as this object: senders hold no lock. */
    private final long nativeQueue;

    private static native long nativeInit();

    private static native void nativeClose(long queue);

    private static native void nativeDestroy(long queue);

    /** Waits until {@code untilNanos} (uptime; {@link #FOREVER}), or until woken. */
    private static native void nativePollUntil(long queue, long untilNanos);

    private static native void nativeWake(long queue);

    private static native boolean nativeIsPolling(long queue);

    /** Raises the looper if it is less urgent, then wakes it if it is asleep: 0 it was urgent enough, 1 raised, 2 refused. */
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
     * Adds a message for a time in uptime nanoseconds; the priority is capped to the sender's. False if the looper has quit
     * or {@link #REALTIME_PENDING_MAX} real-time messages wait: the message is then still the caller's. Extends AOSP's
     * interface.
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

    /** Times that the looper could not be given a message's priority: the process lacks CAP_SYS_NICE. */
    public long notRaisedCount() {
        return notRaised.get();
    }

    /**
     * Puts a handler's due messages in front of all others, in their order: for the end of an application, which must not wait
     * for what it was sent in a storm. O(n log n) in the handler's messages, and what arrived is sorted in first.
     */
    public void bringForward(Handler handler) {
        synchronized (this) {
            sortInAll();
            long nowNanos = SystemClock.uptimeNanos();
            ArrayList<QueueEntry> found = new ArrayList<>();
            for (QueueEntry entry = table.firstOfHandler(handler); entry != null;
                    entry = entry.chainAfter[EntryTable.BY_HANDLER]) {
                if (entry.message.target == handler && entry.whenNanos <= nowNanos) {
                    found.add(entry);
                }
            }
            found.sort((one, other) -> one.isBefore(other) ? 1 : -1);
            for (QueueEntry entry : found) {
                EntryLane lane = laneOf(entry);
                lane.remove(entry);
                entry.whenNanos = 0;
                entry.sequence = nextFrontSequence--;
                lane.add(entry, nowNanos);
            }
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
        if (priority > 0 && realtimePending.incrementAndGet() > REALTIME_PENDING_MAX) {
            realtimePending.decrementAndGet();
            refused.incrementAndGet();
            message.markFree();
            return false;
        }
        QueueEntry entry = message.entry;
        entry.whenNanos = whenNanos;
        entry.priority = priority;
        entry.isAsynchronous = message.isAsynchronous();
        int unsorted = arrivals.add(entry);
        // From here on the message is the looper's.
        boolean wakes = rest.get() != AWAKE && whenNanos < asleepUntilNanos
                && (rest.compareAndSet(ASLEEP, BEING_WOKEN) || priority > 0);
        if (priority > 0 && whenNanos <= SystemClock.uptimeNanos()) {
            announce(priority, wakes);
        } else if (wakes) {
            nativeWake(nativeQueue);
        }
        if (isQuitting) {
            discardArrivals();
        } else if (priority == 0 && unsorted > UNSORTED_MAX) {
            sortInSome();
        }
        return true;
    }

    void announce(int priority, boolean wakes) {
        int outcome = nativeAnnounce(nativeQueue, priority, wakes);
        if (outcome == 1) {
            // The message may have been found, and done, before it was announced.
            isUnsettled = true;
        } else if (outcome == 2) {
            countNotRaised(priority);
        }
    }

    private void countNotRaised(int priority) {
        if (notRaised.getAndIncrement() == 0) {
            Log.w(TAG, "SCHED_FIFO " + priority + " is not permitted (CAP_SYS_NICE or RLIMIT_RTPRIO): messages keep their"
                    + " order, the looper keeps its priority");
        }
    }

    Message next() {
        if (isClosed) {
            return null; // The looper has quit and is asked again: as AOSP's.
        }
        int idleCount = -1;
        long untilNanos = 0;
        while (true) {
            if (untilNanos != 0) {
                Binder.flushPendingCommands();
                nativePollUntil(nativeQueue, untilNanos);
                rest.set(AWAKE);
                untilNanos = 0;
            }
            synchronized (this) {
                beginLook();
                long nowNanos = SystemClock.uptimeNanos();
                QueueEntry entry = findDue(nowNanos);
                if (entry != null) {
                    if (settle(entry.priority)) {
                        return unlink(entry);
                    }
                    continue;
                }
                if (isQuitting) {
                    if (settle(basePriority)) {
                        close();
                        return null;
                    }
                    continue;
                }
                if (idleCount < 0 && isIdleAt(nowNanos)) {
                    idleCount = idleHandlers.size();
                }
                if (idleCount <= 0) {
                    untilNanos = fallAsleep();
                    continue;
                }
                idleHandlersToRun = idleHandlers.toArray(idleHandlersToRun);
            }
            runIdleHandlers(idleCount);
            idleCount = 0; // A handler may have added a message: look before waiting.
        }
    }

    /** The looper has ended. */
    void close() {
        isClosed = true;
        nativeClose(nativeQueue);
    }

    /** How long to wait; 0: look again. Asleep it keeps the priority of what it waits for: that costs nothing. */
    long fallAsleep() {
        if (!settle(highestPriority())) {
            return 0;
        }
        long untilNanos = nextTimeNanos();
        asleepUntilNanos = untilNanos;
        rest.set(ASLEEP);
        // Who sent before it could see this did not wake.
        if (!arrivals.isEmpty()) {
            rest.set(AWAKE);
            return 0;
        }
        return untilNanos;
    }

    /** Before a search, if the looper is raised or may have been. */
    void beginLook() {
        if (looperPriority != basePriority || isUnsettled || arrivals.highest() > 0) {
            isUnsettled = true;
            look = nativeLook(nativeQueue);
        }
    }

    /** The looper runs at a priority from here on; false if something was announced since {@link #beginLook}. */
    boolean settle(int wanted) {
        int priority = Math.max(basePriority, wanted);
        if (priority == looperPriority && !isUnsettled) {
            return true;
        }
        isUnsettled = false;
        int outcome = nativeSettle(nativeQueue, look, priority);
        if (outcome == LOOK_AGAIN) {
            isUnsettled = true;
            return false;
        }
        if (outcome == SETTLED) {
            looperPriority = priority;
        } else {
            countNotRaised(priority);
        }
        return true;
    }

    /**
     * The next entry, or null: the first in AOSP's order of all that had arrived at some time during this call. What has not
     * been sorted in when it is found comes after it, or arrived after what did was taken whole.
     */
    QueueEntry findDue(long nowNanos) {
        boolean isTaken = false;
        boolean isSome = false;
        while (true) {
            QueueEntry due = findUrgent(nowNanos);
            if (due != null && (due.priority > 0 || isSome && arrivals.areAfter(due))) {
                return due;
            }
            if (!arrivals.hasBatch()) {
                if (isTaken || !arrivals.takeBatch()) {
                    return due;
                }
                isTaken = true;
            }
            // Some in any case: else they would pile up behind what is due.
            sortIn(arrivals.takeOrdinary(), nowNanos);
            isSome = true;
        }
    }

    /** The due entry, once the arrivals that are more urgent are sorted in. */
    private QueueEntry findUrgent(long nowNanos) {
        QueueEntry due = dueEntry(nowNanos);
        int arrived = arrivals.highest();
        while (arrived > 0 && (due == null || arrived >= due.priority)) {
            sortIn(arrivals.take(arrived), nowNanos);
            due = dueEntry(nowNanos);
            arrived = arrivals.highest();
        }
        return due;
    }

    /**
     * An ordinary sender's, when senders are faster than the looper: so a search or an earlier time finds a bounded rest. The
     * looper wants the lock for what is urgent: it is handed over between two steps.
     */
    void sortInSome() {
        int steps = 0;
        while (steps < SENDER_STEPS) {
            synchronized (this) {
                long nowNanos = SystemClock.uptimeNanos();
                do {
                    if (isQuitting || !arrivals.hasBatch() && !arrivals.takeBatch()) {
                        return;
                    }
                    sortIn(arrivals.takeOrdinary(), nowNanos);
                    steps++;
                } while (steps < SENDER_STEPS && arrivals.highest() == 0);
            }
        }
    }

    /** All that had arrived before the call: for who searches. */
    private void sortInAll() {
        long nowNanos = SystemClock.uptimeNanos();
        for (int priority = arrivals.highest(); priority > 0; priority = arrivals.highest()) {
            sortIn(arrivals.take(priority), nowNanos);
        }
        boolean isTaken = false;
        while (true) {
            if (!arrivals.hasBatch()) {
                if (isTaken || !arrivals.takeBatch()) {
                    return;
                }
                isTaken = true;
            }
            sortIn(arrivals.takeOrdinary(), nowNanos);
        }
    }

    private void sortIn(QueueEntry chain, long nowNanos) {
        QueueEntry entry = chain;
        while (entry != null) {
            QueueEntry next = entry.arrival;
            entry.arrival = null;
            // AOSP puts time 0 in front of everything, the last one first.
            entry.sequence = entry.whenNanos == 0 ? nextFrontSequence-- : nextSequence++;
            if (entry.priority > 0) {
                isUnsettled = true;
            }
            laneOf(entry).add(entry, nowNanos);
            table.add(entry);
            entry = next;
        }
    }

    /** What was sent when the queue had quit already. */
    void discardArrivals() {
        synchronized (this) {
            while (!arrivals.isEmpty()) {
                int priority = arrivals.highest();
                if (priority == 0 && !arrivals.hasBatch()) {
                    arrivals.takeBatch();
                }
                QueueEntry entry = priority == 0 ? arrivals.takeOrdinary() : arrivals.take(priority);
                while (entry != null) {
                    QueueEntry next = entry.arrival;
                    entry.arrival = null;
                    entry.message.recycleUnchecked();
                    entry = next;
                }
            }
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

    /** The due entry of the highest priority that no barrier holds back. */
    private QueueEntry dueEntry(long nowNanos) {
        QueueEntry barrier = barriers.isEmpty() ? null : barriers.get(0);
        int ordinary = synchronous.highestBelow(EntryLane.PRIORITIES);
        int urgent = asynchronous.highestBelow(EntryLane.PRIORITIES);
        while (ordinary >= 0 || urgent >= 0) {
            int priority = Math.max(ordinary, urgent);
            QueueEntry best = null;
            if (ordinary == priority) {
                QueueEntry head = synchronous.head(priority);
                boolean isFree = barrier == null || head.isBefore(barrier);
                best = isFree && head.whenNanos <= nowNanos ? head : null;
                ordinary = synchronous.highestBelow(priority);
            }
            if (urgent == priority) {
                QueueEntry head = asynchronous.head(priority);
                boolean isBetter = best == null || head.isBefore(best);
                best = isBetter && head.whenNanos <= nowNanos ? head : best;
                urgent = asynchronous.highestBelow(priority);
            }
            if (best != null) {
                return best;
            }
        }
        return null;
    }

    /** When to look again: the earliest time of an entry that no barrier holds back. */
    private long nextTimeNanos() {
        QueueEntry barrier = barriers.isEmpty() ? null : barriers.get(0);
        long earliest = FOREVER;
        int priority = synchronous.highestBelow(EntryLane.PRIORITIES);
        for (; priority >= 0; priority = synchronous.highestBelow(priority)) {
            QueueEntry head = synchronous.head(priority);
            if (barrier == null || head.isBefore(barrier)) {
                earliest = Math.min(earliest, head.whenNanos);
            }
        }
        priority = asynchronous.highestBelow(EntryLane.PRIORITIES);
        for (; priority >= 0; priority = asynchronous.highestBelow(priority)) {
            earliest = Math.min(earliest, asynchronous.head(priority).whenNanos);
        }
        return earliest;
    }

    private int highestPriority() {
        return Math.max(
                synchronous.highestBelow(EntryLane.PRIORITIES), asynchronous.highestBelow(EntryLane.PRIORITIES));
    }

    /** Is nothing due, not even a barrier? */
    private boolean isIdleAt(long nowNanos) {
        boolean isBarrierDue = !barriers.isEmpty() && barriers.get(0).whenNanos <= nowNanos;
        if (isBarrierDue) {
            return false;
        }
        return dueEntry(nowNanos) == null;
    }

    private EntryLane laneOf(QueueEntry entry) {
        return entry.isAsynchronous ? asynchronous : synchronous;
    }

    Message unlink(QueueEntry entry) {
        Message message = entry.message;
        laneOf(entry).remove(entry);
        table.remove(entry);
        if (entry.priority > 0) {
            realtimePending.decrementAndGet();
        }
        return message;
    }

    /** Is the calling thread's queue empty of due messages? */
    public boolean isIdle() {
        synchronized (this) {
            sortInAll();
            return isIdleAt(SystemClock.uptimeNanos());
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

    /** Not supported yet. */
    public void addOnFileDescriptorEventListener(FileDescriptor fd, int events, OnFileDescriptorEventListener listener) {
        throw new UnsupportedOperationException(
                "MessageQueue.addOnFileDescriptorEventListener is not supported by Takt yet");
    }

    /** Nothing was added. */
    public void removeOnFileDescriptorEventListener(FileDescriptor fd) {}

    void quit(boolean isSafe) {
        if (!quitAllowed) {
            throw new IllegalStateException("Main thread not allowed to quit.");
        }
        synchronized (this) {
            if (isQuitting) {
                return;
            }
            isQuitting = true;
            sortInAll();
            long nowNanos = isSafe ? SystemClock.uptimeNanos() : Long.MIN_VALUE;
            removeAfter(synchronous, nowNanos);
            removeAfter(asynchronous, nowNanos);
            if (!isSafe) {
                barriers.clear();
            }
            nativeWake(nativeQueue);
        }
    }

    /** AOSP's two ways to quit: what is not due goes, or everything. */
    private void removeAfter(EntryLane lane, long limitNanos) {
        ArrayList<QueueEntry> kept = new ArrayList<>();
        for (int priority = lane.highestBelow(EntryLane.PRIORITIES); priority >= 0; ) {
            QueueEntry head = lane.head(priority);
            if (head.whenNanos > limitNanos) {
                unlink(head).recycleUnchecked();
            } else {
                lane.remove(head);
                kept.add(head);
            }
            priority = lane.highestBelow(EntryLane.PRIORITIES);
        }
        for (QueueEntry entry : kept) {
            lane.add(entry, limitNanos);
        }
    }

    /** Holds back synchronous messages from now on. */
    public int postSyncBarrier() {
        synchronized (this) {
            int token = nextBarrierToken++;
            // What was sent before it lies before it.
            sortInAll();
            Message message = Message.obtain();
            message.tryMarkInUse();
            message.arg1 = token;
            QueueEntry barrier = message.entry;
            barrier.whenNanos = SystemClock.uptimeMillis() * NANOS_PER_MILLI;
            barrier.sequence = nextSequence++;
            barriers.add(barrier);
            return token;
        }
    }

    /** Lets them go. */
    public void removeSyncBarrier(int token) {
        synchronized (this) {
            for (int index = 0; index < barriers.size(); index++) {
                if (barriers.get(index).message.arg1 == token) {
                    barriers.remove(index).message.recycleUnchecked();
                    // What it held back may be urgent: not left to another who wakes.
                    if (rest.get() != AWAKE) {
                        nativeWake(nativeQueue);
                    }
                    return;
                }
            }
        }
        throw new IllegalStateException("The specified message queue synchronization  barrier token has not been"
                + " posted or has already been removed.");
    }

    private boolean search(
            EntryMatch match, Handler handler, int what, Runnable callback, Object object, boolean isRemoval) {
        return handler != null && visit(match, handler, what, callback, object, isRemoval);
    }

    /** Visits one chain; removes what matches, or says whether something does. */
    boolean visit(EntryMatch match, Handler handler, int what, Runnable callback, Object object, boolean isRemoval) {
        synchronized (this) {
            sortInAll();
            boolean isFound = false;
            QueueEntry entry = match.first(table, handler, what, callback);
            while (entry != null) {
                QueueEntry after = entry.chainAfter[match.key];
                if (match.isMatch(entry.message, handler, what, callback, object)) {
                    isFound = true;
                    if (!isRemoval) {
                        return true;
                    }
                    unlink(entry).recycleUnchecked();
                }
                entry = after;
            }
            return isFound;
        }
    }

    boolean hasMessages(Handler handler, int what, Object object) {
        return search(EntryMatch.WHAT, handler, what, null, object, false);
    }

    boolean hasEqualMessages(Handler handler, int what, Object object) {
        return search(EntryMatch.EQUAL_WHAT, handler, what, null, object, false);
    }

    boolean hasMessages(Handler handler, Runnable callback, Object object) {
        return search(EntryMatch.CALLBACK, handler, 0, callback, object, false);
    }

    boolean hasMessages(Handler handler) {
        return search(EntryMatch.HANDLER, handler, 0, null, null, false);
    }

    void removeMessages(Handler handler, int what, Object object) {
        search(EntryMatch.WHAT, handler, what, null, object, true);
    }

    void removeEqualMessages(Handler handler, int what, Object object) {
        search(EntryMatch.EQUAL_WHAT, handler, what, null, object, true);
    }

    void removeMessages(Handler handler, Runnable callback, Object object) {
        if (callback != null) {
            search(EntryMatch.CALLBACK, handler, 0, callback, object, true);
        }
    }

    void removeEqualMessages(Handler handler, Runnable callback, Object object) {
        if (callback != null) {
            search(EntryMatch.EQUAL_CALLBACK, handler, 0, callback, object, true);
        }
    }

    void removeCallbacksAndMessages(Handler handler, Object object) {
        search(EntryMatch.HANDLER, handler, 0, null, object, true);
    }

    void removeCallbacksAndEqualMessages(Handler handler, Object object) {
        search(EntryMatch.EQUAL_HANDLER, handler, 0, null, object, true);
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
