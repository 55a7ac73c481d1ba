// SPDX-License-Identifier: Apache-2.0
package org.example.jobs;

import android.app.job.JobParameters;
import android.app.job.JobService;
import android.app.job.JobWorkItem;
import android.util.Log;

/** Does jobs as their extras say, and says what came. */
public final class Worker extends JobService {
    private static int failures;

    private static void heard(String what) {
        Log.i("Worker", what);
        Planner.HEARD.add(what);
    }

    @Override
    public boolean onStartJob(JobParameters job) {
        String how = job.getExtras().getString("how", "at once");
        String space = job.getJobNamespace() == null ? "" : " of " + job.getJobNamespace();
        heard(how + " " + job.getJobId() + space + (job.isOverrideDeadlineExpired() ? " overdue" : ""));
        switch (how) {
            case "later" -> new Thread(() -> jobFinished(job, false), "later").start();
            case "fails once" -> new Thread(() -> jobFinished(job, failures++ == 0), "fails").start();
            case "work" -> new Thread(() -> work(job), "work").start();
            case "until stopped" -> { }
            default -> {
                return false;
            }
        }
        return true;
    }

    private static void work(JobParameters job) {
        for (JobWorkItem item = job.dequeueWork(); item != null; item = job.dequeueWork()) {
            heard("item " + item.getIntent().getAction() + " for the " + item.getDeliveryCount() + ".");
            job.completeWork(item);
        }
    }

    @Override
    public boolean onStopJob(JobParameters job) {
        heard("stopped " + job.getJobId() + " by " + job.getStopReason());
        return true;
    }
}
