// SPDX-License-Identifier: Apache-2.0
package org.example.jobs;

import android.app.Service;
import android.app.job.JobInfo;
import android.app.job.JobScheduler;
import android.content.ComponentName;
import android.content.Intent;
import android.os.IBinder;
import android.util.Log;

/** Schedules jobs for a process, or a server, that may have ended by then. */
public final class Later extends Service {
    private static final long LATE_MILLIS = 2_500;
    private static final long FAR_MILLIS = 3_600_000;
    private static final long SOON_MILLIS = 600;

    private JobScheduler scheduler;

    private JobInfo.Builder job(int id) {
        return new JobInfo.Builder(id, new ComponentName(this, Worker.class));
    }

    private void schedule(JobInfo.Builder job) {
        scheduler.schedule(job.build());
    }

    @Override
    public int onStartCommand(Intent intent, int flags, int id) {
        scheduler = getSystemService(JobScheduler.class);
        String how = intent.getStringExtra("how");
        if (how.equals("network")) {
            schedule(job(8).setRequiredNetworkType(JobInfo.NETWORK_TYPE_ANY).setOverrideDeadline(SOON_MILLIS));
            Log.i("Later", "reason " + scheduler.getPendingJobReason(8));
        } else {
            schedule(job(20).setMinimumLatency(LATE_MILLIS).setPersisted(how.equals("kept")));
            schedule(job(21).setMinimumLatency(FAR_MILLIS));
        }
        Log.i("Later", "scheduled " + scheduler.getAllPendingJobs().size());
        stopSelf();
        return START_NOT_STICKY;
    }

    @Override
    public IBinder onBind(Intent intent) {
        return null;
    }
}
