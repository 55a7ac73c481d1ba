// SPDX-License-Identifier: Apache-2.0
package takt.framework;

import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.util.stream.LongStream;

/** What the machine counts of itself, for who asks by Android's names. */
final class Statistics {
    /** dalvik.system.VMDebug's numbers of art.gc.gc-count and art.gc.gc-time. */
    private static final int COLLECTIONS = 0;
    private static final int COLLECTION_MILLIS = 1;

    private Statistics() {}

    /** Called by VMDebug's native half. */
    static String loadedClassCount() {
        return String.valueOf(ManagementFactory.getClassLoadingMXBean().getLoadedClassCount());
    }

    /** As above; what only ART counts says so. */
    static String runtimeStat(int number) {
        return switch (number) {
            case COLLECTIONS -> sum(ManagementFactory.getGarbageCollectorMXBeans().stream()
                    .mapToLong(GarbageCollectorMXBean::getCollectionCount));
            case COLLECTION_MILLIS -> sum(ManagementFactory.getGarbageCollectorMXBeans().stream()
                    .mapToLong(GarbageCollectorMXBean::getCollectionTime));
            default -> throw new UnsupportedOperationException(
                    "Debug.getRuntimeStat, but for gc-count and gc-time, is not supported by Takt yet");
        };
    }

    private static String sum(LongStream counts) {
        return String.valueOf(counts.sum());
    }
}
