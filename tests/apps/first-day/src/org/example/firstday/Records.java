// SPDX-License-Identifier: Apache-2.0
package org.example.firstday;

import android.os.Debug;
import android.os.Process;
import android.util.EventLog;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** What an application records, and what it hears of itself. */
public final class Records extends Day {
    private static final int TAG = 300_001;
    private static final int OTHER = 300_002;

    @Override
    void day() {
        events();
        memory();
    }

    private static void events() {
        say("wrote", () -> {
            EventLog.writeEvent(TAG, 7);
            EventLog.writeEvent(TAG, 1L << 40);
            EventLog.writeEvent(TAG, 1.5f);
            EventLog.writeEvent(TAG, "Ä");
            EventLog.writeEvent(OTHER, 8);
            EventLog.writeEvent(TAG, 1, 2L, 3f, "four", null);
            return EventLog.writeEvent(TAG, (String) null) > 0;
        });
        say("read", () -> {
            List<EventLog.Event> events = new ArrayList<>();
            EventLog.readEvents(new int[] {TAG}, events);
            StringBuilder data = new StringBuilder();
            for (EventLog.Event event : events) {
                Object value = event.getData();
                data.append(value instanceof Object[] array ? Arrays.toString(array) : value).append(' ');
            }
            EventLog.Event first = events.get(0);
            return data + "" + (first.getProcessId() == Process.myPid()) + " " + (first.getThreadId() == Process.myTid())
                    + " " + first.getTag();
        });
        say("in order", () -> {
            List<EventLog.Event> events = new ArrayList<>();
            EventLog.readEvents(new int[] {TAG, OTHER}, events);
            boolean isOrdered = true;
            for (int index = 1; index < events.size(); index++) {
                isOrdered &= events.get(index - 1).getTimeNanos() <= events.get(index).getTimeNanos();
            }
            return events.size() + " " + isOrdered;
        });
        say("many", () -> {
            for (int index = 0; index < 20_000; index++) {
                EventLog.writeEvent(OTHER, index);
            }
            List<EventLog.Event> events = new ArrayList<>();
            EventLog.readEvents(new int[] {OTHER}, events);
            return events.size() > 1000 && events.size() < 20_000
                    && events.get(events.size() - 1).getData().equals(19_999);
        });
        say("waiting", () -> {
            EventLog.readEventsOnWrapping(new int[] {TAG}, 0, new ArrayList<>());
            return "read";
        });
        say("tag", () -> EventLog.getTagName(OTHER) + " " + EventLog.getTagCode("nothing"));
    }

    private static void memory() {
        say("heap", () -> Debug.getNativeHeapSize() >= Debug.getNativeHeapAllocatedSize()
                && Debug.getNativeHeapAllocatedSize() > 1 << 20 && Debug.getNativeHeapFreeSize() >= 0);
        say("pss", () -> Debug.getPss() > 1000 && Debug.getRss() >= Debug.getPss());
        say("info", () -> {
            Debug.MemoryInfo info = new Debug.MemoryInfo();
            Debug.getMemoryInfo(info);
            return info.getTotalPss() > 1000 && info.getTotalRss() >= info.getTotalPss()
                    && info.getTotalPrivateDirty() > 0 && info.nativePss > 0
                    && Integer.parseInt(info.getMemoryStat("summary.total-pss")) == info.getTotalPss()
                            + info.getTotalSwappedOutPss();
        });
        say("machine", () -> {
            long[] info = new long[Debug.MEMINFO_COUNT];
            Debug.getMemInfo(info);
            return info[Debug.MEMINFO_TOTAL] > info[Debug.MEMINFO_FREE] && info[Debug.MEMINFO_FREE] > 0;
        });
        say("time", () -> Debug.threadCpuTimeNanos() > 0);
        say("debugger", () -> Debug.isDebuggerConnected() + " " + Debug.waitingForDebugger());
        say("classes", () -> Debug.getLoadedClassCount() > 1000);
        say("collections", () -> Integer.parseInt(Debug.getRuntimeStat("art.gc.gc-count")) >= 0);
        say("histogram", () -> Debug.getRuntimeStat("art.gc.gc-count-rate-histogram"));
        say("traced", () -> {
            Debug.startMethodTracing("none");
            return "traces";
        });
        say("dumped", () -> {
            Debug.dumpHprofData("/nowhere/heap");
            return "dumped";
        });
    }
}
