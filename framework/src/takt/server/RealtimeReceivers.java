// SPDX-License-Identifier: Apache-2.0
package takt.server;

import android.app.ActivityThread;
import android.app.Application;
import android.content.Intent;
import android.content.pm.ActivityInfo;
import android.os.RemoteException;
import android.util.Log;
import java.util.HashMap;
import java.util.Map;
import javax.realtime.PriorityParameters;
import javax.realtime.PriorityScheduler;
import takt.framework.RealtimeThread;
import takt.os.RealtimeIntent;
import takt.os.RealtimeReceiver;
import takt.server.Channels.Channel;
import takt.server.Station.Waiting;

/** Receivers of the manifest that have a real-time thread of their own. */
final class RealtimeReceivers {
    private static final String TAG = "Takt";

    private final AppProcess process;
    private final Channels channels;
    /** By class; null for an ordinary receiver. */
    private final Map<String, Host> hosts = new HashMap<>();

    RealtimeReceivers(AppProcess process, Channels channels) {
        this.process = process;
        this.channels = channels;
    }

    /** Makes those of this process that declare a priority: what they reach is compiled now. */
    void prepare() {
        for (InstalledPackage.Component it : process.installed.components) {
            boolean isOwn = it.info.processName.equals(process.installed.processName);
            if (it.is(InstalledPackage.RECEIVER) && isOwn && Urgency.priority(it.info, 0) > 0) {
                host((ActivityInfo) it.info);
            }
        }
    }

    /** Takes a broadcast if its receiver is a real-time one. */
    boolean take(Intent intent, ActivityInfo component, int priority, Runnable done) {
        Host host = host(component);
        if (host == null) {
            return false;
        }
        RealtimeIntent own = new RealtimeIntent(intent);
        own.setExtrasClassLoader(application().getClassLoader());
        own.setPriority(priority);
        host.take(new Waiting(own, channels.of(intent.getAction()), priority, done));
        return true;
    }

    private synchronized Host host(ActivityInfo component) {
        if (!hosts.containsKey(component.name)) {
            hosts.put(component.name, made(component));
        }
        return hosts.get(component.name);
    }

    private Host made(ActivityInfo component) {
        try {
            Class<?> found = Class.forName(component.name, false, application().getClassLoader());
            if (!RealtimeReceiver.class.isAssignableFrom(found)) {
                return null;
            }
            Host host = new Host(component, found.asSubclass(RealtimeReceiver.class));
            host.begin();
            return host;
        } catch (ClassNotFoundException e) {
            // The ordinary way says so.
            return null;
        }
    }

    private static Application application() {
        return ActivityThread.currentApplication();
    }

    /** Is nothing waiting or under way? */
    synchronized boolean isIdle() {
        return hosts.values().stream().allMatch(it -> it == null || it.station.isIdle());
    }

    /** One receiver with its thread. */
    private final class Host implements Runnable {
        final Station station = new Station();
        private final String name;
        private final int priority;
        private final RealtimeReceiver receiver;
        private final javax.realtime.RealtimeThread thread;
        private long dropped;

        Host(ActivityInfo component, Class<? extends RealtimeReceiver> found) {
            name = component.name;
            priority = Urgency.priority(component, PriorityScheduler.instance().getNormPriority());
            receiver = receiver(found);
            thread = new javax.realtime.RealtimeThread(new PriorityParameters(priority), null, this);
            thread.setName(found.getSimpleName());
            thread.setDaemon(true);
        }

        private static RealtimeReceiver receiver(Class<? extends RealtimeReceiver> found) {
            try {
                return found.getDeclaredConstructor().newInstance();
            } catch (ReflectiveOperationException e) {
                throw new IllegalStateException("Unable to instantiate receiver " + found.getName(), e);
            }
        }

        void begin() {
            thread.start();
        }

        void take(Waiting one) {
            Waiting gone = station.put(one);
            if (gone == null) {
                return;
            }
            note(gone);
            gone.done().run();
        }

        private synchronized void note(Waiting gone) {
            dropped++;
            receiver.noteDropped(dropped);
            if (dropped == 1) {
                Log.w(TAG, name + ": more than " + gone.channel().count() + " of " + gone.intent().getAction()
                        + " wait, so one was dropped; others are counted alone");
            }
        }

        @Override
        public void run() {
            if (thread.grantedPriority() == 0) {
                Log.w(TAG, name + ": priority " + priority + " is refused, so it runs as an ordinary thread");
            }
            try {
                while (true) {
                    handle(station.take());
                }
            } catch (InterruptedException e) {
                Log.w(TAG, name + ": interrupted, and ends", e);
            }
        }

        /** What it throws ends the application, as on any thread. */
        private void handle(Waiting one) {
            process.watchdog.ask(one, "Broadcast of " + one.intent());
            boolean isLent = one.channel().runsAsSender() && one.priority() > 0 && thread.grantedPriority() > 0;
            if (isLent) {
                RealtimeThread.setPriority(0, one.priority());
            }
            receiver.onReceive(application(), one.intent());
            receiver.onClean();
            if (isLent) {
                RealtimeThread.setPriority(0, priority);
            }
            process.watchdog.answered(one);
            one.done().run();
            station.handled();
            process.started("receiver");
            process.lookForEnd();
        }
    }

    /** Says that a broadcast is done; who waits for that waits for its process. */
    interface Ending {
        void run() throws RemoteException;
    }

    /** The same for {@link #take}. */
    static Runnable ending(SystemLink link, Ending ending) {
        return () -> {
            try {
                link.in(() -> {
                    ending.run();
                    return null;
                });
            } catch (RemoteException e) {
                throw e.rethrowFromSystemServer();
            }
        };
    }
}
