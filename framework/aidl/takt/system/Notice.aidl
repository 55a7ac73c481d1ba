// SPDX-License-Identifier: Apache-2.0
package takt.system;

/** What a person sees of a notification. */
parcelable Notice {
    @nullable String tag;
    int id;
    String channel;
    String title;
    String text;
    boolean isOngoing;
    /** A service is in the foreground with it. */
    boolean isOfService;
}
