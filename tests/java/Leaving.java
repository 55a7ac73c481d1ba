// SPDX-License-Identifier: Apache-2.0
/**
 * The thread of main ends while daemons keep the collector at work: nobody waits for it, nothing is
 * said.
 */
public class Leaving {
    public static void main(String[] args) throws InterruptedException {
        for (int i = 0; i < 2; i++) {
            Thread daemon = new Thread(() -> {
                while (true) {
                    System.gc();
                }
            });
            daemon.setDaemon(true);
            daemon.start();
        }
        Thread.sleep(50);
        System.out.println("left");
    }
}
