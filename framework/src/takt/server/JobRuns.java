// SPDX-License-Identifier: Apache-2.0
package takt.server;

import android.app.IServiceConnection;
import android.app.job.IJobCallback;
import android.app.job.IJobService;
import android.app.job.JobInfo;
import android.app.job.JobParameters;
import android.app.job.JobWorkItem;
import android.content.ComponentName;
import android.content.Context;
import android.content.Intent;
import android.os.IBinder;
import android.os.RemoteException;
import android.util.Log;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import takt.system.ISystem;
import takt.system.Step;
import takt.system.Work;

/**
 * Jobs that run in this process: each binds its JobService, has it start, and hears when it has
 * ended. The server says which starts and which is to stop.
 */
final class JobRuns {
    private static final String TAG = "JobScheduler";

    private final AppProcess process;
    private final SystemLink link;
    private final ISystem system;
    private final SystemServices services;
    /** Something has changed that a clock may have to know. */
    private final Runnable onChange;
    private final Map<Long, Run> runs = new HashMap<>();

    JobRuns(AppProcess process, SystemLink link, SystemServices services, Runnable onChange) {
        this.process = process;
        this.link = link;
        this.services = services;
        this.onChange = onChange;
        system = link.system();
    }

    /** One step that the server asks for. */
    void carryOut(Step step) throws RemoteException {
        long number = step.numbers[0];
        if (step.numbers[1] == ISystem.START_JOB) {
            start(number, step);
            return;
        }
        Run run;
        synchronized (this) {
            run = runs.get(number);
        }
        if (run != null) {
            run.stop((int) step.numbers[2], (int) step.numbers[3]);
        }
    }

    private void start(long number, Step step) throws RemoteException {
        if (step.wishes.length == 0) {
            // It was taken back before its process was there.
            system.jobTold(number, ISystem.JOB_FINISHED, false);
            return;
        }
        JobInfo info = Wishes.read(step.wishes[0], JobInfo.CREATOR);
        String space = step.texts.length == 0 ? null : step.texts[0];
        Run run = new Run(number, info, space, step.numbers[2] != 0);
        synchronized (this) {
            runs.put(number, run);
        }
        run.bind();
    }

    /** One run. No lock is held while the server or the service is called. */
    private final class Run extends IServiceConnection.Stub {
        final long number;
        final JobInfo info;
        final JobParameters parameters;
        /** What was handed out of its work and is not done. */
        private final Set<Integer> handed = new HashSet<>();
        private IJobService service;
        /** onStartJob has returned. */
        private boolean hasStarted;
        /** It is to stop, once it has. */
        private boolean isStopping;
        private boolean isOver;

        Run(long number, JobInfo info, String space, boolean isOverdue) {
            this.number = number;
            this.info = info;
            IBinder callback = LocalInterface.binder(IJobCallback.class, new Answers(this));
            parameters = new JobParameters(callback, space, info.getId(), info.getExtras(), info.getTransientExtras(),
                    info.getClipData(), info.getClipGrantFlags(), isOverdue, info.isExpedited(), info.isUserInitiated(),
                    null, null, null);
        }

        void bind() throws RemoteException {
            Intent intent = new Intent().setComponent(info.getService());
            try {
                int bound = services.bindServiceInstance(process.thread(), null, intent, null, this,
                        Context.BIND_AUTO_CREATE, null, info.getService().getPackageName(), AppProcess.USER);
                if (bound != 0) {
                    return;
                }
            } catch (SecurityException | IllegalStateException e) {
                Log.e(TAG, "the service of " + name() + " cannot be bound", e);
            }
            end(ISystem.JOB_FINISHED, true);
        }

        @Override
        public void connected(ComponentName component, IBinder binder, boolean isDead) throws RemoteException {
            IJobService found = binder == null ? null : IJobService.Stub.asInterface(binder);
            synchronized (this) {
                if (isOver || service != null || isDead) {
                    return;
                }
                service = found;
            }
            if (found == null) {
                Log.e(TAG, "the service of " + name() + " gives no binder");
                end(ISystem.JOB_FINISHED, false);
                return;
            }
            process.watchdog.ask(this, "executing " + name() + " onStartJob");
            found.startJob(parameters);
        }

        void stop(int reason, int internal) throws RemoteException {
            boolean isBegun;
            boolean isNow;
            parameters.setStopReason(reason, internal, JobParameters.getInternalReasonCodeDescription(internal));
            synchronized (this) {
                isStopping = true;
                isBegun = service != null;
                isNow = hasStarted;
            }
            if (isNow) {
                askToStop();
            } else if (!isBegun) {
                // Now it does not.
                end(ISystem.JOB_STOPPED, true);
            }
        }

        private void askToStop() throws RemoteException {
            process.watchdog.ask(this, "executing " + name() + " onStopJob");
            service.stopJob(parameters);
        }

        private String name() {
            return "job " + info.getId() + " " + info.getService().flattenToShortString();
        }

        /** Tells the server, once; its service ends before another run begins. */
        void end(int what, boolean again) throws RemoteException {
            synchronized (this) {
                if (isOver) {
                    return;
                }
                isOver = true;
            }
            process.watchdog.forget(this);
            synchronized (JobRuns.this) {
                runs.remove(number);
            }
            link.in(() -> {
                services.unbindService(this);
                system.jobTold(number, what, again);
                return null;
            });
            onChange.run();
            process.lookForEnd();
        }

        void answered() {
            process.watchdog.answered(this);
        }

        void goesOn() throws RemoteException {
            boolean isToStop;
            synchronized (this) {
                if (isOver) {
                    return;
                }
                hasStarted = true;
                isToStop = isStopping;
            }
            if (isToStop) {
                askToStop();
                return;
            }
            link.in(() -> {
                system.jobTold(number, ISystem.JOB_STARTED, true);
                return null;
            });
        }

        JobWorkItem dequeue() throws RemoteException {
            synchronized (this) {
                if (isOver) {
                    return null;
                }
            }
            Work work = link.in(() -> system.dequeueWork(number));
            boolean isAll;
            synchronized (this) {
                isAll = work == null && handed.isEmpty();
                if (work != null) {
                    handed.add(work.id);
                }
            }
            if (isAll) {
                // The server knows already; it passes this over.
                end(ISystem.JOB_FINISHED, false);
            }
            if (work == null) {
                return null;
            }
            JobWorkItem item = Wishes.read(work.whole, JobWorkItem.CREATOR);
            item.setWorkId(work.id);
            while (item.getDeliveryCount() < work.deliveries) {
                item.bumpDeliveryCount();
            }
            return item;
        }

        boolean complete(int id) throws RemoteException {
            boolean isDone = link.in(() -> system.completeWork(number, id));
            synchronized (this) {
                handed.remove(id);
            }
            return isDone;
        }
    }

    /** What a job's service says of it. Each run has one, so the job's own number tells nothing. */
    private static final class Answers {
        private final Run run;

        Answers(Run run) {
            this.run = run;
        }

        /** onStartJob has returned. */
        public void acknowledgeStartMessage(int id, boolean goesOn) throws RemoteException {
            run.answered();
            if (goesOn) {
                run.goesOn();
            } else {
                run.end(ISystem.JOB_STARTED, false);
            }
        }

        /** onStopJob has returned. */
        public void acknowledgeStopMessage(int id, boolean again) throws RemoteException {
            run.end(ISystem.JOB_STOPPED, again);
        }

        /** The job is done, or is to come again. */
        public void jobFinished(int id, boolean again) throws RemoteException {
            run.end(ISystem.JOB_FINISHED, again);
        }

        /** The next piece of work. */
        public JobWorkItem dequeueWork(int id) throws RemoteException {
            return run.dequeue();
        }

        /** A piece of work is done. */
        public boolean completeWork(int id, int workId) throws RemoteException {
            return run.complete(workId);
        }
    }
}
