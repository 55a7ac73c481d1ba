// SPDX-License-Identifier: Apache-2.0
package android.os;

import android.util.Log;
import android.util.Printer;
import android.util.proto.ProtoOutputStream;
import java.io.FileDescriptor;
import java.util.ArrayList;
import takt.framework.RealtimeThread;

/**
 * The queue of a {@link Looper}, in front of AOSP's class of the same name: messages have a priority and times in
 * nanoseconds; ordinary messages keep AOSP's order.
 *
 * <p>A message has its sender's real-time priority (0 for ordinary threads). The due message of the highest priority is
 * next; equal priorities keep time and arrival. A due message is taken in O(1), a delayed one in O(log n); a removal costs
 * what it removes. Real-time messages have {@link #ENTRIES_PREPARED} entries of their own, which no storm of ordinary ones
 * can use up: when all are in use, a real-time message is refused and counted. An ordinary one reuses an entry or makes
 * one, as AOSP's would.
 *
 * <p>The looper's thread runs at the priority of what it dispatches. A sender that adds a more urgent due message raises it
 * at once, under the lock under which the looper lowers itself, so no raise is lost. A message that becomes due while
 * another is dispatched waits for that one at that one's priority.
 */
public final class MessageQueue {
    private static final String TAG = "MessageQueue";

    /** Real-time messages that may wait at once: far more than AOSP recycles of all kinds (50). */
    public static final int ENTRIES_PREPARED = 1024;
    private static final long NANOS_PER_MILLI = 1_000_000;
    private static final long FOREVER = Long.MAX_VALUE;
    private static final int IDLE_HANDLERS_FIRST = 4;

    private final boolean quitAllowed;
    private final EntryLane synchronous = new EntryLane();
    private final EntryLane asynchronous = new EntryLane();
    private final EntryTable table = new EntryTable();
    private final ArrayList<IdleHandler> idleHandlers = new ArrayList<>();
    private IdleHandler[] idleHandlersToRun = new IdleHandler[IDLE_HANDLERS_FIRST];

    /** Unused entries, linked by {@code after}: those prepared for real-time messages, and others. */
    private QueueEntry freeRealtime;
    private QueueEntry freeOrdinary;
    /** Barriers by time, then arrival; {@code message.arg1} is the token. */
    private final ArrayList<QueueEntry> barriers = new ArrayList<>();

    private final int looperThread;
    private final int basePriority;
    private int looperPriority;
    private long nativeQueue;
    private long nextSequence = 1;
    private long nextFrontSequence = -1;
    private int nextBarrierToken;
    private long refusedCount;
    private long notRaisedCount;
    private boolean isQuitting;
    private boolean isBlocked;
    private long blockedUntilNanos;

    private static native long nativeInit();

    private static native void nativeDestroy(long queue);

    /** Waits until {@code untilNanos} (uptime; {@link #FOREVER}), or until woken. */
    private static native void nativePollUntil(long queue, long untilNanos);

    private static native void nativeWake(long queue);

    private static native boolean nativeIsPolling(long queue);

    MessageQueue(boolean quitAllowed) {
        this.quitAllowed = quitAllowed;
        for (int count = 0; count < ENTRIES_PREPARED; count++) {
            QueueEntry entry = new QueueEntry();
            entry.priority = 1;
            release(entry);
        }
        nativeQueue = nativeInit();
        looperThread = Process.myTid();
        basePriority = RealtimeThread.priority();
        looperPriority = basePriority;
    }

    /** Adds a message for a time in uptime nanoseconds; the priority is capped to the sender's. Extends AOSP's interface. */
    public boolean enqueueRealtime(Message message, long whenNanos, int priority) {
        int sender = RealtimeThread.priority();
        message.when = whenNanos / NANOS_PER_MILLI;
        return enqueue(message, whenNanos, Math.max(0, Math.min(priority, sender)));
    }

    /** Real-time messages refused because every prepared entry was in use. */
    public long refusedCount() {
        synchronized (this) {
            return refusedCount;
        }
    }

    /** Times that the looper could not be given a message's priority: the process lacks CAP_SYS_NICE. */
    public long notRaisedCount() {
        synchronized (this) {
            return notRaisedCount;
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
        synchronized (this) {
            if (message.isInUse()) {
                throw new IllegalStateException(message + " This message is already in use.");
            }
            if (isQuitting) {
                String text = message.target + " sending message to a Handler on a dead thread";
                Log.w(TAG, text, new IllegalStateException(text));
                message.recycle();
                return false;
            }
            QueueEntry entry = take(priority);
            if (entry == null) {
                refusedCount++;
                return false;
            }
            message.markInUse();
            message.next = null;
            long nowNanos = SystemClock.uptimeNanos();
            entry.message = message;
            entry.whenNanos = whenNanos;
            // AOSP puts time 0 in front of everything, the last one first.
            entry.sequence = whenNanos == 0 ? nextFrontSequence-- : nextSequence++;
            entry.priority = priority;
            entry.isAsynchronous = message.isAsynchronous();
            laneOf(entry).add(entry, nowNanos);
            table.add(entry);
            boolean isDue = whenNanos <= nowNanos;
            if (isDue && priority > looperPriority) {
                schedule(priority);
            }
            if (isBlocked && whenNanos < blockedUntilNanos) {
                isBlocked = false;
                nativeWake(nativeQueue);
            }
            return true;
        }
    }

    Message next() {
        if (nativeQueue == 0) {
            return null; // The looper has quit and is asked again: as AOSP's.
        }
        int idleCount = -1;
        long untilNanos = 0;
        while (true) {
            if (untilNanos != 0) {
                Binder.flushPendingCommands();
                nativePollUntil(nativeQueue, untilNanos);
            }
            synchronized (this) {
                isBlocked = false;
                long nowNanos = SystemClock.uptimeNanos();
                QueueEntry entry = dueEntry(nowNanos);
                if (entry != null) {
                    schedule(Math.max(basePriority, entry.priority));
                    Message message = unlink(entry);
                    return message;
                }
                if (isQuitting) {
                    nativeDestroy(nativeQueue);
                    nativeQueue = 0;
                    schedule(basePriority);
                    return null;
                }
                untilNanos = nextTimeNanos();
                if (idleCount < 0 && isIdleAt(nowNanos)) {
                    idleCount = idleHandlers.size();
                }
                if (idleCount <= 0) {
                    isBlocked = true;
                    blockedUntilNanos = untilNanos;
                    // Asleep it costs nothing, and it wakes at the priority of what it waits for.
                    schedule(Math.max(basePriority, highestPriority()));
                    continue;
                }
                idleHandlersToRun = idleHandlers.toArray(idleHandlersToRun);
            }
            runIdleHandlers(idleCount);
            idleCount = 0;
            // A handler may have added a message: look before waiting.
            untilNanos = 0;
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

    private void schedule(int priority) {
        if (priority == looperPriority) {
            return;
        }
        if (RealtimeThread.setPriority(looperThread, priority)) {
            looperPriority = priority;
        } else {
            notRaisedCount++;
        }
    }

    private EntryLane laneOf(QueueEntry entry) {
        return entry.isAsynchronous ? asynchronous : synchronous;
    }

    private QueueEntry take(int priority) {
        if (priority > 0) {
            QueueEntry entry = freeRealtime;
            if (entry != null) {
                freeRealtime = entry.after;
                entry.after = null;
            }
            return entry;
        }
        QueueEntry entry = freeOrdinary;
        if (entry == null) {
            return new QueueEntry();
        }
        freeOrdinary = entry.after;
        entry.after = null;
        return entry;
    }

    /** Back to where it came from: its priority says so. */
    private void release(QueueEntry entry) {
        entry.message = null;
        if (entry.priority > 0) {
            entry.after = freeRealtime;
            freeRealtime = entry;
        } else {
            entry.after = freeOrdinary;
            freeOrdinary = entry;
        }
    }

    private Message unlink(QueueEntry entry) {
        Message message = entry.message;
        laneOf(entry).remove(entry);
        table.remove(entry);
        release(entry);
        return message;
    }

    /** Is the calling thread's queue empty of due messages? */
    public boolean isIdle() {
        synchronized (this) {
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
        synchronized (this) {
            return !isQuitting && nativeIsPolling(nativeQueue);
        }
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
            lane.remove(head);
            if (head.whenNanos > limitNanos) {
                table.remove(head);
                head.message.recycleUnchecked();
                release(head);
            } else {
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
            QueueEntry barrier = new QueueEntry();
            barrier.message = Message.obtain();
            barrier.message.markInUse();
            barrier.message.arg1 = token;
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
                    if (isBlocked) {
                        isBlocked = false;
                        nativeWake(nativeQueue);
                    }
                    return;
                }
            }
        }
        throw new IllegalStateException("The specified message queue synchronization  barrier token has not been"
                + " posted or has already been removed.");
    }

    /** What a search is for. */
    private enum Match { WHAT, EQUAL_WHAT, CALLBACK, EQUAL_CALLBACK, HANDLER, EQUAL_HANDLER }

    private static boolean isMatch(Match match, Message message, Handler handler, int what, Runnable callback, Object object) {
        if (message.target != handler) {
            return false;
        }
        boolean isKey;
        switch (match) {
            case WHAT:
            case EQUAL_WHAT:
                isKey = message.what == what;
                break;
            case CALLBACK:
            case EQUAL_CALLBACK:
                isKey = message.callback == callback;
                break;
            default:
                isKey = true;
        }
        if (!isKey || object == null) {
            return isKey;
        }
        boolean isEqual = match == Match.EQUAL_WHAT || match == Match.EQUAL_CALLBACK || match == Match.EQUAL_HANDLER;
        return isEqual ? object.equals(message.obj) : message.obj == object;
    }

    /** Visits one chain; removes what matches, or says whether something does. */
    private boolean search(Match match, Handler handler, int what, Runnable callback, Object object, boolean isRemoval) {
        if (handler == null) {
            return false;
        }
        synchronized (this) {
            boolean isFound = false;
            int key;
            QueueEntry entry;
            switch (match) {
                case WHAT:
                case EQUAL_WHAT:
                    key = EntryTable.BY_WHAT;
                    entry = table.firstOfWhat(handler, what);
                    break;
                case CALLBACK:
                case EQUAL_CALLBACK:
                    key = EntryTable.BY_CALLBACK;
                    entry = table.firstOfCallback(handler, callback);
                    break;
                default:
                    key = EntryTable.BY_HANDLER;
                    entry = table.firstOfHandler(handler);
            }
            while (entry != null) {
                QueueEntry after = entry.chainAfter[key];
                if (isMatch(match, entry.message, handler, what, callback, object)) {
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
        return search(Match.WHAT, handler, what, null, object, false);
    }

    boolean hasEqualMessages(Handler handler, int what, Object object) {
        return search(Match.EQUAL_WHAT, handler, what, null, object, false);
    }

    boolean hasMessages(Handler handler, Runnable callback, Object object) {
        return search(Match.CALLBACK, handler, 0, callback, object, false);
    }

    boolean hasMessages(Handler handler) {
        return search(Match.HANDLER, handler, 0, null, null, false);
    }

    void removeMessages(Handler handler, int what, Object object) {
        search(Match.WHAT, handler, what, null, object, true);
    }

    void removeEqualMessages(Handler handler, int what, Object object) {
        search(Match.EQUAL_WHAT, handler, what, null, object, true);
    }

    void removeMessages(Handler handler, Runnable callback, Object object) {
        if (callback != null) {
            search(Match.CALLBACK, handler, 0, callback, object, true);
        }
    }

    void removeEqualMessages(Handler handler, Runnable callback, Object object) {
        if (callback != null) {
            search(Match.EQUAL_CALLBACK, handler, 0, callback, object, true);
        }
    }

    void removeCallbacksAndMessages(Handler handler, Object object) {
        search(Match.HANDLER, handler, 0, null, object, true);
    }

    void removeCallbacksAndEqualMessages(Handler handler, Object object) {
        search(Match.EQUAL_HANDLER, handler, 0, null, object, true);
    }

    void dump(Printer printer, String prefix, Handler handler) {
        synchronized (this) {
            printer.println(prefix + "(takt queue, looper priority " + looperPriority + ", refused " + refusedCount
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
