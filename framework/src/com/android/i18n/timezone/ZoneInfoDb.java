// SPDX-License-Identifier: Apache-2.0
package com.android.i18n.timezone;

import java.time.Instant;
import java.time.ZoneOffset;
import java.time.zone.ZoneOffsetTransition;
import java.time.zone.ZoneOffsetTransitionRule;
import java.time.zone.ZoneRules;
import java.time.zone.ZoneRulesProvider;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TimeZone;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The time zones, in front of AOSP's on the class path. That one reads a file that only Android
 * has. This one has the JDK's zones, by which java.util and java.time go as well.
 */
public final class ZoneInfoDb {
    /** Android's file says each change up to then, and none behind it. */
    private static final int LAST_YEAR = 2037;
    private static final ZoneInfoDb INSTANCE = new ZoneInfoDb();

    private final Set<String> names = Set.of(TimeZone.getAvailableIDs());
    /** As many as there are names, at most. */
    private final Map<String, ZoneInfoData> zones = new ConcurrentHashMap<>();

    private ZoneInfoDb() {}

    /** The one of this process. */
    public static ZoneInfoDb getInstance() {
        return INSTANCE;
    }

    /** All names, sorted. */
    public String[] getAvailableIDs() {
        String[] sorted = names.toArray(new String[0]);
        Arrays.sort(sorted);
        return sorted;
    }

    /** The names of those with an offset, without summer time. */
    public String[] getAvailableIDs(int rawOffsetMillis) {
        return TimeZone.getAvailableIDs(rawOffsetMillis);
    }

    /** Of the data, as 2024a. */
    public String getVersion() {
        return ZoneRulesProvider.getVersions("UTC").lastEntry().getKey();
    }

    /** Is there one of this name? */
    public boolean hasTimeZone(String id) {
        return names.contains(id);
    }

    /** Null if there is none. */
    public ZoneInfoData makeZoneInfoData(String id) {
        return hasTimeZone(id) ? zones.computeIfAbsent(id, ZoneInfoDb::read) : null;
    }

    private static ZoneInfoData read(String id) {
        ZoneRules rules = TimeZone.getTimeZone(id).toZoneId().getRules();
        List<ZoneOffsetTransition> changes = changes(rules);
        List<Kind> kinds = new ArrayList<>();
        long[] seconds = new long[changes.size()];
        byte[] types = new byte[changes.size()];
        // Android takes what held before the first change from the first kind without summer time.
        ZoneOffset first = changes.isEmpty() ? rules.getOffset(Instant.EPOCH)
                : changes.get(0).getOffsetBefore();
        kinds.add(new Kind(first.getTotalSeconds(), false));
        for (int index = 0; index < seconds.length; index++) {
            ZoneOffsetTransition change = changes.get(index);
            Kind kind = new Kind(change.getOffsetAfter().getTotalSeconds(),
                    rules.isDaylightSavings(change.getInstant()));
            if (!kinds.contains(kind)) {
                kinds.add(kind);
            }
            seconds[index] = change.toEpochSecond();
            types[index] = (byte) kinds.indexOf(kind);
        }
        int[] offsets = kinds.stream().mapToInt(Kind::seconds).toArray();
        boolean[] areSummer = new boolean[offsets.length];
        for (int index = 0; index < areSummer.length; index++) {
            areSummer[index] = kinds.get(index).isSummer();
        }
        return ZoneInfoData.createInstance(id, seconds, types, offsets, areSummer);
    }

    private static List<ZoneOffsetTransition> changes(ZoneRules rules) {
        List<ZoneOffsetTransition> changes = new ArrayList<>(rules.getTransitions());
        if (changes.isEmpty()) {
            return changes;
        }
        int from = changes.get(changes.size() - 1).getDateTimeBefore().getYear() + 1;
        for (int year = from; year <= LAST_YEAR; year++) {
            for (ZoneOffsetTransitionRule rule : rules.getTransitionRules()) {
                changes.add(rule.createTransition(year));
            }
        }
        return changes;
    }

    /** What a clock shows, and whether that is summer time. */
    private record Kind(int seconds, boolean isSummer) {}
}
