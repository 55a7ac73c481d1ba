// SPDX-License-Identifier: Apache-2.0

package torture;

import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;
import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE_INTERESTING;
import static org.openjdk.jcstress.annotations.Expect.FORBIDDEN;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.atomic.AtomicInteger;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;
import org.openjdk.jcstress.infra.results.IIII_Result;
import org.openjdk.jcstress.infra.results.I_Result;
import org.openjdk.jcstress.infra.results.J_Result;

/** What the memory model promises, in the words of its own test harness. */
public class Memory {
    /** Store buffers: volatile forbids that both read what was before. */
    @JCStressTest
    @Outcome(id = "0, 0", expect = FORBIDDEN, desc = "both read before both wrote")
    @Outcome(expect = ACCEPTABLE, desc = "in some order")
    @State
    public static class Dekker {
        volatile int x;
        volatile int y;

        @Actor
        public void one(II_Result r) {
            x = 1;
            r.r1 = y;
        }

        @Actor
        public void two(II_Result r) {
            y = 1;
            r.r2 = x;
        }
    }

    /** What was written before a volatile store is seen after its load. */
    @JCStressTest
    @Outcome(id = "1, 0", expect = FORBIDDEN, desc = "the flag without the value")
    @Outcome(expect = ACCEPTABLE, desc = "in order")
    @State
    public static class Publication {
        int value;
        volatile int flag;

        @Actor
        public void writer() {
            value = 1;
            flag = 1;
        }

        @Actor
        public void reader(II_Result r) {
            r.r1 = flag;
            r.r2 = value;
        }
    }

    /** The same by acquire and release. */
    @JCStressTest
    @Outcome(id = "1, 0", expect = FORBIDDEN, desc = "the flag without the value")
    @Outcome(expect = ACCEPTABLE, desc = "in order")
    @State
    public static class Released {
        private static final VarHandle FLAG;

        static {
            try {
                FLAG = MethodHandles.lookup().findVarHandle(Released.class, "flag", int.class);
            } catch (ReflectiveOperationException e) {
                throw new AssertionError(e);
            }
        }

        int value;
        int flag;

        @Actor
        public void writer() {
            value = 1;
            FLAG.setRelease(this, 1);
        }

        @Actor
        public void reader(II_Result r) {
            r.r1 = (int) FLAG.getAcquire(this);
            r.r2 = value;
        }
    }

    /** A monitor admits one at a time. */
    @JCStressTest
    @Outcome(id = "2", expect = ACCEPTABLE, desc = "both count")
    @Outcome(expect = FORBIDDEN, desc = "an update is lost")
    @State
    public static class Monitors {
        int count;

        @Actor
        public void one() {
            synchronized (this) {
                count++;
            }
        }

        @Actor
        public void two() {
            synchronized (this) {
                count++;
            }
        }

        @Arbiter
        public void both(I_Result r) {
            r.r1 = count;
        }
    }

    /** Atomic updates are. */
    @JCStressTest
    @Outcome(id = "1, 2", expect = ACCEPTABLE, desc = "one before the other")
    @Outcome(id = "2, 1", expect = ACCEPTABLE, desc = "the other before the one")
    @Outcome(expect = FORBIDDEN, desc = "an update is lost")
    @State
    public static class Atomics {
        final AtomicInteger count = new AtomicInteger();

        @Actor
        public void one(II_Result r) {
            r.r1 = count.incrementAndGet();
        }

        @Actor
        public void two(II_Result r) {
            r.r2 = count.incrementAndGet();
        }
    }

    /** A final field is seen as its constructor left it, however the object came to be seen. */
    @JCStressTest
    @Outcome(id = {"-1", "42"}, expect = ACCEPTABLE, desc = "not seen, or seen whole")
    @Outcome(expect = FORBIDDEN, desc = "seen half made")
    @State
    public static class Finals {
        static final class Box {
            final int value;

            Box(int value) {
                this.value = value;
            }
        }

        Box box;

        @Actor
        public void writer() {
            box = new Box(42);
        }

        @Actor
        public void reader(I_Result r) {
            Box seen = box;
            r.r1 = seen == null ? -1 : seen.value;
        }
    }

    /** Independent reads of independent volatile writes agree on their order. */
    @JCStressTest
    @Outcome(id = "1, 0, 1, 0", expect = FORBIDDEN, desc = "two orders at once")
    @Outcome(expect = ACCEPTABLE, desc = "one order")
    @State
    public static class Independent {
        volatile int x;
        volatile int y;

        @Actor
        public void writesX() {
            x = 1;
        }

        @Actor
        public void writesY() {
            y = 1;
        }

        @Actor
        public void readsX(IIII_Result r) {
            r.r1 = x;
            r.r2 = y;
        }

        @Actor
        public void readsY(IIII_Result r) {
            r.r3 = y;
            r.r4 = x;
        }
    }

    /** Nothing comes out of thin air, and a volatile long is never torn. */
    @JCStressTest
    @Outcome(id = {"0", "-1"}, expect = ACCEPTABLE, desc = "whole")
    @Outcome(expect = FORBIDDEN, desc = "torn")
    @State
    public static class Longs {
        volatile long value;

        @Actor
        public void writer() {
            value = -1;
        }

        @Actor
        public void reader(J_Result r) {
            r.r1 = value;
        }
    }

    /** Without any order both may read what was before: the harness must be able to see that. */
    @JCStressTest
    @Outcome(id = "0, 0", expect = ACCEPTABLE_INTERESTING, desc = "both read before both wrote")
    @Outcome(expect = ACCEPTABLE, desc = "in some order")
    @State
    public static class Plain {
        int x;
        int y;

        @Actor
        public void one(II_Result r) {
            x = 1;
            r.r1 = y;
        }

        @Actor
        public void two(II_Result r) {
            y = 1;
            r.r2 = x;
        }
    }
}
