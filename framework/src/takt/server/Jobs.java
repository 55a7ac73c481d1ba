// SPDX-License-Identifier: Apache-2.0
package takt.server;

import android.app.job.JobInfo;
import android.app.job.JobScheduler;
import android.app.job.JobWorkItem;
import android.content.ComponentName;
import android.content.Intent;
import android.content.pm.ParceledListSlice;
import android.net.NetworkRequest;
import android.os.RemoteException;
import android.util.Log;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import takt.system.ISystem;
import takt.system.Job;
import takt.system.Wish;

/**
 * IJobScheduler: jobs are the system server's, which starts this process for one if it has ended.
 * What runs here is in {@link JobRuns}.
 *
 * <p>Under {@code takt run} the server has no clock: a thread of this process looks at its jobs
 * when one is due, and when something has changed.
 *
 * <p>What a job cannot have here is refused by name when it is scheduled: it would wait for ever.
 */
final class Jobs implements Served {
    private static final String TAG = "JobScheduler";
    private static final int GRANTS = Intent.FLAG_GRANT_READ_URI_PERMISSION | Intent.FLAG_GRANT_WRITE_URI_PERMISSION;

    private final AppProcess process;
    private final SystemLink link;
    private final ISystem system;
    private final JobRuns runs;
    /** Of the thread that looks at jobs. */
    private final Object clock = new Object();
    private boolean hasClock;
    private long changes;

    Jobs(AppProcess process, SystemLink link, SystemServices services) {
        this.process = process;
        this.link = link;
        system = link.system();
        runs = new JobRuns(process, link, services, this::changed);
    }

    @Override
    public SystemLink link() {
        return link;
    }

    JobRuns runs() {
        return runs;
    }

    /** Schedules a job in the place of another of its name. */
    public int schedule(String space, JobInfo info) throws RemoteException {
        system.schedule(job(space, info), null);
        changed();
        return JobScheduler.RESULT_SUCCESS;
    }

    /** Adds work to a job. */
    public int enqueue(String space, JobInfo info, JobWorkItem work) throws RemoteException {
        if (work == null) {
            throw new NullPointerException("work is null");
        }
        if (work.getIntent() != null && (work.getIntent().getFlags() & GRANTS) != 0) {
            throw unsupported("an intent of a JobWorkItem that grants addresses");
        }
        system.schedule(job(space, info), Wishes.kept(work));
        changed();
        return JobScheduler.RESULT_SUCCESS;
    }

    private Job job(String space, JobInfo info) {
        refuse(info);
        Job job = new Job();
        job.space = space;
        job.id = info.getId();
        job.service = info.getService().flattenToString();
        job.latency = info.hasEarlyConstraint() ? info.getMinLatencyMillis() : 0;
        job.deadline = info.hasLateConstraint() ? info.getMaxExecutionDelayMillis() : -1;
        job.interval = info.isPeriodic() ? info.getIntervalMillis() : 0;
        job.flex = info.isPeriodic() ? info.getFlexMillis() : 0;
        job.backOff = info.getInitialBackoffMillis();
        job.isLinear = info.getBackoffPolicy() == JobInfo.BACKOFF_POLICY_LINEAR;
        job.needs = needs(info);
        job.priority = info.getPriority();
        job.isExpedited = info.isExpedited();
        job.isKept = info.isPersisted();
        job.whole = Wishes.kept(info);
        if (link.isHosted() && (HostedServer.hiddenConditions(disk()) & job.needs) != 0) {
            throw unsupported("a job's condition that the sandbox of takt run hides (takt system sees it)");
        }
        return job;
    }

    private static void refuse(JobInfo info) {
        if (info.isRequireDeviceIdle()) {
            throw unsupported("JobInfo.Builder.setRequiresDeviceIdle (a machine is never idle here)");
        }
        if (info.getTriggerContentUris() != null) {
            throw unsupported("JobInfo.Builder.addTriggerContentUri");
        }
        if (info.isUserInitiated()) {
            throw unsupported("JobInfo.Builder.setUserInitiated");
        }
        if (info.getClipData() != null && (info.getClipGrantFlags() & GRANTS) != 0) {
            throw unsupported("a job's clip that grants addresses");
        }
    }

    private static int needs(JobInfo info) {
        int needs = info.isRequireCharging() ? ISystem.NEEDS_CHARGING : 0;
        needs |= info.isRequireBatteryNotLow() ? ISystem.NEEDS_BATTERY_NOT_LOW : 0;
        needs |= info.isRequireStorageNotLow() ? ISystem.NEEDS_STORAGE_NOT_LOW : 0;
        NetworkRequest network = info.getRequiredNetwork();
        if (network == null) {
            return needs;
        }
        if (network.equals(ofType(JobInfo.NETWORK_TYPE_ANY))) {
            return needs | ISystem.NEEDS_NETWORK;
        }
        if (network.equals(ofType(JobInfo.NETWORK_TYPE_UNMETERED))) {
            return needs | ISystem.NEEDS_UNMETERED;
        }
        if (network.equals(ofType(JobInfo.NETWORK_TYPE_NOT_ROAMING))) {
            return needs | ISystem.NEEDS_NOT_ROAMING;
        }
        throw unsupported(network.equals(ofType(JobInfo.NETWORK_TYPE_CELLULAR)) ? "JobInfo.NETWORK_TYPE_CELLULAR"
                : "JobInfo.Builder.setRequiredNetwork with " + network);
    }

    /** What {@code setRequiredNetworkType} asks for. */
    private static NetworkRequest ofType(int type) {
        return new JobInfo.Builder(0, new ComponentName("", "")).setRequiredNetworkType(type).build()
                .getRequiredNetwork();
    }

    private static UnsupportedOperationException unsupported(String what) {
        return new UnsupportedOperationException(what + " is not supported by Takt yet");
    }

    /** Takes a job back; one that runs is asked to stop. */
    public void cancel(String space, int id) throws RemoteException {
        system.cancelJob(space, id);
        changed();
    }

    /** Takes all back. */
    public void cancelAll() throws RemoteException {
        system.cancelJobs(false, null);
        changed();
    }

    /** Takes all of a namespace back. */
    public void cancelAllInNamespace(String space) throws RemoteException {
        system.cancelJobs(true, space);
        changed();
    }

    /** What is scheduled, by namespaces. */
    public Map<String, ParceledListSlice<JobInfo>> getAllPendingJobs() throws RemoteException {
        Map<String, ParceledListSlice<JobInfo>> all = new HashMap<>();
        for (String name : system.jobSpaces()) {
            String space = name.isEmpty() ? null : name;
            all.put(space, getAllPendingJobsInNamespace(space));
        }
        return all;
    }

    /** What is scheduled in a namespace. */
    public ParceledListSlice<JobInfo> getAllPendingJobsInNamespace(String space) throws RemoteException {
        List<JobInfo> all = new ArrayList<>();
        for (int id : system.jobsIn(space)) {
            JobInfo info = getPendingJob(space, id);
            if (info != null) {
                all.add(info);
            }
        }
        return new ParceledListSlice<>(all);
    }

    /** A job as it was scheduled; null if it is not there. */
    public JobInfo getPendingJob(String space, int id) throws RemoteException {
        Wish whole = system.jobWhole(space, id);
        return whole == null ? null : Wishes.read(whole, JobInfo.CREATOR);
    }

    /** What a job waits for. */
    public int getPendingJobReason(String space, int id) throws RemoteException {
        int waits = system.jobWaits(space, id);
        return switch (waits) {
            case ISystem.WAITS_NOT_THERE -> JobScheduler.PENDING_JOB_REASON_INVALID_JOB_ID;
            case ISystem.WAITS_RUNS -> JobScheduler.PENDING_JOB_REASON_EXECUTING;
            case ISystem.WAITS_TIME -> JobScheduler.PENDING_JOB_REASON_CONSTRAINT_MINIMUM_LATENCY;
            case ISystem.WAITS_PLACE -> JobScheduler.PENDING_JOB_REASON_JOB_SCHEDULER_OPTIMIZATION;
            default -> reason(waits);
        };
    }

    private static int reason(int lacks) {
        if ((lacks & ISystem.NEEDS_BATTERY_NOT_LOW) != 0) {
            return JobScheduler.PENDING_JOB_REASON_CONSTRAINT_BATTERY_NOT_LOW;
        }
        if ((lacks & ISystem.NEEDS_CHARGING) != 0) {
            return JobScheduler.PENDING_JOB_REASON_CONSTRAINT_CHARGING;
        }
        if ((lacks & ISystem.NEEDS_STORAGE_NOT_LOW) != 0) {
            return JobScheduler.PENDING_JOB_REASON_CONSTRAINT_STORAGE_NOT_LOW;
        }
        return JobScheduler.PENDING_JOB_REASON_CONSTRAINT_CONNECTIVITY;
    }

    /** There are none. */
    public boolean canRunUserInitiatedJobs(String packageName) {
        return false;
    }

    /** As canRunUserInitiatedJobs. */
    public boolean hasRunUserInitiatedJobsPermission(String packageName, int user) {
        return false;
    }

    /** Is none there? With a server of its own a process need not know. */
    boolean isIdle() {
        return !link.isHosted() || !HostedServer.hasJobs();
    }

    private String disk() {
        return process.installed.application.dataDir;
    }

    /** Something has changed: under {@code takt run} somebody looks when it is due. */
    private void changed() {
        if (!link.isHosted()) {
            return;
        }
        synchronized (clock) {
            changes++;
            clock.notifyAll();
            if (hasClock) {
                return;
            }
            hasClock = true;
        }
        Thread thread = new Thread(this::keepTime, "jobs");
        thread.setDaemon(true);
        thread.start();
    }

    private void keepTime() {
        try {
            while (true) {
                long before;
                synchronized (clock) {
                    before = changes;
                }
                long millis = link.in(() -> HostedServer.lookAtJobs(disk()));
                if (millis < 0) {
                    process.lookForEnd();
                }
                synchronized (clock) {
                    if (changes == before) {
                        clock.wait(Math.max(0, millis));
                    }
                }
            }
        } catch (InterruptedException e) {
            Log.e(TAG, "nobody looks at jobs any more", e);
        }
    }
}
