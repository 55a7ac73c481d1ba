// SPDX-License-Identifier: Apache-2.0
package org.example.jobs;

import android.app.Service;
import android.app.job.JobInfo;
import android.app.job.JobScheduler;
import android.app.job.JobWorkItem;
import android.content.ComponentName;
import android.content.Intent;
import android.os.IBinder;
import android.os.PersistableBundle;
import android.os.SystemClock;
import android.util.Log;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** Schedules jobs of all kinds, and says what came and in which order. */
public final class Planner extends Service implements Runnable {
    static final BlockingQueue<String> HEARD = new LinkedBlockingQueue<>();
    private static final long PATIENCE_SECONDS = 60;
    private static final long SOON_MILLIS = 300;
    private static final long FAR_MILLIS = 3_600_000;

    private JobScheduler scheduler;

    /** What is done, and hears nothing. */
    private interface Asked {
        void run();
    }

    private static void say(String text) {
        Log.i("Jobs", text);
    }

    private static String next() throws InterruptedException {
        String heard = HEARD.poll(PATIENCE_SECONDS, TimeUnit.SECONDS);
        return heard == null ? "nothing" : heard;
    }

    @Override
    public int onStartCommand(Intent intent, int flags, int id) {
        scheduler = getSystemService(JobScheduler.class);
        new Thread(this, "planner").start();
        return START_NOT_STICKY;
    }

    @Override
    public IBinder onBind(Intent intent) {
        return null;
    }

    @Override
    public void run() {
        try {
            once();
            later();
            periodic();
            again();
            takenBack();
            deadline();
            work();
            spaces();
            refusals();
            say("done");
        } catch (InterruptedException e) {
            Log.e("Jobs", "failed", e);
        }
        stopSelf();
    }

    private JobInfo.Builder job(int id, String how) {
        PersistableBundle extras = new PersistableBundle();
        extras.putString("how", how);
        return new JobInfo.Builder(id, new ComponentName(this, Worker.class)).setExtras(extras);
    }

    private void schedule(JobInfo.Builder job) {
        if (scheduler.schedule(job.build()) != JobScheduler.RESULT_SUCCESS) {
            say("not scheduled");
        }
    }

    private void once() throws InterruptedException {
        schedule(job(1, "at once"));
        say(next());
        awaitEnd(1);
        schedule(job(1, "later"));
        say(next());
        awaitEnd(1);
        say("pending " + scheduler.getPendingJob(1) + " " + scheduler.getPendingJobReason(1));
    }

    /** The server hears of an end behind the job's own last word. */
    private void awaitEnd(int id) {
        while (scheduler.getPendingJob(id) != null) {
            SystemClock.sleep(1);
        }
    }

    private void later() throws InterruptedException {
        long start = SystemClock.elapsedRealtime();
        schedule(job(2, "at once").setMinimumLatency(SOON_MILLIS));
        JobInfo found = scheduler.getPendingJob(2);
        say("waits " + scheduler.getPendingJobReason(2) + ", known " + found.getMinLatencyMillis());
        String heard = next();
        say(heard + ", early " + (SystemClock.elapsedRealtime() < start + SOON_MILLIS));
        awaitEnd(2);
    }

    private void periodic() throws InterruptedException {
        schedule(job(3, "at once").setPeriodic(SOON_MILLIS, SOON_MILLIS / 2));
        long start = SystemClock.elapsedRealtime();
        String heard = next() + ", " + next() + ", " + next();
        // Each in the last half of its period.
        long least = 2 * SOON_MILLIS + SOON_MILLIS / 2;
        say(heard + ", early " + (SystemClock.elapsedRealtime() < start + least - 50));
        scheduler.cancel(3);
        awaitEnd(3);
        HEARD.clear();
    }

    private void again() throws InterruptedException {
        schedule(job(4, "fails once").setBackoffCriteria(SOON_MILLIS, JobInfo.BACKOFF_POLICY_LINEAR));
        String heard = next();
        while (heard.equals("at once 3")) {
            // It had begun when it was taken back.
            heard = next();
        }
        long failed = SystemClock.elapsedRealtime();
        heard += ", " + next();
        say(heard + ", early " + (SystemClock.elapsedRealtime() < failed + SOON_MILLIS - 50));
        awaitEnd(4);
    }

    private void takenBack() throws InterruptedException {
        schedule(job(5, "at once").setMinimumLatency(SOON_MILLIS));
        scheduler.cancel(5);
        schedule(job(6, "at once").setMinimumLatency(SOON_MILLIS));
        say(next());
        awaitEnd(6);
        schedule(job(7, "until stopped"));
        say(next() + ", reason " + scheduler.getPendingJobReason(7));
        scheduler.cancel(7);
        say(next() + ", pending " + scheduler.getPendingJob(7));
    }

    /** Whether there is a network or not, it comes. */
    private void deadline() throws InterruptedException {
        schedule(job(8, "at once").setRequiredNetworkType(JobInfo.NETWORK_TYPE_ANY).setOverrideDeadline(2 * SOON_MILLIS));
        say(next().replace(" overdue", ""));
        awaitEnd(8);
    }

    private void work() throws InterruptedException {
        JobInfo job = job(9, "work").setMinimumLatency(SOON_MILLIS).build();
        for (String name : new String[] {"a", "b", "c"}) {
            scheduler.enqueue(job, new JobWorkItem(new Intent(name)));
        }
        say(next() + ", " + next() + ", " + next() + ", " + next());
        awaitEnd(9);
    }

    private void spaces() throws InterruptedException {
        JobScheduler other = scheduler.forNamespace("other");
        other.schedule(job(10, "at once").setMinimumLatency(SOON_MILLIS).build());
        schedule(job(10, "at once").setMinimumLatency(FAR_MILLIS));
        say("in all " + scheduler.getPendingJobsInAllNamespaces().keySet().size() + ", here "
                + scheduler.getAllPendingJobs().size());
        say(next());
        scheduler.cancelInAllNamespaces();
    }

    private void refused(Asked asked) {
        try {
            asked.run();
            say("not refused");
        } catch (IllegalArgumentException | IllegalStateException | UnsupportedOperationException e) {
            say(e.getClass().getSimpleName() + ": " + e.getMessage());
        }
    }

    private void refusals() {
        refused(() -> schedule(new JobInfo.Builder(11, new ComponentName(this, Open.class)).setMinimumLatency(1)));
        refused(() -> schedule(new JobInfo.Builder(11, new ComponentName(this, "None")).setMinimumLatency(1)));
        refused(() -> schedule(job(11, "at once").setRequiresDeviceIdle(true)));
        refused(() -> schedule(job(11, "at once").setRequiredNetworkType(JobInfo.NETWORK_TYPE_CELLULAR)));
        refused(() -> {
            for (int id = 100; id < 300; id++) {
                schedule(job(id, "at once").setMinimumLatency(FAR_MILLIS));
            }
        });
        say("scheduled " + scheduler.getAllPendingJobs().size());
        scheduler.cancelAll();
        say("then " + scheduler.getAllPendingJobs().size());
    }
}
