// SPDX-License-Identifier: Apache-2.0
package com.android.server.alarm;

import android.app.AlarmManager;
import android.app.IAlarmCompleteListener;
import android.app.IAlarmListener;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.List;
import takt.framework.Natives;

/**
 * AOSP's own LazyAlarmStore, asked by lines; tests/e2e/tests/alarms.rs compares its answers. In its
 * package, for its alarms are no others' business.
 *
 * <p>Lines are {@code new WALL}, {@code add NUMBER TYPE AT}, {@code remove NUMBER}, {@code wall
 * WALL}, {@code pending NOW} and {@code state}; the last two are answered by a line. WALL is the
 * wall clock's time when the machine started, and all times are milliseconds.
 */
public final class AlarmScript {
    private LazyAlarmStore store = new LazyAlarmStore();
    private long wall;

    private AlarmScript() {}

    /** Answers the lines of standard input. */
    public static void main(String[] arguments) throws IOException {
        Natives.load();
        AlarmScript script = new AlarmScript();
        StringBuilder out = new StringBuilder();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String answer = script.answer(line.split(" "));
            if (answer != null) {
                out.append(answer).append('\n');
            }
        }
        System.out.write(out.toString().getBytes(StandardCharsets.UTF_8));
        System.out.flush();
        System.exit(0);
    }

    private String answer(String[] words) {
        switch (words[0]) {
            case "new" -> {
                store = new LazyAlarmStore();
                wall = Long.parseLong(words[1]);
            }
            case "add" -> store.add(alarm(words[1], Integer.parseInt(words[2]), Long.parseLong(words[3])));
            case "remove" -> store.remove(it -> it.listenerTag.equals(words[1]));
            case "wall" -> {
                wall = Long.parseLong(words[1]);
                store.updateAlarmDeliveries(it -> it.setPolicyElapsed(Alarm.REQUESTER_POLICY_INDEX,
                        elapsed(it.type, it.origWhen)));
            }
            case "pending" -> {
                List<Alarm> pending = store.removePendingAlarms(Long.parseLong(words[1]));
                return pending.stream().mapToLong(it -> Long.parseLong(it.listenerTag)).sorted().boxed().toList()
                        .toString();
            }
            default -> {
                return store.getNextDeliveryTime() + " " + store.size();
            }
        }
        return null;
    }

    private long elapsed(int type, long at) {
        return type == AlarmManager.RTC ? Math.max(0, at - wall) : at;
    }

    /** None gives a window, so none waits for another. */
    private Alarm alarm(String number, int type, long at) {
        IAlarmListener listener = new IAlarmListener.Stub() {
            @Override
            public void doAlarm(IAlarmCompleteListener completion) {
                throw new UnsupportedOperationException("nobody delivers here");
            }
        };
        return new Alarm(type, at, elapsed(type, at), 0, 0, null, listener, number, null, 0, null, 1, "p", null, 0);
    }
}
