// SPDX-License-Identifier: Apache-2.0
package takt.server;

import android.content.ComponentName;
import android.content.Intent;
import android.content.pm.ActivityInfo;
import java.util.ArrayList;
import java.util.List;
import takt.framework.Natives;

/**
 * Where activities go: tasks, launch modes, flags, results. Decided in Rust, by the server that
 * several applications share; {@link Activities} carries out what comes back. This one is in the
 * process itself; {@link SystemStack} asks the one of {@code takt system}.
 *
 * <p>Each call that changes something answers with steps: {@link Steps} reads them.
 */
class ActivityStack {
    /** Answers to {@link #start}: what became of it, and of which activity or task. */
    static final int NEW = 0;
    static final int DELIVERED = 1;
    static final int FRONT = 2;
    static final int FORWARD_AND_REQUEST = -1;
    static final int FULL = -2;
    /** The system server's answer alone: here the caller looks first. */
    static final int NOT_FOUND = -3;

    static {
        Natives.load();
    }

    /** What a start is; {@code info} is null where the system server finds the activity. */
    long[] start(long source, boolean hasRequest, int request, ActivityInfo info, Intent intent, long payload) {
        List<String> texts = new ArrayList<>();
        texts.add(info.targetActivity == null ? info.name : info.targetActivity);
        texts.add(info.taskAffinity);
        texts.add(intent.getAction());
        texts.add(intent.getDataString());
        texts.add(intent.getType());
        texts.add(intent.getIdentifier());
        if (intent.getCategories() != null) {
            texts.addAll(intent.getCategories());
        }
        long noHistory = (info.flags & ActivityInfo.FLAG_NO_HISTORY) != 0 ? 1 : 0;
        return start(texts.toArray(new String[0]), new long[] {source, hasRequest ? 1 : 0, request, info.launchMode,
                info.documentLaunchMode, noHistory, intent.getFlags() & 0xffff_ffffL, payload});
    }

    private native long[] start(String[] texts, long[] numbers);

    native long[] finish(long id, int code, long data, int task);

    native long[] finishStarted(long id, int request);

    native long[] finishAffinity(long id);

    native long[] moveTaskToBack(long id);

    native long[] relaunch(long id);

    native long[] resumed(long id);

    native long[] paused(long id);

    native long[] idle(long id);

    native long[] endAll();

    native int taskOf(long id);

    native boolean isTop(long id);

    native boolean isRoot(long id);

    native long caller(long id);

    /** Is it that of this process alone? */
    boolean isOwn() {
        return true;
    }

    /** onStop has returned: here nobody waits for it but the watchdog. */
    long[] stopped(long id) {
        return new long[0];
    }

    /** An activity of another process; here there is none. */
    ComponentName componentOf(long id) {
        return null;
    }

    /** Where a step leaves an activity: the numbers of Rust's {@code Then}. */
    static final int STAY = 0;
    static final int RESUME = 1;
    static final int PAUSE = 2;
    static final int STOP = 3;
    static final int DESTROY = 4;

    /** Reads what a call answered, number by number. */
    static final class Steps {
        private final long[] numbers;
        private int at;

        Steps(long[] numbers, int from) {
            this.numbers = numbers;
            at = from;
        }

        boolean hasNext() {
            return at < numbers.length;
        }

        long next() {
            return numbers[at++];
        }
    }
}
