// SPDX-License-Identifier: Apache-2.0 Reference objects, finalisers and cleaners: what is cleared,
// enqueued and run, and in which order. Garbage is made deep in other frames, so that no stale word
// of this stack names it.

import java.lang.ref.Cleaner;
import java.lang.ref.PhantomReference;
import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.lang.ref.SoftReference;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.List;
import java.util.WeakHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;

class References {
    static final AtomicInteger FINALIZED = new AtomicInteger();
    static final AtomicInteger CLEANED = new AtomicInteger();
    static Object resurrected;

    static class Finalized {
        final int[] content = {1, 2, 3};

        @Override
        protected void finalize() {
            if (content[0] + content[1] + content[2] != 6) throw new AssertionError("freed too early");
            FINALIZED.incrementAndGet();
        }
    }

    static class Risen {
        final String name = "risen";

        @Override
        protected void finalize() {
            resurrected = this;
        }
    }

    static class Ring {
        Ring next;
        final WeakReference<Ring> self = new WeakReference<>(this);
    }

    /**
     * Collects until `done` says so; a collection may need several to see a finalised object's end.
     */
    static boolean until(BooleanSupplier done) throws InterruptedException {
        for (int attempt = 0; attempt < 200 && !done.getAsBoolean(); attempt++) {
            System.gc();
            Thread.sleep(10);
        }
        return done.getAsBoolean();
    }

    /** Runs `work` with a deep stack below it, which is overwritten before this returns. */
    static void deep(int depth, Runnable work) {
        long a = depth, b = depth + 1, c = depth + 2;
        if (depth == 0) work.run();
        else deep(depth - 1, work);
        if (a + b + c < 0) throw new AssertionError();
    }

    static void apart(Runnable work) throws InterruptedException {
        Thread thread = new Thread(() -> deep(30, work));
        thread.start();
        thread.join();
    }

    static void weakAndPhantom() throws Exception {
        ReferenceQueue<Object> queue = new ReferenceQueue<>();
        List<Reference<?>> references = new ArrayList<>();
        Object kept = new Object();
        apart(() -> {
            for (int i = 0; i < 100; i++) {
                Object lost = new Object();
                references.add(new WeakReference<>(lost, queue));
                references.add(new PhantomReference<>(lost, queue));
            }
            references.add(new WeakReference<>(kept, queue));
        });
        int[] taken = {0};
        boolean all = until(() -> {
            while (queue.poll() != null) taken[0]++;
            return taken[0] >= 200;
        });
        System.out.println("weak and phantom: " + all + ' ' + taken[0]);
        @SuppressWarnings("unchecked")
        WeakReference<Object> last = (WeakReference<Object>) references.get(200);
        System.out.println("held: " + (last.get() == kept) + ' ' + last.refersTo(kept));
        int cleared = 0;
        for (Reference<?> reference : references) if (reference.refersTo(null)) cleared++;
        System.out.println("cleared: " + cleared);
        last.clear();
        System.out.println("by hand: " + last.get() + ' ' + last.enqueue() + ' ' + last.enqueue());
    }

    static void rings() throws Exception {
        List<WeakReference<Ring>> rings = new ArrayList<>();
        apart(() -> {
            for (int i = 0; i < 50; i++) {
                Ring first = new Ring(), second = new Ring();
                first.next = second;
                second.next = first;
                rings.add(first.self);
            }
        });
        System.out.println("rings: " + until(() -> rings.stream().allMatch(it -> it.get() == null)));
    }

    static void soft() throws Exception {
        SoftReference<byte[]> soft = new SoftReference<>(new byte[1000]);
        System.gc();
        System.out.println("soft: " + (soft.get() != null));
    }

    static void maps() throws Exception {
        WeakHashMap<Object, String> map = new WeakHashMap<>();
        Object key = new Object();
        map.put(key, "kept");
        apart(() -> {
            for (int i = 0; i < 100; i++) map.put(new Object(), "lost");
        });
        System.out.println("weak map: " + until(() -> map.size() == 1) + ' ' + map.get(key));
    }

    static void finalizers() throws Exception {
        WeakReference<?>[] weak = new WeakReference<?>[1];
        apart(() -> {
            for (int i = 0; i < 100; i++) new Finalized();
            weak[0] = new WeakReference<>(new Risen());
        });
        System.out.println("finalized: " + until(() -> FINALIZED.get() == 100));
        System.out.println("risen: " + until(() -> resurrected != null) + ' ' + weak[0].get());
        System.out.println(((Risen) resurrected).name);
        resurrected = null;
        System.gc();
        System.runFinalization();
        System.out.println("once: " + resurrected);
    }

    static void cleaners() throws Exception {
        Cleaner cleaner = Cleaner.create();
        Object kept = new Object();
        cleaner.register(kept, () -> System.out.println("cleaned by hand")).clean();
        apart(() -> {
            for (int i = 0; i < 100; i++) cleaner.register(new Object(), CLEANED::incrementAndGet);
        });
        System.out.println("cleaned: " + until(() -> CLEANED.get() == 100));
        Reference.reachabilityFence(kept);
    }

    public static void main(String[] args) throws Exception {
        weakAndPhantom();
        rings();
        maps();
        finalizers();
        cleaners();
        soft();
        Runtime runtime = Runtime.getRuntime();
        boolean sane = runtime.totalMemory() <= runtime.maxMemory()
            && runtime.freeMemory() <= runtime.totalMemory() && runtime.freeMemory() > 0;
        System.out.println("memory: " + sane);
    }
}
