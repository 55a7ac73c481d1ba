// SPDX-License-Identifier: Apache-2.0
package javax.realtime;

import java.lang.ref.WeakReference;
import java.util.ArrayList;

/** The threads that use a set of parameters and must hear of changes. */
final class Users {
    private final ArrayList<WeakReference<RealtimeThread>> threads = new ArrayList<>();

    synchronized void add(RealtimeThread thread) {
        threads.removeIf(it -> it.get() == null);
        threads.add(new WeakReference<>(thread));
    }

    synchronized void remove(RealtimeThread thread) {
        threads.removeIf(it -> it.get() == null || it.get() == thread);
    }

    synchronized void tell() {
        for (WeakReference<RealtimeThread> reference : threads) {
            RealtimeThread thread = reference.get();
            if (thread != null) {
                thread.takeParameters();
            }
        }
    }
}
