// SPDX-License-Identifier: Apache-2.0
package takt.server;

import android.content.ComponentName;
import android.content.Intent;
import android.os.Bundle;
import android.os.RemoteException;
import android.util.Log;
import takt.system.ISystem;

/**
 * Where activities go: tasks, launch modes, flags, results. Decided by the system server; {@link
 * Activities} carries out what it asks for. Answers here hold no steps: these come to {@link
 * SystemLink} in their order, no matter who caused them.
 */
final class ActivityStack {
    /** What became of a start. */
    static final int NEW = 0;
    static final int DELIVERED = 1;
    static final int FRONT = 2;
    static final int FORWARD_AND_REQUEST = -1;
    static final int FULL = -2;
    static final int NOT_FOUND = -3;

    /** Where a step leaves an activity: the numbers of Rust's {@code Then}. */
    static final int STAY = 0;
    static final int RESUME = 1;
    static final int PAUSE = 2;
    static final int STOP = 3;
    static final int DESTROY = 4;

    private final ISystem system;

    ActivityStack(ISystem system) {
        this.system = system;
    }

    /** A call that goes as long as the server does: without it the process ends. */
    private interface Call<T> {
        T ask() throws RemoteException;
    }

    private static <T> T answer(Call<T> call) {
        try {
            return call.ask();
        } catch (RemoteException e) {
            throw e.rethrowFromSystemServer();
        }
    }

    private void tell(int what, long id) {
        answer(() -> {
            system.tell(what, id);
            return null;
        });
    }

    int start(long source, boolean hasRequest, int request, Intent intent) {
        return (int) answer(() -> system.startActivity(Wishes.of(intent, null), source, hasRequest, request))[0];
    }

    /** Without data the result is null. */
    void finish(long id, int code, Intent result, int task) {
        answer(() -> {
            system.finishActivity(id, code, result == null ? Wishes.none() : Wishes.of(result, null), task);
            return null;
        });
    }

    void finishStarted(long id, int request) {
        answer(() -> {
            system.finishStarted(id, request);
            return null;
        });
    }

    void finishAffinity(long id) {
        tell(ISystem.FINISH_AFFINITY, id);
    }

    void moveTaskToBack(long id) {
        tell(ISystem.MOVE_TASK_TO_BACK, id);
    }

    void relaunch(long id) {
        tell(ISystem.RELAUNCH, id);
    }

    void resumed(long id) {
        tell(ISystem.RESUMED, id);
    }

    void paused(long id) {
        tell(ISystem.PAUSED, id);
    }

    /** What it saved comes back with its next start, if its process ends before. */
    void stopped(long id, Bundle saved) {
        answer(() -> {
            try {
                system.stopped(id, Wishes.of(saved));
            } catch (IllegalArgumentException e) {
                Log.w("Takt", "what an activity saved is not kept: " + e.getMessage());
            }
            return null;
        });
    }

    /** The looper had nothing more to do. */
    void idle() {
        tell(ISystem.IDLE, 0);
    }

    int taskOf(long id) {
        return (int) (long) answer(() -> system.ask(ISystem.TASK, id));
    }

    boolean isTop(long id) {
        return answer(() -> system.ask(ISystem.IS_TOP, id)) != 0;
    }

    boolean isRoot(long id) {
        return answer(() -> system.ask(ISystem.IS_ROOT, id)) != 0;
    }

    /** Who waits for its result; 0 if nobody does. */
    long caller(long id) {
        return answer(() -> system.ask(ISystem.CALLER, id));
    }

    /** Of an activity in whatever process; null if it is not there. */
    ComponentName componentOf(long id) {
        String name = answer(() -> system.componentOf(id));
        return name == null ? null : ComponentName.unflattenFromString(name);
    }

    /** Reads a step, number by number. */
    static final class Steps {
        private final long[] numbers;
        private int at;

        Steps(long[] numbers) {
            this.numbers = numbers;
        }

        boolean hasNext() {
            return at < numbers.length;
        }

        long next() {
            return numbers[at++];
        }
    }
}
