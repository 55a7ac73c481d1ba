// SPDX-License-Identifier: Apache-2.0 What is finalizable is found at once, however it hangs
// together: one collection finalizes a whole chain of garbage, and what a finalizer reaches by
// reference objects alone is still there.

import java.lang.ref.PhantomReference;
import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;
import java.util.concurrent.atomic.AtomicInteger;

class Chained {
    static final int LINKS = 1000;
    static final AtomicInteger FINALIZED = new AtomicInteger();
    static volatile String found;

    static class Link {
        Link next, last;
        Object[] beside;

        @Override
        protected void finalize() {
            FINALIZED.incrementAndGet();
        }
    }

    static class Plain {
        Object next;
    }

    /** Names another ring by a weak reference alone. */
    static class Ring {
        final Ring self = this;
        final WeakReference<Plain> weak;

        Ring(Plain other) {
            weak = new WeakReference<>(other);
        }

        @Override
        protected void finalize() {
            Plain other = weak.get();
            found = other == null ? "cleared" : other.next == other ? "whole" : "broken";
        }
    }

    static void chain() {
        Link first = null;
        for (int i = 0; i < LINKS; i++) {
            Link link = new Link();
            link.next = first;
            first = link;
        }
    }

    static void bothWays() {
        Link first = null;
        for (int i = 0; i < LINKS; i++) {
            Link link = new Link();
            link.next = first;
            if (first != null) first.last = link;
            first = link;
        }
    }

    /** Between two links lie a plain object, an array and, here and there, a ring. */
    static void mixed() {
        Link first = null;
        for (int i = 0; i < LINKS; i++) {
            Link link = new Link();
            Plain plain = new Plain();
            plain.next = first;
            link.beside = new Object[] {plain, i % 10 == 0 ? link : null};
            first = link;
        }
    }

    static void ring() {
        Plain other = new Plain();
        other.next = other;
        new Ring(other);
    }

    static WeakReference<Plain> weak;
    static WeakReference<Link> weakToFirst;
    static PhantomReference<Link> phantom;
    static final ReferenceQueue<Link> QUEUE = new ReferenceQueue<>();

    /** Reference objects to what is finalizable, and to what that alone holds. */
    static void referred() {
        Link link = new Link();
        Plain plain = new Plain();
        link.beside = new Object[] {plain};
        weak = new WeakReference<>(plain);
        weakToFirst = new WeakReference<>(link);
        phantom = new PhantomReference<>(link, QUEUE);
    }

    static void apart(Runnable work) throws InterruptedException {
        Thread thread = new Thread(work);
        thread.start();
        thread.join();
    }

    static boolean await(int count) throws InterruptedException {
        for (int i = 0; i < 3000 && FINALIZED.get() < count; i++) Thread.sleep(10);
        return FINALIZED.get() == count;
    }

    static void once(String name, Runnable work) throws InterruptedException {
        FINALIZED.set(0);
        apart(work);
        System.gc();
        System.out.println(name + ": " + await(LINKS));
    }

    public static void main(String[] args) throws InterruptedException {
        once("chain", Chained::chain);
        once("both ways", Chained::bothWays);
        once("mixed", Chained::mixed);
        apart(Chained::ring);
        System.gc();
        for (int i = 0; i < 3000 && found == null; i++) Thread.sleep(10);
        System.out.println("ring: " + found);
        FINALIZED.set(0);
        apart(Chained::referred);
        System.gc();
        System.out.println("referred: " + weak.refersTo(null) + ' ' + weakToFirst.refersTo(null));
        System.out.println("finalized: " + await(1));
        boolean isEnqueued = false;
        for (int i = 0; i < 100 && !isEnqueued; i++) {
            System.gc();
            isEnqueued = QUEUE.remove(20) == phantom;
        }
        System.out.println("phantom: " + isEnqueued);
    }
}
