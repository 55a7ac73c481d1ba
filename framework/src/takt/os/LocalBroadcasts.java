// SPDX-License-Identifier: Apache-2.0
package takt.os;

import android.content.BroadcastReceiver;
import android.content.Context;
import android.content.Intent;
import android.content.IntentFilter;
import android.os.Handler;
import android.os.Message;
import java.util.Arrays;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicLong;
import takt.framework.RealtimeThread;

/**
 * Broadcasts within one process, for both support libraries' {@code LocalBroadcastManager}; after
 * the RTAndroid thesis, 7.2.4.
 *
 * <p>What is sent asynchronously is a message of the process's main looper, as urgent as its sender
 * or as the intent says ({@link RealtimeIntent#EXTRA_PRIORITY}), if that is less. So the looper
 * handles the most urgent first and runs at its priority. What is sent synchronously is received in
 * the sender's thread at once, and nothing else is.
 *
 * <p>A send takes no lock. It costs as much as there are receivers of its action.
 */
public final class LocalBroadcasts {
    private static final String TAG = "LocalBroadcasts";
    private static final Registration[] NONE = {};

    /** One receiver with one of its filters. */
    private static final class Registration {
        private final BroadcastReceiver receiver;
        private final IntentFilter filter;
        /** Since it was unregistered. */
        private volatile boolean isOver;

        Registration(BroadcastReceiver receiver, IntentFilter filter) {
            this.receiver = receiver;
            this.filter = filter;
        }
    }

    private final Context context;
    private final Handler handler;
    /** Arrays are never changed. */
    private final ConcurrentHashMap<String, Registration[]> byAction = new ConcurrentHashMap<>();
    private final List<Registration> all = new CopyOnWriteArrayList<>();
    private final AtomicLong refused = new AtomicLong();

    /** Of a process: any context of it. */
    public LocalBroadcasts(Context context) {
        Context application = context.getApplicationContext();
        this.context = application == null ? context : application;
        handler = new Handler(this.context.getMainLooper());
    }

    /** The receiver gets what this filter takes as well, until it is unregistered. */
    public void register(BroadcastReceiver receiver, IntentFilter filter) {
        Registration registration = new Registration(receiver, filter);
        all.add(registration);
        for (String action : actions(filter)) {
            byAction.merge(action, new Registration[] {registration}, LocalBroadcasts::joined);
        }
    }

    /** It gets nothing any more, not what was sent before either. */
    public void unregister(BroadcastReceiver receiver) {
        for (Registration registration : all) {
            if (registration.receiver == receiver) {
                registration.isOver = true;
                all.remove(registration);
                for (String action : actions(registration.filter)) {
                    byAction.computeIfPresent(action, (name, before) -> without(before, registration));
                }
            }
        }
    }

    /**
     * Sends to the main looper; whether it will be received. False as well where the looper has no
     * room for an urgent one: {@link #refusedCount()}.
     */
    public boolean send(Intent intent) {
        Registration[] receivers = matching(intent);
        if (receivers.length == 0) {
            return false;
        }
        Message message = Message.obtain(handler, () -> deliver(intent, receivers));
        int own = intent.getIntExtra(RealtimeIntent.EXTRA_PRIORITY, -1);
        boolean isSent = own < 0 ? handler.sendMessage(message) : sendAtMost(message, own);
        if (!isSent) {
            refused.incrementAndGet();
        }
        return isSent;
    }

    private boolean sendAtMost(Message message, int priority) {
        int before = RealtimeThread.sendAtMost(Math.min(priority, RealtimeThread.priority()));
        try {
            return handler.sendMessage(message);
        } finally {
            RealtimeThread.sendAtMost(before);
        }
    }

    /** Has it received before this returns, by the calling thread. */
    public void sendSync(Intent intent) {
        deliver(intent, matching(intent));
    }

    /** Urgent broadcasts that the main looper had no room for. */
    public long refusedCount() {
        return refused.get();
    }

    private void deliver(Intent intent, Registration[] receivers) {
        for (Registration registration : receivers) {
            if (!registration.isOver) {
                registration.receiver.onReceive(context, intent);
            }
        }
    }

    /** In the order of their registration. */
    private Registration[] matching(Intent intent) {
        String action = intent.getAction();
        Registration[] candidates = action == null ? NONE : byAction.getOrDefault(action, NONE);
        if (candidates.length == 0) {
            return NONE;
        }
        String type = intent.resolveTypeIfNeeded(context.getContentResolver());
        Registration[] found = new Registration[candidates.length];
        int count = 0;
        for (Registration registration : candidates) {
            if (matches(registration.filter, intent, type)) {
                found[count] = registration;
                count++;
            }
        }
        return count == found.length ? found : Arrays.copyOf(found, count);
    }

    private static boolean matches(IntentFilter filter, Intent intent, String type) {
        int match = filter.match(
                intent.getAction(), type, intent.getScheme(), intent.getData(), intent.getCategories(), TAG);
        return match >= 0;
    }

    private static Set<String> actions(IntentFilter filter) {
        Set<String> actions = new LinkedHashSet<>();
        for (Iterator<String> each = filter.actionsIterator(); each != null && each.hasNext();) {
            actions.add(each.next());
        }
        return actions;
    }

    private static Registration[] joined(Registration[] before, Registration[] more) {
        Registration[] joined = Arrays.copyOf(before, before.length + more.length);
        System.arraycopy(more, 0, joined, before.length, more.length);
        return joined;
    }

    /** Null if none is left. */
    private static Registration[] without(Registration[] before, Registration one) {
        Registration[] left = Arrays.stream(before).filter(it -> it != one).toArray(Registration[]::new);
        return left.length == 0 ? null : left;
    }
}
