// SPDX-License-Identifier: Apache-2.0

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;

/** Exceptions: deep ones, implicit ones, ones that cross threads, and stacks that overflow. */
final class Throwing {
    /** Carries how deep it was thrown. */
    private static final class Deep extends Exception {
        final int depth;

        Deep(int depth, Throwable cause) {
            super("depth " + depth, cause);
            this.depth = depth;
        }
    }

    private int closed;

    private static int fall(int depth, int kind) throws Deep {
        if (depth == 0) {
            throw new Deep(0, implicit(kind));
        }
        try {
            return fall(depth - 1, kind) + 1;
        } catch (Deep deep) {
            if (depth % 16 == 0) {
                throw new Deep(deep.depth + 16, deep);
            }
            throw deep;
        } finally {
            if (depth < 0) {
                implicit(kind);
            }
        }
    }

    /** What the machine itself throws. */
    private static Throwable implicit(int kind) {
        try {
            switch (kind) {
                case 0 -> ((Object) null).hashCode();
                case 1 -> System.out.print(new int[2][0].clone()[kind + 4].length);
                case 2 -> System.out.print(kind / (kind - 2));
                case 3 -> System.out.print((String) (Object) Integer.valueOf(kind));
                case 4 -> ((Object[]) new String[1])[0] = kind;
                default -> System.out.print(new int[-kind].length);
            }
        } catch (RuntimeException failure) {
            return failure;
        }
        throw new AssertionError("kind " + kind + " throws");
    }

    private static final Class<?>[] KINDS = {
        NullPointerException.class, ArrayIndexOutOfBoundsException.class, ArithmeticException.class,
        ClassCastException.class, ArrayStoreException.class, NegativeArraySizeException.class,
    };

    private static int overflow(int depth) {
        return overflow(depth + 1) + 1;
    }

    private void use(boolean failsTwice) throws Exception {
        try (AutoCloseable one = () -> closed++; AutoCloseable other = () -> {
            closed++;
            if (failsTwice) {
                throw new IllegalStateException("in close");
            }
        }) {
            throw new IllegalArgumentException("in body");
        }
    }

    static long round(Stress.Random64 random) throws Exception {
        int depth = 16 * (1 + random.below(20));
        int kind = random.below(KINDS.length);
        try {
            fall(depth, kind);
            Stress.check(false, "it throws");
        } catch (Deep deep) {
            Stress.check(deep.depth == depth, "thrown at " + deep.depth + " not " + depth);
            Throwable root = deep;
            while (root.getCause() != null) {
                root = root.getCause();
            }
            Stress.check(root.getClass() == KINDS[kind], root.toString());
            Stress.check(root.getStackTrace()[1].getMethodName().equals("fall"), "its trace");
            Stress.check(root.getStackTrace().length > depth, "as deep as it was");
        }
        if (random.below(16) == 0) {
            try {
                overflow(0);
            } catch (StackOverflowError error) {
                Stress.check(error.getStackTrace().length == 1024, "a full trace");
            }
        }
        Exception sent = new Exception("sent");
        CompletableFuture<Integer> future = CompletableFuture.supplyAsync(() -> {
            throw new IllegalStateException("there", sent);
        });
        try {
            future.get();
            Stress.check(false, "the future throws");
        } catch (ExecutionException e) {
            Stress.check(e.getCause().getCause() == sent, "the same exception");
        }
        boolean failsTwice = random.below(2) == 0;
        Throwing throwing = new Throwing();
        try {
            throwing.use(failsTwice);
        } catch (IllegalArgumentException e) {
            Stress.check(e.getSuppressed().length == (failsTwice ? 1 : 0) && throwing.closed == 2, "closed");
        }
        return 6;
    }

    private Throwing() {}
}
