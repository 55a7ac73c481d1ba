// SPDX-License-Identifier: Apache-2.0
package takt.system;

import takt.system.IApp;
import takt.system.Job;
import takt.system.Kept;
import takt.system.Notice;
import takt.system.Outcome;
import takt.system.Receiver;
import takt.system.Shout;
import takt.system.Step;
import takt.system.Timed;
import takt.system.Wish;
import takt.system.Work;

/** What the server answers to an application's process. It knows who calls. */
interface ISystem {
    /** Kinds of steps: takt.server.ActivityStack and takt.server.SystemServices read their numbers. */
    const int STEP_ACTIVITY = 0;
    const int STEP_SERVICE = 1;
    /**
     * A broadcast: numbers are its sender's user, the receiver that code has registered, or 0 for the component, the
     * broadcast's number if it is ordered, or 0, whether it was sent before the receiver was there, the result, the
     * priority that the receiver runs at, and the number that the server gave the broadcast when it came.
     */
    const int STEP_BROADCAST = 2;
    /** An ordered broadcast is over: numbers are the sender's own of it, the result, and the priority. */
    const int STEP_RESULT = 3;
    /** Content has changed: the first number is the flags, and the texts name what. */
    const int STEP_CHANGE = 4;
    /** A PendingIntent has ended: the number is the watcher's own of it. */
    const int STEP_CANCELLED = 5;
    /**
     * A run of a job: numbers are the run's own, and what is asked. To start it, whether its deadline is over follows;
     * to stop it, JobParameters.STOP_REASON_* and what Android itself tells apart.
     */
    const int STEP_JOB = 6;

    /** What an activity's process says of it, and what it asks for. */
    const int RESUMED = 0;
    const int PAUSED = 1;
    const int IDLE = 3;
    const int RELAUNCH = 4;
    const int FINISH_AFFINITY = 5;
    const int MOVE_TASK_TO_BACK = 6;

    /** Questions about an activity. */
    const int TASK = 0;
    const int IS_TOP = 1;
    const int IS_ROOT = 2;
    const int CALLER = 3;

    /** What is asked of a service, first in its steps' numbers behind the service's own. */
    const int CREATE = 0;
    const int START = 1;
    const int BIND = 2;
    const int UNBIND = 3;
    const int STOP = 4;
    const int CONNECTED = 5;
    const int DISCONNECTED = 6;

    /** What is looked for: activities, services, receivers, providers. */
    const int ACTIVITIES = 0;
    const int SERVICES = 1;
    const int RECEIVERS = 2;
    const int PROVIDERS = 3;

    /** The process is there. */
    void attach(IApp app);

    /** Takes what is to be done next: none if that was all. */
    Step[] steps();

    /** The process has a real-time thread that this one tells of urgent steps, which are not for the other. */
    void attachUrgent(IApp app);

    /** Takes the most urgent of what real-time senders have left: one, or none. */
    Step[] urgentSteps();

    /** Starts an activity: what became of it, and of which; a negative number if nothing did. */
    long[] startActivity(in Wish wish, long source, boolean hasRequest, int request);

    /** An activity ends; without data its wish has no bytes. */
    void finishActivity(long activity, int code, in Wish data, int task);

    /** What an activity started by a request ends. */
    void finishStarted(long activity, int request);

    void tell(int what, long activity);

    /** An activity's onStop has returned, and this is what it saved; without bytes it is nothing. */
    void stopped(long activity, in Wish saved);

    long ask(int what, long activity);

    /** The package of an activity; null if it is not there. */
    @nullable String componentOf(long activity);

    /** Starts a service: its component; null if nothing takes the wish. */
    @nullable String startService(in Wish wish, boolean isForeground);

    boolean stopService(in Wish wish);

    /** A service stops itself, unless it was started since. */
    boolean stopServiceSelf(long service, int start);

    /** Binds a service: the connection's number, or 0 if nothing takes the wish. */
    long bindService(in Wish wish, long flags);

    boolean unbindService(long connection);

    /** onBind has returned. */
    void publish(long service, long intent, @nullable IBinder binder);

    /** onUnbind has returned. */
    void unbound(long service, long intent, boolean wantsRebind);

    /** onCreate, onRebind or onDestroy has returned; of onStartCommand the number and the result. */
    void serviceDone(long service, int start, int result);

    void setForeground(long service, boolean isOn);

    /** What a connected service has published; null if it gives nothing. */
    @nullable IBinder binderOf(long connection);

    /** What is known of a package, in JSON; null if it is not installed. */
    @nullable String describe(String name);

    /** Components that take a wish, the best first; flags as the package manager has them. */
    String[] query(int kind, in Wish wish, long flags);

    /** The component that provides an authority; null if none does. */
    @nullable String providerOf(String authority);

    /** Names of all packages, or of those of a user. */
    String[] packagesOf(boolean ofUser, int user);

    /** Whether a process or a user has a permission; a process that the server has started is asked about first. */
    boolean has(String permission, int pid, int user);

    /** Code has a receiver: broadcasts come from now on, and what stays of earlier ones comes at once. */
    void register(in Receiver receiver);

    /** It has not any more, by whatever filters. */
    void unregister(long receiver);

    /** What of that stays a filter takes. */
    Wish[] staying(in Receiver receiver);

    /** Sends a broadcast. */
    void broadcast(in Shout shout);

    /** Takes back what stays. */
    void takeBack(in Wish wish);

    /** A receiver is done with an ordered broadcast. */
    void received(long broadcast, in Outcome outcome, boolean isAborted);

    /** The process has made its providers. */
    void publishProviders(in String[] names, in IBinder[] binders);

    /**
     * Wants the provider of an authority: its component, which the waiter hears of when it is there, or could not be
     * made. Null if nobody provides it.
     */
    @nullable String acquireProvider(IApp waiter, String authority, boolean isFast);

    /** What has been acquired; null if its process has not made it. */
    @nullable IBinder providerBinder(String component);

    /** Holds a provider fast, or lets it go once. */
    void holdProvider(String component, boolean isFast);

    /** This process has observers of these authorities, and of no others. */
    void observe(in String[] authorities);

    /** Others' observers hear that content has changed. */
    void changed(in String[] addresses, int flags);

    /** One of this kind, number and intent; null if it is not there and is not to be made. */
    @nullable IBinder pending(int kind, int request, in Wish wish, int flags);

    /** Its package takes it back. */
    void cancelPending(IBinder pending);

    /** Sends it, with what its sender adds, if that has bytes: negative if it is not there any more. */
    int sendPending(IBinder pending, int code, in Wish fill, @nullable String permission, long result);

    /** Its user, kind, whether nothing is added, whether it names a package or component; empty if it is not there. */
    long[] pendingNumbers(IBinder pending);

    /** Whose it is; null if it is not there. */
    @nullable String creatorOf(IBinder pending);

    /** Its intent, for its creator. */
    @nullable Wish pendingWish(IBinder pending);

    /** Shows a person something, in the place of an older one of the same tag and number. */
    void post(in Notice notice);

    /** Takes one away; one that a service is in the foreground with by the service's word alone. */
    void withdraw(@nullable String tag, int id, boolean isOfService);

    /** Takes all of the package away, but those of services. */
    void withdrawAll();

    /** What a service has published for an intent that it is bound by; null if it has not, or is not there. */
    @nullable IBinder peek(in Wish wish);

    /** Hears once of its end, by this number: false if it is not there any more. */
    boolean watchPending(IBinder pending, long number);

    /** Hears of it no more. */
    void unwatchPending(IBinder pending, long number);

    /** Lets a package reach an address until that is taken back; flags as Intent has them. */
    void grantAddress(String target, String address, int flags);

    /** Takes modes back of an address and all below it: from a package, or from all, intents' grants too. */
    void revokeAddress(@nullable String target, String address, int modes);

    /** Whether a process or a user has these modes by a grant; a process that the server has started comes first. */
    boolean hasAddress(String address, int pid, int user, int flags);

    /** Keeps what was granted to be kept. */
    void keepAddress(String address, int modes);

    /** Keeps it no longer; false if nothing is granted there. */
    boolean releaseAddress(String address, int modes);

    /** What this package keeps of others' addresses, or others keep of its own. */
    Kept[] keptAddresses(boolean isOfOthers);

    /** Has a PendingIntent sent; it is as urgent as the calling thread. Another alarm of it gives way. */
    void setAlarm(IBinder operation, in Timed timed);

    /** Takes the alarm of a PendingIntent back. */
    void removeAlarm(IBinder operation);

    /** Takes all of the package back. */
    void removeAlarms();

    /** The alarm clock of any package that rings first; null without one. */
    @nullable Timed nextClock();

    /**
     * Switches a component of this package, or without a class all of it, by PackageManager's numbers. Unless they
     * are kept, its processes end.
     */
    void setEnabled(String packageName, @nullable String className, int state, boolean areKept);

    /** How that was switched: 0 if it is as the manifest says, or not there. */
    int enabledOf(String packageName, @nullable String className);

    /** Holds the processors at a level, in percent from the least to the greatest frequency; this process's once more. */
    void lockFrequency(int percent);

    /** Gives back one of this process's; false if it has none. */
    boolean unlockFrequency();

    /** The level that is held for any process; -1 if none is. */
    int lockedFrequency();

    /**
     * A page that says what the process's real-time threads have done together: releases, skipped ones, missed
     * deadlines and costs overrun, 8 bytes each. The server reads it for a person.
     */
    void attachLedger(in ParcelFileDescriptor page);

    /** What is asked of a run, and what its process says of it. */
    const int START_JOB = 0;
    const int STOP_JOB = 1;
    const int JOB_STARTED = 0;
    const int JOB_STOPPED = 1;
    const int JOB_FINISHED = 2;

    /** What a job needs. */
    const int NEEDS_NETWORK = 1;
    const int NEEDS_UNMETERED = 2;
    const int NEEDS_NOT_ROAMING = 4;
    const int NEEDS_CHARGING = 8;
    const int NEEDS_BATTERY_NOT_LOW = 16;
    const int NEEDS_STORAGE_NOT_LOW = 32;

    /** What a job waits for, if not for some of that. */
    const int WAITS_NOT_THERE = -1;
    const int WAITS_RUNS = -2;
    const int WAITS_TIME = -3;
    const int WAITS_PLACE = -4;

    /** Schedules a job in the place of another of its name; with work, adds that to the one that is there. */
    void schedule(in Job job, in @nullable Wish work);

    /** Takes a job back. */
    void cancelJob(@nullable String space, int id);

    /** Takes all of the package back, or of one namespace. */
    void cancelJobs(boolean isOfSpace, @nullable String space);

    /** The namespaces in which the package has jobs; the one without a name is empty. */
    String[] jobSpaces();

    /** The numbers of the package's jobs in a namespace. */
    int[] jobsIn(@nullable String space);

    /** A job's rest, as its package has it; null if it is not there. */
    @nullable Wish jobWhole(@nullable String space, int id);

    /** What a job waits for: WAITS_*, or what it needs. */
    int jobWaits(@nullable String space, int id);

    /** A run of this process has started, stopped or finished: whether it goes on, or is to come again. */
    void jobTold(long run, int what, boolean is);

    /** Takes the next piece of a run's work; null if that was all. */
    @nullable Work dequeueWork(long run);

    /** A piece of a run's work is done; false if it was not handed out. */
    boolean completeWork(long run, int id);
}
