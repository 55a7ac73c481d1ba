// SPDX-License-Identifier: Apache-2.0
// How deep main, a thread, and a thread that was told 64 MB go before StackOverflowError: frames.

public class Deep {
    private static int depth;

    public static void main(String[] arguments) throws InterruptedException {
        int main = dive();
        System.out.println(main + " " + diveIn(0) + " " + diveIn(64 << 20));
    }

    private static int diveIn(long stackBytes) throws InterruptedException {
        int[] reached = new int[1];
        Thread thread = new Thread(null, () -> reached[0] = dive(), "deep", stackBytes);
        thread.start();
        thread.join();
        return reached[0];
    }

    private static int dive() {
        depth = 0;
        try {
            sink();
        } catch (StackOverflowError e) {
            return depth;
        }
        throw new AssertionError();
    }

    private static void sink() {
        depth++;
        sink();
    }
}
