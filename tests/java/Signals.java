// SPDX-License-Identifier: Apache-2.0

import java.util.concurrent.SynchronousQueue;
import sun.misc.Signal;
import sun.misc.SignalHandler;

/** Signals that this program sends to itself; the last one ends it, hooks included. */
public class Signals {
    public static void main(String[] args) throws Exception {
        SynchronousQueue<String> came = new SynchronousQueue<>();
        SignalHandler handler = signal -> {
            try {
                came.put(signal + " " + signal.getNumber() + " on a daemon: " + Thread.currentThread().isDaemon());
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        };
        Signal cont = new Signal("CONT");
        System.out.println("before: " + (Signal.handle(cont, handler) == SignalHandler.SIG_DFL));
        for (int i = 0; i < 3; i++) {
            Signal.raise(cont);
            System.out.println(came.take());
        }
        System.out.println("again: " + (Signal.handle(cont, SignalHandler.SIG_IGN) == handler));
        for (String name : new String[] {"SEGV", "QUIT", "NOSUCH"}) {
            try {
                Signal.handle(new Signal(name), handler);
                System.out.println(name + " taken");
            } catch (IllegalArgumentException e) {
                System.out.println(e.getMessage());
            }
        }
        Runtime.getRuntime().addShutdownHook(new Thread(() -> System.out.println("hook")));
        Signal.raise(new Signal("TERM"));
        Thread.sleep(60_000);
        System.out.println("not reached");
    }
}
