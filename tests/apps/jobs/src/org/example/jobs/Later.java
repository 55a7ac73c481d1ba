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

    @Override
    public int onStartCommand(Intent intent, int flags, int id) {
        JobScheduler scheduler = getSystemService(JobScheduler.class);
        ComponentName worker = new ComponentName(this, Worker.class);
        boolean isKept = "kept".equals(intent.getStringExtra("how"));
        scheduler.schedule(new JobInfo.Builder(20, worker).setMinimumLatency(LATE_MILLIS).setPersisted(isKept).build());
        scheduler.schedule(new JobInfo.Builder(21, worker).setMinimumLatency(FAR_MILLIS).build());
        Log.i("Later", "scheduled " + scheduler.getAllPendingJobs().size());
        return START_NOT_STICKY;
    }

    @Override
    public IBinder onBind(Intent intent) {
        return null;
    }
}
