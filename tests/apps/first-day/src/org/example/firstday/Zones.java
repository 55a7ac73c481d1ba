// SPDX-License-Identifier: Apache-2.0
package org.example.firstday;

import android.icu.util.Calendar;
import android.os.SystemProperties;
import android.text.format.DateUtils;
import android.text.format.Time;
import android.timezone.ZoneInfoDb;
import android.util.TimeUtils;
import java.time.ZoneId;
import java.util.Date;
import java.util.TimeZone;

/** What time it is where the device is: TZ is Europe/Berlin in this test. */
@SuppressWarnings("deprecation")
public final class Zones extends Day {
    /** Noon in UTC, on the first of July and of January 2024. */
    private static final long SUMMER = 1_719_835_200_000L;
    private static final long WINTER = 1_704_110_400_000L;

    @Override
    void day() {
        say("default", () -> TimeZone.getDefault().getID() + " " + ZoneId.systemDefault());
        say("property", () -> SystemProperties.get("persist.sys.timezone"));
        say("icu", () -> android.icu.util.TimeZone.getDefault().getID());
        say("offset", () -> TimeZone.getDefault().getOffset(SUMMER) + " "
                + android.icu.util.TimeZone.getTimeZone("America/New_York").getOffset(SUMMER) + " "
                + TimeZone.getTimeZone("America/New_York").getOffset(WINTER));
        say("calendar", () -> {
            Calendar calendar = Calendar.getInstance();
            calendar.setTimeInMillis(SUMMER);
            return calendar.get(Calendar.HOUR_OF_DAY) + " " + calendar.getTimeZone().getID();
        });
        say("date", () -> new Date(WINTER));
        say("time", () -> {
            Time time = new Time();
            time.set(SUMMER);
            Time there = new Time("America/New_York");
            there.set(WINTER);
            return time + " " + there.format2445() + " " + there.format("%Y-%m-%d %H:%M") + " "
                    + there.toMillis(true) + " " + Time.getCurrentTimezone();
        });
        say("far", () -> {
            Time time = new Time("Australia/Sydney");
            time.set(1, 0, 12, 1, 0, 2036);
            return time.normalize(false) + " " + time.gmtoff + " " + time.isDst;
        });
        say("version", () -> {
            String version = TimeUtils.getTimeZoneDatabaseVersion();
            return version.matches("20\\d\\d[a-z]") && ZoneInfoDb.getInstance().getVersion().equals(version);
        });
        say("changed", () -> {
            TimeZone.setDefault(TimeZone.getTimeZone("Asia/Tokyo"));
            try {
                return DateUtils.formatDateTime(this, SUMMER, DateUtils.FORMAT_SHOW_TIME | DateUtils.FORMAT_24HOUR)
                        + " " + new Date(SUMMER).getHours();
            } finally {
                TimeZone.setDefault(null);
            }
        });
        say("again", () -> TimeZone.getDefault().getID());
    }
}
