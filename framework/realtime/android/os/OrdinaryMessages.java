// SPDX-License-Identifier: Apache-2.0
package android.os;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;

/**
 * What ordinary threads sent to a queue.
 *
 * <p>A sender that finds many unsorted sorts in some under this object's lock, and may be preempted
 * there. A looper that waited for the lock could not be reached by what is urgent until it was
 * handed over. So the sorter offers the looper the next message, which it takes without
 * the lock; while there is none and somebody sorts, the looper sleeps, and the sorter
 * wakes it.
 *
 * <p>{@link #add}, {@link #hasArrived}, {@link #isOfferToCome}, {@link #offered}, {@link
 * #takeOffered} and {@link #sortInSome} are for any thread; everything else is for the lock's
 * holder: the looper, and who searches.
 */
final class OrdinaryMessages {
    final SortedEntries sorted = new SortedEntries(1);
    private final OrdinaryArrivals arrivals = new OrdinaryArrivals();
    private final UrgentMessages urgent;
    /**
     * The first of all that are here, due, and in neither {@link #sorted} nor {@link #arrivals}; or
     * null. Only the lock's holder puts one here, and only into an empty place.
     */
    private final AtomicReference<QueueEntry> offer = new AtomicReference<>();
    /** Senders that sort in, or want to. */
    private final AtomicInteger sorters = new AtomicInteger();
    /**
     * Something was sent to the front of the queue, before what was or would be offered, and no
     * offer was taken since.
     */
    private volatile boolean isFrontSent;
    private boolean isClosed;

    /** Sorting in is interrupted for what is urgent. */
    OrdinaryMessages(UrgentMessages urgent) {
        this.urgent = urgent;
    }

    /** Answers about how many are not taken by who sorts in. */
    int add(QueueEntry entry) {
        return arrivals.add(entry);
    }

    /** Lies something there that nobody has taken to sort it in? */
    boolean hasArrived() {
        return !arrivals.isEmpty();
    }

    /**
     * Will somebody who sorts in offer something? Not in front of what was sent to the front of the
     * queue.
     */
    boolean isOfferToCome() {
        return sorters.get() > 0 && !isFrontSent;
    }

    /**
     * What {@link #takeOffered} may take: the next message if nothing was sent meanwhile that comes
     * before it; else null.
     */
    QueueEntry offered() {
        QueueEntry entry = offer.get();
        return entry != null && arrivals.areAnnouncedAfter(entry) ? entry : null;
    }

    /**
     * False if it is not offered any more. If it is, nothing that was announced before {@link
     * #offered} comes before it: who takes what was announced withdraws the offer before.
     */
    boolean takeOffered(QueueEntry entry) {
        boolean isTaken = offer.compareAndSet(entry, null);
        if (isTaken && isFrontSent) {
            isFrontSent = false;
        }
        return isTaken;
    }

    /** Puts back what is offered. */
    private void withdraw(long nowNanos) {
        QueueEntry entry = offer.getAndSet(null);
        if (entry != null) {
            sorted.putBack(entry, nowNanos);
        }
    }

    /**
     * An ordinary sender's: up to {@code steps} times some, fewer if something urgent has come or
     * nothing is left. Takes the lock; answers how many steps are left.
     */
    int sortInSome(int steps) {
        int left = steps;
        sorters.incrementAndGet();
        try {
            synchronized (this) {
                long nowNanos = SystemClock.uptimeNanos();
                do {
                    if (isClosed || !arrivals.hasBatch() && !takeBatch(nowNanos)) {
                        left = 0;
                        break;
                    }
                    sorted.addAll(arrivals.takeSome(), nowNanos);
                    left--;
                } while (left > 0 && !urgent.hasArrived());
                offerNext(nowNanos);
            }
        } finally {
            sorters.decrementAndGet();
        }
        return left;
    }

    /**
     * Leaves the offer where it is, if that is still the next: the looper shall find it whenever it
     * comes.
     */
    private boolean takeBatch(long nowNanos) {
        QueueEntry entry = offer.getAndSet(null);
        boolean isTaken = arrivals.takeBatch();
        if (entry != null && arrivals.areAfter(entry)) {
            offer.set(entry);
        } else if (entry != null) {
            sorted.putBack(entry, nowNanos);
        }
        return isTaken;
    }

    private void offerNext(long nowNanos) {
        if (arrivals.areForFront()) {
            isFrontSent = true;
        }
        if (offer.get() == null) {
            QueueEntry entry = sorted.due(nowNanos);
            if (entry != null && arrivals.areAfter(entry)) {
                sorted.remove(entry);
                offer.set(entry);
            }
        }
    }

    /**
     * The looper's next entry, or null: the first in AOSP's order of all that had arrived at some
     * time during this call. What has not been sorted in when it is found comes after it, or
     * arrived after what did was taken whole. Ends with null as soon as something urgent has
     * arrived. What was offered is put back.
     */
    QueueEntry findDue(long nowNanos) {
        withdraw(nowNanos);
        boolean isTaken = false;
        boolean isSome = false;
        while (!urgent.hasArrived()) {
            QueueEntry due = sorted.due(nowNanos);
            if (due != null && isSome && arrivals.areAfter(due)) {
                return due;
            }
            if (!arrivals.hasBatch()) {
                if (isTaken || !arrivals.takeBatch()) {
                    return due;
                }
                isTaken = true;
            }
            // Some in any case: else they would pile up behind what is due.
            sorted.addAll(arrivals.takeSome(), nowNanos);
            isSome = true;
        }
        return null;
    }

    /** All that had arrived before the call; and what was offered is put back. */
    void sortInAll(long nowNanos) {
        withdraw(nowNanos);
        boolean isTaken = false;
        while (true) {
            if (!arrivals.hasBatch()) {
                if (isTaken || !arrivals.takeBatch()) {
                    return;
                }
                isTaken = true;
            }
            sorted.addAll(arrivals.takeSome(), nowNanos);
        }
    }

    /** The looper takes it. */
    Message take(QueueEntry entry) {
        sorted.remove(entry);
        return entry.message;
    }

    /** Recycles what is for later than a time; from here on no sender sorts in. */
    void close(long limitNanos) {
        isClosed = true;
        sorted.recycleAfter(limitNanos);
    }

    /** What was sent when the queue had quit already. */
    void recycleArrivals() {
        while (arrivals.hasBatch() || arrivals.takeBatch()) {
            QueueEntry.recycleChain(arrivals.takeSome());
        }
    }
}
