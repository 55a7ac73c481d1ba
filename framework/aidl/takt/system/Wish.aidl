// SPDX-License-Identifier: Apache-2.0
package takt.system;

import takt.system.Whole;

/** An intent: what the server looks at, and the rest as its sender has it. */
parcelable Wish {
    @nullable String action;
    @nullable String data;
    @nullable String type;
    @nullable String identifier;
    /** The package that it is limited to. */
    @nullable String target;
    /** As ComponentName.flattenToString has it. */
    @nullable String component;
    String[] categories;
    int flags;
    /** The whole intent as a parcel has it; empty if a person's command sent it. */
    Whole whole;
    /** What the sender of a PendingIntent adds, and the flags by which; empty without one. */
    Whole fill;
    int fillFlags;
    /** Extras of a person's command: name and text by turns. */
    String[] extras;
    /** How often the alarm has come that sends it, since it came last; 0 if none does. */
    int alarmCount;
    /** Addresses in its clip, if its flags grant them. */
    String[] addresses;
}
