// SPDX-License-Identifier: Apache-2.0
package takt.system;

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
    byte[] whole;
    /** Extras of a person's command: name and text by turns. */
    String[] extras;
}
