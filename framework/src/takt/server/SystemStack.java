// SPDX-License-Identifier: Apache-2.0
package takt.server;

import android.content.ComponentName;
import android.content.Intent;
import android.content.pm.ActivityInfo;
import android.os.RemoteException;
import java.util.function.LongFunction;
import takt.system.ISystem;

/**
 * Where activities go, decided by {@code takt system}. Its answers hold no steps: these come to
 * {@link SystemLink} in their order, whoever caused them.
 */
final class SystemStack extends ActivityStack {
    private static final long[] NO_STEPS = {};

    private final ISystem system;
    private final LongFunction<Intent> kept;

    /** {@code kept} gives up an intent that {@link Activities} has numbered. */
    SystemStack(ISystem system, LongFunction<Intent> kept) {
        this.system = system;
        this.kept = kept;
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

    private long[] tell(int what, long id) {
        return answer(() -> {
            system.tell(what, id);
            return NO_STEPS;
        });
    }

    @Override
    boolean isOwn() {
        return false;
    }

    @Override
    long[] start(long source, boolean hasRequest, int request, ActivityInfo info, Intent intent, long payload) {
        kept.apply(payload);
        return answer(() -> system.startActivity(Wishes.of(intent, null), source, hasRequest, request));
    }

    @Override
    long[] finish(long id, int code, long data, int task) {
        Intent result = data == 0 ? null : kept.apply(data);
        return answer(() -> {
            system.finishActivity(id, code, result == null ? Wishes.none() : Wishes.of(result, null), task);
            return NO_STEPS;
        });
    }

    @Override
    long[] finishStarted(long id, int request) {
        return answer(() -> {
            system.finishStarted(id, request);
            return NO_STEPS;
        });
    }

    @Override
    long[] finishAffinity(long id) {
        return tell(ISystem.FINISH_AFFINITY, id);
    }

    @Override
    long[] moveTaskToBack(long id) {
        return tell(ISystem.MOVE_TASK_TO_BACK, id);
    }

    @Override
    long[] relaunch(long id) {
        return tell(ISystem.RELAUNCH, id);
    }

    @Override
    long[] resumed(long id) {
        return tell(ISystem.RESUMED, id);
    }

    @Override
    long[] paused(long id) {
        return tell(ISystem.PAUSED, id);
    }

    @Override
    long[] stopped(long id) {
        return tell(ISystem.STOPPED, id);
    }

    @Override
    long[] idle(long id) {
        return tell(ISystem.IDLE, id);
    }

    /** They are the server's to end. */
    @Override
    long[] endAll() {
        return NO_STEPS;
    }

    @Override
    int taskOf(long id) {
        return (int) (long) answer(() -> system.ask(ISystem.TASK, id));
    }

    @Override
    boolean isTop(long id) {
        return answer(() -> system.ask(ISystem.IS_TOP, id)) != 0;
    }

    @Override
    boolean isRoot(long id) {
        return answer(() -> system.ask(ISystem.IS_ROOT, id)) != 0;
    }

    @Override
    long caller(long id) {
        return answer(() -> system.ask(ISystem.CALLER, id));
    }

    @Override
    ComponentName componentOf(long id) {
        String name = answer(() -> system.componentOf(id));
        return name == null ? null : ComponentName.unflattenFromString(name);
    }
}
